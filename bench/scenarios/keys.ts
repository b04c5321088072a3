// 100,000 virtual keys, without and with budgets and limits: what they add to the start and to memory, and what a call with one
// of them costs more than one with the master key.
import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { StoredObjects } from '../../proxy/access/objects/access-objects.ts';
import { blankKey, blankTeam } from '../../proxy/access/objects/blank.ts';
import { DurableObjects } from '../../proxy/access/objects/durable-objects.ts';
import { NO_BUDGET, NO_LIMITS, type ObjectChange } from '../../proxy/access/objects/objects.ts';
import { systemClock } from '../../proxy/base/clock.ts';
import { openLog } from '../../proxy/observability/logger.ts';
import { smallBody } from '../harness/bodies.ts';
import { fixed, jsonLoad, measureCpu, moreUs, type Measured } from '../harness/measure.ts';
import { MODEL, OURS, throughline, type Peer, type Running } from '../harness/peers.ts';
import { cpuSeconds, residentMb } from '../harness/processes.ts';
import type { Scenario } from '../harness/scenario.ts';

const PART = 1_000;
/** A call reserves what it may cost; without a price each row says that nothing was reserved. */
const PRICES = '      input_cost_per_token: 1e-6\n      output_cost_per_token: 2e-6\n';
export const KEY = 'sk-bench-virtual-key';

/** Each key, and each team of a hundred: a budget of a month, of calls and tokens a minute and at a time. None is reached. */
const capped = (setMs: number) => ({
  budget: { ...NO_BUDGET, maxBudget: 1_000_000, budgetDuration: '30d', budgetSetMs: setMs },
  limits: { ...NO_LIMITS, rpm: 100_000_000, tpm: 100_000_000_000, maxParallel: 10_000 },
});

/** As a platform makes them: a user each, a team for a hundred, a name, a list of models for every third. */
async function store(dataDir: string, count: number, isCapped: boolean): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const { log } = openLog('silent');
  const objects = await StoredObjects.open(
    new DurableObjects({ dataDir, database: null, worker: null, clock: systemClock, log }),
  );
  const team = (n: number): string => `team-${Math.floor(n / 100)}`;
  for (let at = 0; at < count; at += PART) {
    const changes: ObjectChange[] = [];
    for (let n = at; n < Math.min(at + PART, count); n += 1) {
      const value = n === 0 ? KEY : `sk-bench-${n}`;
      const terms = isCapped ? capped(1_770_000_000_000 + n) : {};
      if (n % 100 === 0) changes.push({ put: { ...blankTeam(team(n), 1), ...terms } });
      changes.push({
        put: {
          ...blankKey(hash('sha256', value, 'hex'), value.slice(-4), 1_770_000_000_000 + n),
          alias: `Key of user-${n}, org ${n % 100}`,
          userId: `user-${n}`,
          teamId: team(n),
          models: n % 3 === 0 ? [MODEL, 'another'] : [],
          ...terms,
        },
      });
    }
    await objects.change(changes);
  }
  await objects.close();
}

/** From the start of the program until it says that it serves. */
interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

/** All send the same two headers, so that only the key differs. */
export function withKeys(
  name: string,
  count: number,
  key: string,
  starts: Start[],
  isCapped = false,
  more = '',
  main?: string,
): Peer {
  const peer = throughline(`${OURS}, ${name}`, main, [], [], () => more, PRICES);
  return {
    ...peer,
    start: async (place): Promise<Running> => {
      await store(join(place.folder, 'data'), count, isCapped);
      const startedAt = performance.now();
      const running = await peer.start(place);
      const cpuMs = cpuSeconds(running.program.pid) * 1000;
      starts.push({ ms: performance.now() - startedAt, cpuMs });
      return { ...running, headers: `x-litellm-api-key: ${key}\r\n` };
    },
  };
}

const moreOf = (one: Measured | undefined, other: Measured | undefined): number =>
  one === undefined || other === undefined ? NaN : moreUs(one, other);

export const keys: Scenario = {
  name: 'keys',
  about:
    '100,000 virtual keys, with budgets and limits: start, memory, the small call against the master key',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const many = bench.wanted.quick ? 10_000 : 100_000;
    const fewer = bench.wanted.quick ? 3_000 : 30_000; // of more keys the start reads the sums of all
    const peers: Running[] = [];
    const starts: Start[] = [];
    for (const peer of [
      withKeys('master key, no virtual keys', 0, 'sk-bench', starts),
      withKeys(`master key, ${many} virtual keys`, many, 'sk-bench', starts),
      withKeys('virtual key, 1', 1, KEY, starts),
      withKeys(`virtual key, ${many}`, many, KEY, starts),
      withKeys(`virtual key, ${many} with budgets and limits`, many, KEY, starts, true),
      withKeys(`virtual key, ${fewer} with budgets and limits`, fewer, KEY, starts, true),
    ]) {
      peers.push(await bench.startOne(peer, upstreamPort, 1, peer.name.replaceAll(/\W+/g, '-')));
    }
    const body = smallBody();
    const requests = bench.count(20_000, 3_000);
    const measured = await measureCpu(bench, {
      peers,
      upstreamPort: null,
      unitsPerRequest: 1,
      warmUpRequests: bench.count(60_000, 3_000),
      load: jsonLoad(body, 32, requests),
    });
    return [
      {
        title: `Virtual keys: small JSON call, 32 connections, ${requests} requests, best of ${bench.wanted.rounds}`,
        columns: [
          '',
          'CPU us per request',
          'more than the master key, us',
          'p50 ms',
          'ready ms',
          'CPU ms until ready',
          'RSS MB',
        ],
        rows: measured.map(({ name, cpuUs, p50Ms }, i) => [
          name,
          fixed(cpuUs, 1),
          fixed(moreOf(measured[i], measured[1]), 1),
          fixed(p50Ms, 2),
          fixed(starts[i]?.ms ?? NaN, 0),
          fixed(starts[i]?.cpuMs ?? NaN, 0),
          fixed(residentMb(peers[i]?.program.pid ?? 0), 0),
        ]),
        notes: [
          `More than the master key: than with ${many} virtual keys in memory, the median of the differences of each round.`,
          'Each third key has a list of models; the one that calls has one, too.',
          'Objects that take longer than 5 s to load are not waited for: on a machine so busy, `ready` and its CPU say too little.',
          'Budgets and limits: a monthly budget, requests and tokens per minute and calls at a time, of each key and each team.',
        ],
      },
    ];
  },
};
