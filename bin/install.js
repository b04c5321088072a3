// Installs what a fresh checkout lacks: the locked packages, and a Node that can run them. `npm start` and `npm test`
// call it first. Does nothing when everything is there.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs `npm ci` when what is installed is not what the lockfile says. */
export function installMissing(home) {
  if (!existsSync(join(home, 'package-lock.json')) || isInstalled(home)) return;
  console.error('installing the locked packages (npm ci) ...');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: home,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) {
    console.error('npm ci failed; see above. Run it by hand in the checkout and start again.');
    process.exit(1);
  }
}

/** Compares versions, not times: npm writes the lockfile after node_modules, so it always looks newer. */
function isInstalled(home) {
  const mark = join(home, 'node_modules', '.package-lock.json');
  if (!existsSync(mark)) return false;
  const locked = packagesOf(join(home, 'package-lock.json'));
  const installed = packagesOf(mark);
  return Object.entries(locked).every(
    ([path, { version, optional }]) =>
      path === '' || (installed[path]?.version ?? (optional && version)) === version,
  );
}

function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  installMissing(dirname(dirname(fileURLToPath(import.meta.url))));
}
