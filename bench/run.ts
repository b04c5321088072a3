// `npm run bench`: plays scenarios, prints their tables and, when asked, writes them into docs/performance.md. Any
// answer that is not complete and as expected ends the run with exit code 1.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeRun } from './harness/machine.ts';
import { writeSections, type Section } from './harness/page.ts';
import { ROOT } from './harness/peers.ts';
import { profiled } from './harness/profile.ts';
import { unpack } from './harness/revision.ts';
import { Bench, type Scenario, type Wanted } from './harness/scenario.ts';
import { markdown } from './harness/table.ts';
import { agentCode, agentProse } from './scenarios/agent.ts';
import { allocations, calls } from './scenarios/per-call.ts';
import { hostile } from './scenarios/hostile.ts';
import { keys } from './scenarios/keys.ts';
import { keysShared } from './scenarios/keys-shared.ts';
import { keysSteps } from './scenarios/keys-steps.ts';
import { latency } from './scenarios/latency.ts';
import { manyModels } from './scenarios/many-models.ts';
import { platform } from './scenarios/platform.ts';
import { scan } from './scenarios/scan.ts';
import { slowStreams } from './scenarios/slow-streams.ts';
import { smallJson } from './scenarios/small-json.ts';
import { startup } from './scenarios/startup.ts';
import { store, year } from './scenarios/store.ts';
import { stream } from './scenarios/stream.ts';
import { translate } from './scenarios/translate.ts';
import { traces } from './scenarios/traces.ts';
import { workers } from './scenarios/workers.ts';

const SCENARIOS: readonly Scenario[] = [
  smallJson,
  allocations,
  calls,
  agentCode,
  agentProse,
  scan,
  stream,
  translate,
  slowStreams,
  latency,
  manyModels,
  startup,
  store,
  year,
  hostile,
  workers,
  traces,
  keys,
  keysShared,
  keysSteps,
  platform,
];

const USAGE = `npm run bench -- [--scenario NAME]... [--peer NAME]... [--quick] [--write] [--compare REV]...

  --list            the scenarios
  --scenario NAME   only this one; may be given several times
  --peer NAME       only peers whose name begins so (bare, nginx, portkey, ...)
  --quick           short loads: does it run, roughly how does it stand
  --rounds N        measurements of each peer, the best counts; default 3, quick 1
  --requests N      requests per measurement   --connections N   --streams N
  --built           the proxy of the working tree compiled, as a package and an image hold it: what its memory is measured with
  --compare REV     the proxy of this git revision in the same run
  --profile NAME    the proxy alone in this scenario, under the profiler: a flame graph in docs/images/profile-NAME.svg,
                    or where --out says, and a .cpuprofile beside it
  --out FILE.svg    for --profile
  --write           put the tables into docs/performance.md
`;

const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    scenario: { type: 'string', multiple: true, default: [] },
    peer: { type: 'string', multiple: true, default: [] },
    compare: { type: 'string', multiple: true, default: [] },
    built: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    profile: { type: 'string' },
    out: { type: 'string' },
    rounds: { type: 'string' },
    requests: { type: 'string' },
    connections: { type: 'string' },
    streams: { type: 'string' },
  },
});

function countOf(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new Error(`--${flag} takes a whole number above 0, not ${text}`);
  return Number(text);
}

function chosen(names: readonly string[]): readonly Scenario[] {
  const unknown = names.filter((name) => !SCENARIOS.some((one) => one.name === name));
  const known = SCENARIOS.map(({ name }) => name).join(', ');
  if (unknown.length > 0) throw new Error(`there is no scenario ${unknown.join(', ')}; there are ${known}`);
  return names.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name));
}

async function play(scenario: Scenario, wanted: Wanted): Promise<Section> {
  const bench = new Bench(wanted);
  const interrupted = (): void => {
    bench.close();
    process.exit(130);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const where = describeRun();
    const tables = await scenario.run(bench);
    return { name: scenario.name, text: `${tables.map(markdown).join('\n\n')}\n\n_${where}_` };
  } catch (error) {
    throw new Error(`${scenario.name}: ${(error as Error).message}`, { cause: error });
  } finally {
    process.removeListener('SIGINT', interrupted).removeListener('SIGTERM', interrupted);
    bench.close();
  }
}

async function main(): Promise<void> {
  if (values.help) return console.log(USAGE);
  if (values.list) {
    return console.log(SCENARIOS.map(({ name, about }) => `${name.padEnd(14)}${about}`).join('\n'));
  }
  if (process.platform !== 'linux') throw new Error('the bench reads CPU time from /proc: it needs Linux');
  if (values.quick && values.write) throw new Error('--write takes full figures only: leave --quick out');
  const scenarios = chosen(values.profile === undefined ? values.scenario : [values.profile]);
  const folder = mkdtempSync(join(tmpdir(), 'throughline-revisions-'));
  try {
    const wanted: Wanted = {
      quick: values.quick,
      rounds: countOf('rounds', values.rounds) ?? (values.quick ? 1 : 3),
      requests: countOf('requests', values.requests),
      connections: countOf('connections', values.connections),
      streams: countOf('streams', values.streams),
      peers: values.peer,
      built: values.built,
      revisions: values.compare.map((name) => unpack(name, folder)),
      profileInto: null,
    };
    if (values.profile !== undefined) {
      const picture = values.out ?? join(ROOT, `docs/images/profile-${values.profile}.svg`);
      await profiled(scenarios[0] as Scenario, wanted, picture.replace(/\.svg$/, ''));
      return console.log(`wrote ${picture}`);
    }
    const sections: Section[] = [];
    for (const scenario of scenarios) {
      const section = await play(scenario, wanted);
      sections.push(section);
      console.log(`### ${section.name}\n\n${section.text}\n`);
    }
    if (values.write) writeSections(join(ROOT, 'docs/performance.md'), sections);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
