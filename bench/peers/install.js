// Installs gateways that the bench measures beside the proxy: `node bench/peers/install.js [portkey] [litellm]`, all
// without a name. Versions are pinned in this folder. By hand only: the product's own install never comes here.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const run = (command, args) => spawnSync(command, args, { cwd: here, stdio: 'inherit' }).status === 0;

const INSTALLERS = {
  portkey: () => run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']),
  // A minute and 750 MB, in a folder of its own that git ignores.
  litellm: () =>
    run('python3', ['-m', 'venv', 'litellm']) &&
    run(join(here, 'litellm/bin/pip'), ['install', '--quiet', '--requirement', 'litellm.txt']),
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(INSTALLERS);
for (const name of names) {
  const install = Object.hasOwn(INSTALLERS, name) ? INSTALLERS[name] : null;
  if (install === null)
    console.error(`there is no peer ${name}; there are ${Object.keys(INSTALLERS).join(', ')}`);
  else if (install()) continue;
  else console.error(`${name} could not be installed; npm run bench goes on without it and says so`);
  process.exitCode = 1;
}
