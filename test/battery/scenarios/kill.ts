// kill -9 at random points under load: with one process, and with two workers of which one, all, or the supervisor
// alone is killed. Every call that the gateway saw has exactly one row afterwards.
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { runs, workersOf } from '../../support/cli.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { sendLoadCall } from '../../support/load-call.ts';
import { compareRows, MOST_ROWS, rowsOf } from '../harness/compare-rows.ts';
import { openProxySetup, type ProxySetup, type Served } from '../harness/proxy-setup.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const IN_FLIGHT = 220;
const MODELS = [
  'demo',
  'demo-slow',
  'demo-slow-stream',
  'demo-interval',
  'demo-hold',
  'demo-stall',
  'demo-500',
  'compat',
  'compat-interval',
];

type Victim = 'all' | 'a worker' | 'the supervisor';

/** Kills everything; settles when the program is gone. */
async function killAll(proxy: Served, workers: readonly number[]): Promise<void> {
  for (const pid of workers) kill(pid);
  proxy.kill('SIGKILL');
  await proxy.ended;
  while (workers.some(runs)) await turn();
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it ended meanwhile
  }
}

interface Round {
  readonly setup: ProxySetup;
  readonly dataDir: string;
  readonly workers: number;
  readonly random: () => number;
  readonly name: string;
  readonly whole: Set<string>;
}

/** One start, one load, one kill. */
async function runRound(round: Round): Promise<Victim> {
  const { setup, random, whole } = round;
  const proxy = await setup.serve(round.dataDir, ['--workers', String(round.workers)]);
  const workers = round.workers > 1 ? workersOf(proxy.pid) : [];
  const choice = random();
  const victim: Victim =
    round.workers === 1 || choice < 0.5 ? 'all' : choice < 0.75 ? 'a worker' : 'the supervisor';
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const seenBefore = setup.seen.length;
  // The kill comes with the n-th piece of an answer, once enough calls are at the gateway: never by a clock.
  let pieces = Math.floor(random() * 400);
  const least = Math.floor(random() * IN_FLIGHT * 0.8);
  const due = Promise.withResolvers<void>();
  const look = (): void => {
    pieces -= 1;
    if (pieces <= 0 && setup.seen.length - seenBefore >= least) due.resolve();
  };
  let over = 0;
  const calls = Array.from({ length: IN_FLIGHT }, async (_, n) => {
    const session = `${round.name}-${n}`;
    const model = MODELS[Math.floor(random() * MODELS.length)] as string;
    const { port } = proxy;
    const end = await sendLoadCall({ agent, port, session, model, stream: random() < 0.6, onBytes: look });
    if (end === 'whole') whole.add(session);
    over += 1;
    if (over === IN_FLIGHT / 2) due.resolve(); // more pieces were drawn than there were
  });
  await due.promise;
  if (victim === 'a worker') {
    kill(workers[Math.floor(random() * workers.length)] as number);
    setup.demo.release();
    await proxy.said(/the replaced worker serves/).catch(() => undefined);
    await killAll(proxy, workersOf(proxy.pid));
  } else if (victim === 'the supervisor') {
    proxy.kill('SIGKILL');
    await proxy.ended; // its workers notice, settle what they had and end
    while (workers.some(runs)) await turn();
  } else await killAll(proxy, workers);
  await Promise.all(calls);
  agent.destroy();
  setup.demo.release();
  return victim;
}

async function rounds(scenario: ScenarioRun, workers: number, count: number): Promise<ResultRow> {
  const { seed } = scenario.options;
  const what = `kill -9 under load, ${workers === 1 ? 'one process' : `${workers} workers`}`;
  const result = new ResultRow(what, ['lost', 'doubled'], seed);
  const random = seededRandom(seed + workers);
  const setup = await openProxySetup(scenario);
  const folder = scenario.folder();
  const most = Math.floor(MOST_ROWS / IN_FLIGHT) - 5;
  const victims = new Map<Victim, number>();
  const ends = new Map<string, number>();
  let calls = 0;
  for (let from = 0; from < count; from += most) {
    const dataDir = join(folder, `data-${from}`);
    const whole = new Set<string>();
    setup.seen.length = 0;
    const until = Math.min(count, from + most);
    for (let n = from; n < until; n += 1) {
      const victim = await runRound({ setup, dataDir, workers, random, name: `round-${n}`, whole });
      victims.set(victim, (victims.get(victim) ?? 0) + 1);
    }
    const proxy = await setup.serve(dataDir, ['--workers', String(workers)]);
    const rows = await rowsOf(proxy.url);
    for (const row of rows)
      ends.set(String(row['end_reason']), (ends.get(String(row['end_reason'])) ?? 0) + 1);
    calls += setup.seen.length;
    const bad = compareRows(result, rows, { seen: setup.seen, whole });
    const badRounds = new Set([...bad].map((session) => session.split('-')[1]));
    for (let n = from; n < until; n += 1)
      result.check(!badRounds.has(String(n)), () => `round ${n} lost or doubled rows`);
    proxy.kill('SIGTERM');
    const { code } = await proxy.ended;
    if (code !== 0) result.fail(`the last start ended with ${code}`);
  }
  const listed = (map: ReadonlyMap<string, number>): string =>
    [...map].map(([name, of]) => `${name} ${of}`).join(', ');
  result.notes.push(
    `${what}: ${calls} calls at the gateway; killed: ${listed(victims)}; ends: ${listed(ends)}.`,
  );
  return result;
}

export const kill9: Scenario = {
  name: 'kill',
  about: 'kill -9 at random points under load: no row lost, none doubled',
  run: async (scenario) => {
    const count = scenario.count(200, 2, scenario.options.rounds);
    return [await rounds(scenario, 1, count), await rounds(scenario, 2, count)];
  },
};
