// Takes the machine's cores away from the tests: loops that do nothing, at the priority of everything else. With `--` runs
// a command beside them, several times, and says how often it failed. Ends with its parent, or after an hour.
//
//   node test/support/busy.ts [--loops 8] [--times 1] [-- command arguments...]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

const LONGEST_MS = 3_600_000;
/** A loop looks from time to time whether it is still wanted: it is nobody's once its parent has changed. */
const LOOP = `
const parent = process.ppid;
const endsAt = Date.now() + ${LONGEST_MS};
while (process.ppid === parent && Date.now() < endsAt) for (let n = 0; n < 1e7; n += 1);
`;

const { values, positionals } = parseArgs({
  options: { loops: { type: 'string', default: '8' }, times: { type: 'string', default: '1' } },
  allowPositionals: true,
});

function countOf(flag: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`--${flag} takes a whole number above 0, not ${text}`);
  return Number(text);
}

const loops = countOf('loops', values.loops);
// `npm run test:busy -- 10` is ten runs of the suite.
const [first = '', ...rest] = positionals;
const isCount = /^\d+$/.test(first);
const times = countOf('times', isCount ? first : values.times);
const [command = '', ...args] = isCount ? rest : positionals;

const burning = Array.from({ length: loops }, () => spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }));
const end = (): void => burning.forEach((one) => one.kill('SIGKILL'));
process.once('exit', end);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

if (command === '') {
  console.log(`${loops} loops run until this program ends`);
  await Promise.all(burning.map((one) => once(one, 'exit')));
} else {
  let failed = 0;
  for (let n = 1; n <= times; n += 1) {
    const startedAt = Date.now();
    const child = spawn(command, args, { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) failed += 1;
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    console.log(`run ${n} of ${times} beside ${loops} loops: ${code === 0 ? 'passed' : 'FAILED'}, ${seconds} s`);
  }
  console.log(`${times} runs, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
  end();
}
