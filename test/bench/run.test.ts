// The bench as a command: a short run gives a table with a row for each peer, and what is wrong ends it. Figures are not
// judged here.
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../..');
const run = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [join(ROOT, 'bench/run.ts'), ...args], { cwd: ROOT });

t.test('a quick run of small calls gives a row for the bare relay and one for the proxy', async (t) => {
  const sizes = ['--requests', '200', '--connections', '4', '--rounds', '1'];
  const peers = ['--peer', 'bare', '--peer', 'throughline'];
  const { stdout } = await run('--quick', '--scenario', 'small-json', ...sizes, ...peers);
  const cells = stdout
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const named = (start: string): string[] | undefined => cells.find((row) => row[1]?.startsWith(start));
  for (const name of ['bare node:http', 'throughline, everything on']) {
    const row = named(name);
    t.ok(Number(row?.[2]) > 0, `${name} used CPU`);
    t.ok(Number(row?.[5]) > 0, `${name} took time`);
    t.ok(Number(row?.[7]) > 20, `${name} holds memory`);
  }
  t.equal(named('nginx'), undefined, 'a peer that was not asked for is not run');
  t.match(stdout, /Linux .*Node \d+/, 'machine and versions stand below the table');
});

for (const scenario of ['allocations', 'calls'])
  t.test(`what a call takes is counted for the bare relay and for the proxy: ${scenario}`, async (t) => {
    const { stdout } = await run('--quick', '--scenario', scenario);
    for (const name of ['bare node:http', 'throughline']) {
      const row = stdout.split('\n').find((line) => line.startsWith(`| ${name}`));
      t.ok(Number(row?.split('|')[2]) > 1, name);
    }
  });

t.test('what cannot be asked for ends the run with a sentence that says what can', async (t) => {
  await t.rejects(run('--scenario', 'small'), {
    code: 1,
    stderr: /no scenario small; there are small-json, /,
  });
  await t.rejects(run('--quick', '--write'), { code: 1, stderr: /--write takes full figures only/ });
  await t.rejects(run('--requests', '0'), { code: 1, stderr: /--requests takes a whole number above 0/ });
});
