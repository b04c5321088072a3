// `npm run battery`: plays the test files that `npm test` leaves to it, runs the scenarios of the battery, prints their
// tables and, when asked, writes them into docs/reliability.md. Anything that did not hold ends the run with exit code 1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describeRun } from '../../bench/harness/machine.ts';
import { writeSections, type Section } from '../../bench/harness/page.ts';
import { ROOT } from '../../bench/harness/peers.ts';
import { markdown } from '../../bench/harness/table.ts';
import { readCommandLine, USAGE } from './harness/command-line.ts';
import { ScenarioRun, type Scenario, type RunOptions } from './harness/scenario-run.ts';
import { tableOf, type ResultRow } from './harness/result-row.ts';
import { SCENARIOS } from './scenarios.ts';

/** A short run takes two minutes on a busy machine: what lasts longer hangs, and must not hold up `.ci/run` for hours. */
const SHORT_RUN_MS = 20 * 60_000;

/** @throws Error when a short run lasts longer than `SHORT_RUN_MS` */
async function play(scenario: Scenario, run: ScenarioRun): Promise<readonly ResultRow[]> {
  if (!run.options.quick) return scenario.run(run);
  const { promise, reject } = Promise.withResolvers<never>();
  const limit = setTimeout(
    reject,
    SHORT_RUN_MS,
    new Error(`still running after ${SHORT_RUN_MS / 60_000} minutes`),
  );
  try {
    return await Promise.race([scenario.run(run), promise]);
  } finally {
    clearTimeout(limit);
  }
}

async function runScenario(
  scenario: Scenario,
  options: RunOptions,
): Promise<Section & { readonly holds: boolean }> {
  const run = new ScenarioRun(options);
  const interrupted = (): void => void run.close().then(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const where = describeRun();
  const startedAt = performance.now();
  try {
    const results = await play(scenario, run);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const table = markdown(tableOf(scenario.about, results, run.notes));
    const holds = results.every((result) => result.holds);
    return { name: scenario.name, text: `${table}\n\n_${where}, ${seconds} s_`, holds };
  } catch (error) {
    throw new Error(`${scenario.name}: ${(error as Error).message}`, { cause: error });
  } finally {
    process.removeListener('SIGINT', interrupted).removeListener('SIGTERM', interrupted);
    await run.close();
  }
}

/** `LONG` in test/support/files.ts names them. */
async function playFiles(): Promise<boolean> {
  const runner = join(ROOT, 'test/support/run.ts');
  const run = spawn(process.execPath, ['--no-warnings', runner, '--long'], { stdio: 'inherit' });
  const [code] = (await once(run, 'close')) as [number | null];
  return code === 0;
}

async function main(): Promise<void> {
  const names = SCENARIOS.map(({ name }) => name);
  const commandLine = readCommandLine(process.argv.slice(2), names);
  if (commandLine.help) return console.log(USAGE);
  if (commandLine.list)
    return console.log(SCENARIOS.map(({ name, about }) => `${name.padEnd(16)}${about}`).join('\n'));
  if (process.platform !== 'linux') throw new Error('the battery reads /proc and mounts: it needs Linux');
  const chosen = SCENARIOS.filter(({ name }) => commandLine.scenarios.includes(name));
  let holds = !commandLine.withFiles || (await playFiles());
  for (const scenario of chosen) {
    const section = await runScenario(scenario, commandLine.run);
    holds &&= section.holds;
    console.log(`### ${section.name}\n\n${section.text}\n`);
    if (commandLine.write) writeSections(join(ROOT, 'docs/reliability.md'), [section], 'battery');
  }
  console.log(holds ? 'everything held' : 'NOT everything held');
  process.exitCode = holds ? 0 : 1;
}

await main().catch((error: unknown) => {
  console.error(`battery: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exit(1); // a scenario that hangs may hold sockets and timers
});
