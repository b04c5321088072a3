// `npm run resilience`: plays the parts of the battery, prints their tables and, when asked, writes them into
// docs/reliability.md. Anything that did not hold ends the run with exit code 1.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeRun } from '../bench/harness/machine.ts';
import { writeSections, type Section } from '../bench/harness/page.ts';
import { ROOT } from '../bench/harness/peers.ts';
import { markdown } from '../bench/harness/table.ts';
import { Stage, type Part, type Wanted } from './harness/stage.ts';
import { tableOf } from './harness/tally.ts';
import { PARTS } from './parts.ts';

const USAGE = `npm run resilience -- [--only NAME]... [--quick] [--seed N] [--rounds N] [--executions N] [--seconds N] [--write]

  --list            the parts
  --only NAME       only this part; may be given several times
  --quick           short runs, as in .ci/run: does it still hold
  --seed N          repeats a run; printed with each table
  --rounds N        kills of each kind, configuration changes, parallel streams, slow clients of each kind
  --executions N    inputs of each fuzzing target
  --seconds N       length of the soak
  --write           put the tables into docs/reliability.md
`;

const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    seed: { type: 'string' },
    rounds: { type: 'string' },
    executions: { type: 'string' },
    seconds: { type: 'string' },
  },
});

function countOf(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${flag} takes a whole number above 0, not ${text}`);
  return Number(text);
}

function chosen(names: readonly string[]): readonly Part[] {
  const unknown = names.filter((name) => !PARTS.some((one) => one.name === name));
  const known = PARTS.map(({ name }) => name).join(', ');
  if (unknown.length > 0) throw new Error(`there is no part ${unknown.join(', ')}; there are ${known}`);
  return names.length === 0 ? PARTS : PARTS.filter(({ name }) => names.includes(name));
}

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
  if (values.help) return console.log(USAGE);
  if (values.list)
    return console.log(PARTS.map(({ name, about }) => `${name.padEnd(16)}${about}`).join('\n'));
  if (process.platform !== 'linux') throw new Error('the battery reads /proc and mounts: it needs Linux');
  if (values.quick && values.write) throw new Error('--write takes full runs only: leave --quick out');
  const parts = chosen(values.only);
  const wanted: Wanted = {
    quick: values.quick,
    seed: countOf('seed', values.seed) ?? Math.floor(Math.random() * 1_000_000) + 1,
    rounds: countOf('rounds', values.rounds),
    executions: countOf('executions', values.executions),
    seconds: countOf('seconds', values.seconds),
  };
  let holds = true;
  for (const part of parts) {
    const section = await play(part, wanted);
    holds &&= section.holds;
    console.log(`### ${section.name}\n\n${section.text}\n`);
    if (values.write) writeSections(join(ROOT, 'docs/reliability.md'), [section], 'resilience');
  }
  console.log(holds ? 'everything held' : 'NOT everything held');
  process.exitCode = holds ? 0 : 1;
}

await main().catch((error: unknown) => {
  console.error(`resilience: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 1;
});
