// Takes the machine's cores away from the tests: loops that do nothing, at the priority of everything else. Given a
// number, plays the suite (or the files that are named) so many times beside them and counts the runs that failed.
// The loops end with this program, or after an hour.
//
//   npm run test:busy -- 10                           the suite, ten times
//   npm run test:busy -- 5 test/e2e/hedge.test.ts     one file, five times
//   npm run test:busy -- --loops 4                    only the loops, until Ctrl-C
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Each loop looks now and then whether it is still wanted: it is nobody's once its parent is another one. */
const LOOP = `
const parent = process.ppid;
const endsAt = Date.now() + 3_600_000;
while (process.ppid === parent && Date.now() < endsAt) for (let n = 0; n < 1e7; n += 1);
`;

const SUITE = join(import.meta.dirname, 'run.ts');

const { values, positionals } = parseArgs({
  options: { loops: { type: 'string', default: '8' } },
  allowPositionals: true,
});

function countOf(what: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${what} must be a whole number above 0, not ${text}`);
  return Number(text);
}

const start = (): (() => void) => {
  const loops = Array.from({ length: countOf('--loops', values.loops) }, () =>
    spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
  );
  return () => loops.forEach((loop) => loop.kill('SIGKILL'));
};

/** @returns whether it passed */
async function play(files: readonly string[]): Promise<boolean> {
  const end = start(); // anew for each run, so that a long row of runs does not outlast them
  process.once('exit', end);
  const suite = spawn(process.execPath, [SUITE, ...files], { stdio: 'inherit' });
  const [code] = (await once(suite, 'exit')) as [number | null];
  process.removeListener('exit', end);
  end();
  return code === 0;
}

const [count, ...files] = positionals;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
if (count === undefined) {
  process.once('exit', start());
  console.log(`${values.loops} loops run until this program ends`);
  setInterval(() => undefined, 60_000);
} else {
  const runs = countOf('the number of runs', count);
  let failed = 0;
  for (let n = 1; n <= runs; n += 1) {
    const passed = await play(files);
    if (!passed) failed += 1;
    console.log(`run ${n} of ${runs} beside ${values.loops} loops: ${passed ? 'passed' : 'FAILED'}`);
  }
  console.log(`${runs} runs, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
