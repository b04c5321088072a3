// kill -9 at random points under load: with one process, and with two workers of which one, all, or the supervisor
// alone is killed. Every call that the gateway saw has exactly one row afterwards.
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { runs, workersOf } from '../../support/cli.ts';
import { dice } from '../../support/dice.ts';
import { fire } from '../../support/fire.ts';
import { compareBooks, MOST_ROWS, rowsOf } from '../harness/books.ts';
import { openHouse, type House, type Served } from '../harness/house.ts';
import type { Part, Stage } from '../harness/stage.ts';
import { Tally } from '../harness/tally.ts';

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

/** Kills as the dice say; settles when the program is gone. */
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
  readonly house: House;
  readonly dataDir: string;
  readonly workers: number;
  readonly random: () => number;
  readonly name: string;
  readonly whole: Set<string>;
}

/** One start, one load, one kill. */
async function play(round: Round): Promise<Victim> {
  const { house, random, whole } = round;
  const proxy = await house.serve(round.dataDir, ['--workers', String(round.workers)]);
  const workers = round.workers > 1 ? workersOf(proxy.pid) : [];
  const choice = random();
  const victim: Victim =
    round.workers === 1 || choice < 0.5 ? 'all' : choice < 0.75 ? 'a worker' : 'the supervisor';
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const seenBefore = house.seen.length;
  // The kill comes with the n-th piece of an answer, once enough calls are at the gateway: never by a clock.
  let pieces = Math.floor(random() * 400);
  const least = Math.floor(random() * IN_FLIGHT * 0.8);
  const due = Promise.withResolvers<void>();
  const look = (): void => {
    pieces -= 1;
    if (pieces <= 0 && house.seen.length - seenBefore >= least) due.resolve();
  };
  let over = 0;
  const calls = Array.from({ length: IN_FLIGHT }, async (_, n) => {
    const session = `${round.name}-${n}`;
    const model = MODELS[Math.floor(random() * MODELS.length)] as string;
    const { port } = proxy;
    const end = await fire({ agent, port, session, model, stream: random() < 0.6, onBytes: look });
    if (end === 'whole') whole.add(session);
    over += 1;
    if (over === IN_FLIGHT / 2) due.resolve(); // the dice asked for more pieces than there were
  });
  await due.promise;
  if (victim === 'a worker') {
    kill(workers[Math.floor(random() * workers.length)] as number);
    house.demo.release();
    await proxy.said(/the replaced worker serves/).catch(() => undefined);
    await killAll(proxy, workersOf(proxy.pid));
  } else if (victim === 'the supervisor') {
    proxy.kill('SIGKILL');
    await proxy.ended; // its workers notice, settle what they had and end
    while (workers.some(runs)) await turn();
  } else await killAll(proxy, workers);
  await Promise.all(calls);
  agent.destroy();
  house.demo.release();
  return victim;
}

async function rounds(stage: Stage, workers: number, count: number): Promise<Tally> {
  const { seed } = stage.wanted;
  const what = `kill -9 under load, ${workers === 1 ? 'one process' : `${workers} workers`}`;
  const tally = new Tally(what, ['lost', 'doubled'], seed);
  const random = dice(seed + workers);
  const house = await openHouse(stage);
  const folder = stage.folder();
  const most = Math.floor(MOST_ROWS / IN_FLIGHT) - 5;
  const victims = new Map<Victim, number>();
  const ends = new Map<string, number>();
  let calls = 0;
  for (let from = 0; from < count; from += most) {
    const dataDir = join(folder, `data-${from}`);
    const whole = new Set<string>();
    house.seen.length = 0;
    const until = Math.min(count, from + most);
    for (let n = from; n < until; n += 1) {
      const victim = await play({ house, dataDir, workers, random, name: `round-${n}`, whole });
      victims.set(victim, (victims.get(victim) ?? 0) + 1);
    }
    const proxy = await house.serve(dataDir, ['--workers', String(workers)]);
    const rows = await rowsOf(proxy.url);
    for (const row of rows)
      ends.set(String(row['end_reason']), (ends.get(String(row['end_reason'])) ?? 0) + 1);
    calls += house.seen.length;
    const bad = compareBooks(tally, rows, { seen: house.seen, whole });
    const badRounds = new Set([...bad].map((session) => session.split('-')[1]));
    for (let n = from; n < until; n += 1)
      tally.check(!badRounds.has(String(n)), () => `round ${n} lost or doubled rows`);
    proxy.kill('SIGTERM');
    const { code } = await proxy.ended;
    if (code !== 0) tally.fail(`the last start ended with ${code}`);
  }
  const listed = (map: ReadonlyMap<string, number>): string =>
    [...map].map(([name, of]) => `${name} ${of}`).join(', ');
  tally.notes.push(
    `${what}: ${calls} calls at the gateway; killed: ${listed(victims)}; ends: ${listed(ends)}.`,
  );
  return tally;
}

export const kill9: Part = {
  name: 'kill',
  about: 'kill -9 at random points under load: no row lost, none doubled',
  run: async (stage) => {
    const count = stage.count(200, 2, stage.wanted.rounds);
    return [await rounds(stage, 1, count), await rounds(stage, 2, count)];
  },
};
