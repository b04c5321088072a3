// Installs what a fresh checkout lacks: the locked packages, and a Node that can run them. `npm start` and `npm test`
// call it first. Does nothing when everything is there.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs `npm ci` when node_modules is missing or older than the lockfile. */
export function installMissing(home) {
  const lock = join(home, 'package-lock.json');
  const mark = join(home, 'node_modules', '.package-lock.json');
  if (!existsSync(lock) || (existsSync(mark) && statSync(mark).mtimeMs >= statSync(lock).mtimeMs)) return;
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  installMissing(dirname(dirname(fileURLToPath(import.meta.url))));
}
