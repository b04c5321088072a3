// The suite's own promise: a killed test run leaves no sandbox behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { runs } from '../support/cli.ts';

const TEST = `
import { spawn } from 'node:child_process';
import { RUN, RUN_MARK } from '${new URL('../support/process-cleanup.ts', import.meta.url).href}';
const sandbox = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
  detached: true, stdio: 'ignore', env: { [RUN_MARK]: RUN },
});
sandbox.once('spawn', () => {
  process.kill(sandbox.pid, 'SIGSTOP');
  process.stdout.write(String(sandbox.pid));
});
`;

t.test('what a test started ends with it, paused or not, when the test is killed', async (t) => {
  const test = spawn(process.execPath, ['--input-type=module', '-e', TEST], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(test.stdout, 'data')) as [Buffer];
  const pid = Number(String(said));
  t.ok(runs(pid));
  test.kill('SIGKILL');
  await once(test, 'exit');
  while (runs(pid)) await once(spawn('true'), 'exit');
  t.notOk(runs(pid));
});
