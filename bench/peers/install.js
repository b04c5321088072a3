// Installs the gateways that the bench measures beside the proxy, from this folder's own lockfile. By hand only: the
// product's own install never comes here.
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
const { status } = spawnSync('npm', args, { cwd: dirname(fileURLToPath(import.meta.url)), stdio: 'inherit' });
if (status !== 0)
  console.error('the peers could not be installed; npm run bench goes on without them and says so');
process.exit(status ?? 1);
