// `npm run battery`: plays the parts of the battery, prints their tables and, when asked, writes them into
// docs/reliability.md. Anything that did not hold ends the run with exit code 1.
import { join } from 'node:path';
import { describeRun } from '../../bench/harness/machine.ts';
import { writeSections, type Section } from '../../bench/harness/page.ts';
import { ROOT } from '../../bench/harness/peers.ts';
import { markdown } from '../../bench/harness/table.ts';
import { readCommandLine, USAGE } from './harness/command-line.ts';
import { Stage, type Part, type Wanted } from './harness/stage.ts';
import { tableOf } from './harness/tally.ts';
import { PARTS } from './parts.ts';

async function play(part: Part, wanted: Wanted): Promise<Section & { readonly holds: boolean }> {
  const stage = new Stage(wanted);
  const interrupted = (): void => void stage.close().then(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const where = describeRun();
  const startedAt = performance.now();
  try {
    const tallies = await part.run(stage);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const table = markdown(tableOf(part.about, tallies, stage.notes));
    const holds = tallies.every((tally) => tally.holds);
    return { name: part.name, text: `${table}\n\n_${where}, ${seconds} s_`, holds };
  } catch (error) {
    throw new Error(`${part.name}: ${(error as Error).message}`, { cause: error });
  } finally {
    process.removeListener('SIGINT', interrupted).removeListener('SIGTERM', interrupted);
    await stage.close();
  }
}

async function main(): Promise<void> {
  const names = PARTS.map(({ name }) => name);
  const asked = readCommandLine(process.argv.slice(2), names);
  if (asked.help) return console.log(USAGE);
  if (asked.list) return console.log(PARTS.map(({ name, about }) => `${name.padEnd(16)}${about}`).join('\n'));
  if (process.platform !== 'linux') throw new Error('the battery reads /proc and mounts: it needs Linux');
  const parts = PARTS.filter(({ name }) => asked.parts.includes(name));
  let holds = true;
  for (const part of parts) {
    const section = await play(part, asked.wanted);
    holds &&= section.holds;
    console.log(`### ${section.name}\n\n${section.text}\n`);
    if (asked.write) writeSections(join(ROOT, 'docs/reliability.md'), [section], 'resilience');
  }
  console.log(holds ? 'everything held' : 'NOT everything held');
  process.exitCode = holds ? 0 : 1;
}

await main().catch((error: unknown) => {
  console.error(`resilience: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 1;
});
