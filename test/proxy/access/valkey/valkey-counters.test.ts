// What several servers count together, in a real Valkey or Redis: seen through counters with connections of their own.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { ValkeySettings } from '../../../../config/valkey-settings.ts';
import { BudgetBook } from '../../../../proxy/access/budgets/budget-book.ts';
import {
  CountersUnavailable,
  type ReserveResult,
  type ReservingCall,
  type CounterName,
  type RecordedCall,
  type SettledCall,
} from '../../../../proxy/access/counters.ts';
import type { LimitNeed } from '../../../../proxy/access/limits/rate-book.ts';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { ValkeyConnection } from '../../../../proxy/access/valkey/connection.ts';
import { RESERVE_CALLS, script } from '../../../../proxy/access/valkey/scripts.ts';
import { ValkeyCounters } from '../../../../proxy/access/valkey/valkey-counters.ts';
import type { ReconnectPause, ValkeyTimes } from '../../../../proxy/access/valkey/valkey-link.ts';
import { openLog, type Log } from '../../../../proxy/observability/logger.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { ownValkey, type ValkeyServer } from '../../../support/valkey.ts';

const USD = 10n ** 12n;
/** Long enough for a machine whose cores are all taken. */
const PATIENT: Partial<ValkeyTimes> = { answerMs: 30_000, stuckMs: 60_000, beatMs: 50, pauseMs: 50 };
/** Nothing is found out by a sign of life: what the test does next comes first. */
const WITHOUT_BEATS: Partial<ValkeyTimes> = { beatMs: 3_600_000 };
/** For a server that is stopped: all others must answer sooner, also where no core is free for them. */
const SHORT_MS = 1_500;

interface Given {
  readonly times?: Partial<ValkeyTimes>;
  readonly settings?: Partial<ValkeySettings>;
  readonly servers?: number;
  readonly mono?: () => number;
  readonly recordsOf?: (ids: readonly string[]) => Promise<readonly RecordedCall[]>;
  readonly journals?: readonly string[];
  readonly journalAgeMs?: number;
  readonly stored?: () => Promise<void>;
  readonly pause?: ReconnectPause;
  readonly lines?: string[];
}

const logInto = (lines: string[]): Log =>
  openLog('info', { write: (line: string) => void lines.push(line) }).log;

async function counters(t: Test, server: ValkeyServer, given: Given = {}): Promise<ValkeyCounters> {
  const made = await ValkeyCounters.start({
    settings: { ...server.settings, ...given.settings },
    log: given.lines === undefined ? openLog('silent').log : logInto(given.lines),
    randomId: randomUUID,
    mono: given.mono ?? (() => performance.now()),
    local: () => new LocalCounters(given.mono ?? (() => performance.now())),
    servers: () => given.servers ?? 1,
    times: { ...PATIENT, ...given.times },
    ...(given.recordsOf === undefined ? {} : { recordsOf: given.recordsOf }),
    ...(given.journals === undefined ? {} : { journals: () => given.journals ?? [] }),
    ...(given.journalAgeMs === undefined ? {} : { journalAgeMs: given.journalAgeMs }),
    ...(given.stored === undefined ? {} : { stored: given.stored }),
    ...(given.pause === undefined ? {} : { pause: given.pause }),
  });
  t.teardown(() => made.close());
  return made;
}

const budget = (name: string, capPico: bigint, windowStartMs = 0) => ({
  budget: name,
  windowStartMs,
  capPico,
});
const parallel = (limit: string, most: number): LimitNeed => ({ kind: 'parallel', limit, most });
const requests = (limit: string, perMinute: number): LimitNeed => ({
  kind: 'requests',
  limit,
  perMinute,
  amount: 1,
});
const tokens = (limit: string, perMinute: number, amount: number): LimitNeed => ({
  kind: 'tokens',
  limit,
  perMinute,
  amount,
});

function call(requestId: string, given: Partial<ReservingCall> = {}): ReservingCall {
  return { requestId, budgets: [], pico: 0n, limits: [], ...given };
}

/** As the proxy asks: what nobody knows is seeded, and asked again. */
async function need(
  counters: ValkeyCounters,
  asked: ReservingCall,
  sumOf: (counter: CounterName) => bigint = () => 0n,
): Promise<ReserveResult> {
  for (;;) {
    const result = await counters.reserve(asked);
    if (result.kind !== 'unseeded') return result;
    for (const counter of result.counters) await counters.seed(counter, sumOf(counter));
  }
}

function settled(requestId: string, spent: readonly (readonly [CounterName, bigint])[] = []): SettledCall {
  return { requestId, spent: spent.map(([counter, pico]) => ({ ...counter, pico })), tokens: null };
}

/** A call has ended, and its row is in the journal. */
function settle(counters: ValkeyCounters, call: SettledCall): void {
  counters.settle(call);
  counters.journaled(call.requestId);
}

/** All that was told has arrived. */
async function told(counters: ValkeyCounters): Promise<void> {
  while (counters.state.pending > 0 || counters.state.away !== null) await pause(5);
}

async function until(fits: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await fits())) await pause(5);
}

/** For those without beats: it joins what is in force again and again. */
async function untilJoined({ link }: ValkeyCounters, fits: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    await link.rejoin();
    return await fits();
  });
}

/** Runs a test on a server of its own; says so where none is installed. */
function withServer(
  name: string,
  run: (t: Test, server: ValkeyServer) => Promise<void>,
  flags: readonly string[] = [],
): void {
  t.test(name, async (t) => {
    const server = await ownValkey(t, flags);
    if (server !== null) await run(t, server);
  });
}

withServer('a call is let in by all that it needs, or consumes nothing', async (t, server) => {
  const one = await counters(t, server);
  const [a, b] = [budget('key:a', 10n * USD), budget('team:b', 3n * USD)];
  const asked = (id: string, pico: bigint): ReservingCall =>
    call(id, { budgets: [a, b], pico, limits: [requests('key:a:rpm', 2), parallel('key:a:parallel', 2)] });
  t.same(await need(one, asked('1', 2n * USD)), { kind: 'reserved', remaining: [1, 1] });
  t.same(
    await need(one, asked('1', 2n * USD)),
    { kind: 'reserved', remaining: [1, 1] },
    'the same call again',
  );
  const refused = await need(one, asked('2', 2n * USD));
  t.match(refused, { kind: 'over_budget', refusal: { need: b, leftPico: USD, reservedPico: 2n * USD } });
  t.same(
    await one.read(a),
    { spentPico: 0n, reservedPico: 2n * USD },
    'the other budget holds nothing of it',
  );
  t.same(await need(one, asked('3', USD)), { kind: 'reserved', remaining: [0, 0] }, 'nor do the limits');
  const busy = await need(one, asked('4', 0n));
  t.match(busy, { kind: 'over_budget' }, 'a budget that is reserved to the pico-dollar is used up');
});

withServer('two servers share limits, and places come back', async (t, server) => {
  const [one, two] = [await counters(t, server), await counters(t, server)];
  const limits = [parallel('key:a', 2), requests('key:a', 4)];
  t.match(await one.reserve(call('1', { limits })), { kind: 'reserved', remaining: [1, 3] });
  t.match(await two.reserve(call('2', { limits })), { kind: 'reserved', remaining: [0, 2] });
  const full = await one.reserve(call('3', { limits }));
  t.match(full, {
    kind: 'over_limit',
    refusal: { need: limits[0], waitMs: null, remaining: 0, left: [0, 2] },
  });
  two.release('2');
  two.release('2');
  await told(two);
  t.match(await one.reserve(call('4', { limits })), { kind: 'reserved', remaining: [0, 1] });
  settle(one, settled('1'));
  settle(one, settled('4'));
  await told(one);
  t.match(await two.reserve(call('5', { limits })), { kind: 'reserved', remaining: [1, 0] });
  const over = await two.reserve(call('6', { limits }));
  t.match(over, { kind: 'over_limit', refusal: { need: limits[1], remaining: 0, left: [1, 0] } });
  if (over.kind !== 'over_limit') return;
  const waitMs = over.refusal.waitMs ?? 0;
  t.ok(waitMs > 0 && waitMs <= 15_000, `one of four a minute is free again within 15 s: ${waitMs}`);
});

withServer('tokens are reserved by estimate and settled by the record', async (t, server) => {
  const one = await counters(t, server);
  const asked = (id: string, amount: number): ReservingCall =>
    call(id, { limits: [tokens('key:a', 1000, amount)] });
  t.match(await one.reserve(asked('1', 900)), { kind: 'reserved', remaining: [100] });
  t.match(await one.reserve(asked('2', 500)), { kind: 'over_limit', refusal: { remaining: Number } });
  settle(one, { requestId: '1', spent: [], tokens: 100 });
  await told(one);
  t.match(await one.reserve(asked('3', 500)), { kind: 'reserved' }, 'what was not used can be used');
  t.match(
    await one.reserve(asked('4', 1001)),
    { kind: 'over_limit', refusal: { waitMs: null, left: [Number] } },
    'it never fits',
  );
});

withServer(
  'calls of a conversation are counted by all servers, and what was undone is not',
  async (t, server) => {
    const [one, two] = [await counters(t, server), await counters(t, server)];
    const limits: readonly LimitNeed[] = [{ kind: 'calls', limit: 'key:a:conversation:s:calls', most: 3 }];
    t.match(await one.reserve(call('1', { limits })), { kind: 'reserved', remaining: [2] });
    t.match(await two.reserve(call('2', { limits })), { kind: 'reserved', remaining: [1] });
    t.match(await two.reserve(call('2', { limits })), { kind: 'reserved', remaining: [1] }, 'the same call');
    settle(one, settled('1'));
    await told(one);
    const cap = budget('key:full', 0n);
    await need(one, call('x', { budgets: [cap] }));
    t.match(await one.reserve(call('3', { budgets: [cap], limits })), { kind: 'over_budget' });
    t.match(
      await one.reserve(call('4', { limits })),
      { kind: 'reserved', remaining: [0] },
      'nothing gives one back',
    );
    const over = await two.reserve(call('5', { limits }));
    t.match(over, { kind: 'over_limit', refusal: { need: limits[0], waitMs: null, remaining: 0 } });
  },
);

withServer('servers whose clocks are five minutes apart', async (t, server) => {
  const one = await counters(t, server);
  const two = await counters(t, server, { mono: () => performance.now() + 300_000 });
  const asked = (id: string, windowStartMs: number): ReservingCall =>
    call(id, {
      budgets: [budget('key:a', 3n * USD, windowStartMs)],
      pico: 2n * USD,
      limits: [requests('key:a:rpm', 2)],
    });
  t.match(await need(one, asked('1', 0)), { kind: 'reserved', remaining: [1] });
  t.match(
    await need(two, asked('2', 300_000)),
    { kind: 'reserved', remaining: [0] },
    'the next window there',
  );
  t.match(await need(two, asked('3', 300_000)), { kind: 'over_budget' }, 'a window is one for all');
  t.match(await need(one, asked('4', 0)), { kind: 'over_budget' }, 'the one before is as full as it was');
  t.match(await need(one, call('5', { limits: [requests('key:a:rpm', 2)] })), { kind: 'over_limit' });
  settle(one, settled('1', [[{ budget: 'key:a', windowStartMs: 0 }, USD]]));
  await told(one);
  t.match(await need(one, asked('6', 0)), { kind: 'over_limit' }, 'the budget has room, the minute has none');
  t.match(await need(two, asked('7', 300_000)), { kind: 'over_budget' }, 'that changed nothing there');
});

withServer(
  'an outage is told as one; waiting for other servers and our own end are none',
  async (t, server) => {
    const lines: string[] = [];
    const told = (): (readonly [number, string])[] =>
      lines.map((line) => {
        const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string };
        return [level, msg] as const;
      });
    const waiting = [30, 'budgets and limits wait for the other servers to come'] as const;
    const shared = [30, 'budgets and limits are shared'] as const;
    const one = await counters(t, server, { servers: 2, lines });
    await until(() => lines.length > 0);
    t.same(told(), [waiting]);
    t.not(one.state.away, null, 'it counts alone meanwhile');
    const two = await counters(t, server, { servers: 2 });
    await until(() => one.state.away === null);
    t.same(told(), [waiting, shared]);
    const { connection } = one.link.state.is === 'shared' ? one.link.state : { connection: null };
    await two.close();
    await one.close();
    await connection?.ended;
    t.not(one.state.away, null);
    t.same(told(), [waiting, shared], 'a stop tells nothing');

    lines.length = 0;
    const three = await counters(t, server, { lines });
    await until(() => three.state.away === null);
    await server.kill();
    await until(() => three.state.away !== null);
    const [level, msg] = told().at(-1) ?? [];
    t.equal(level, 40);
    t.match(msg, /^the shared counters are away/);
  },
);

withServer('of 200 calls of four servers exactly those are let in that fit', async (t, server) => {
  const all = await Promise.all([1, 2, 3, 4].map(() => counters(t, server, { servers: 4 })));
  await until(() => all.every(({ state }) => state.away === null));
  const cap = budget('key:hot', 7n * USD + 1n);
  const needs = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      need(all[i % 4] as ValkeyCounters, call(`c${i}`, { budgets: [cap], pico: USD / 10n })),
    ),
  );
  t.equal(needs.filter(({ kind }) => kind === 'reserved').length, 70);
  t.same(await all[0]?.read(cap), { spentPico: 0n, reservedPico: 7n * USD });
});

withServer(
  'amounts are exact beyond what a double holds, as a book in memory counts them',
  async (t, server) => {
    const one = await counters(t, server);
    const random = seededRandom(7);
    const amount = (): bigint =>
      BigInt(Math.floor(random() * 2 ** 31)) ** 2n * BigInt(Math.floor(random() * 1e6)) + 1n;
    const book = new BudgetBook();
    const cap = budget('global', 10n ** 27n);
    const reservations = new Map<string, { release(): void }>();
    for (let i = 0; i < 300; i += 1) {
      const [id, pico] = [`c${i}`, amount()];
      const expected = book.reserve([cap], pico);
      const result = await need(one, call(id, { budgets: [cap], pico }));
      t.equal(result.kind === 'reserved', expected.ok, `${pico}`);
      if (expected.ok) reservations.set(id, expected.reservation);
      const ended = [...reservations.keys()].find(() => random() < 0.4);
      if (ended === undefined) continue;
      const cost = amount();
      reservations.get(ended)?.release();
      reservations.delete(ended);
      book.spend('global', 0, cost);
      settle(one, settled(ended, [[cap, cost]]));
      if (i % 50 === 0) await told(one);
    }
    await told(one);
    t.same(await one.read(cap), book.read('global', 0));
    t.ok(book.read('global', 0).spentPico > 2n ** 53n);
  },
);

withServer(
  'a record counts once: told twice, by two servers, after a release, without a reservation',
  async (t, server) => {
    const [one, two] = [await counters(t, server), await counters(t, server)];
    const cap = budget('key:a', 10n * USD);
    await need(one, call('1', { budgets: [cap], pico: 5n * USD }));
    one.release('1');
    for (const each of [one, two, one]) settle(each, settled('1', [[cap, 2n * USD]]));
    settle(two, settled('never reserved', [[cap, USD]]));
    settle(two, settled('never reserved', [[cap, USD]]));
    await Promise.all([told(one), told(two)]);
    t.same(await one.read(cap), { spentPico: 3n * USD, reservedPico: 0n });
  },
);

withServer(
  'the first sum counts, and what is settled meanwhile is neither lost nor counted twice',
  async (t, server) => {
    const [one, two] = [await counters(t, server), await counters(t, server)];
    const cap = budget('key:a', 10n * USD);
    t.match(await one.reserve(call('1', { budgets: [cap] })), { kind: 'unseeded', counters: [cap] });
    settle(two, settled('late', [[cap, USD]]));
    settle(two, settled('in the sum', [[cap, USD]]));
    await told(two);
    await one.seed(cap, 5n * USD, ['in the sum']);
    await two.seed(cap, 7n * USD);
    t.same(await two.read(cap), { spentPico: 6n * USD, reservedPico: 0n });
  },
);

withServer('what a call did cost is told when its row is in the journal', async (t, server) => {
  const [one, two] = [await counters(t, server), await counters(t, server)];
  const cap = budget('key:a', 10n * USD);
  await need(one, call('1', { budgets: [cap], pico: 5n * USD, limits: [parallel('key:a', 1)] }));
  one.settle(settled('1', [[cap, 2n * USD]]));
  await need(one, call('2', { budgets: [cap], pico: USD }));
  await told(one);
  t.same(
    await two.read(cap),
    { spentPico: 0n, reservedPico: 6n * USD },
    'until then it holds what it reserved',
  );
  one.release('1');
  await told(one);
  t.match(
    await two.reserve(call('3', { limits: [parallel('key:a', 1)] })),
    { kind: 'reserved' },
    'but no place',
  );
  await server.kill();
  await until(() => one.state.away !== null && two.state.away !== null);
  await server.start();
  await until(() => one.state.away === null && two.state.away === null);
  await two.seed(cap, 0n);
  t.same(await two.read(cap), { spentPico: 0n, reservedPico: 6n * USD }, 'also where counting begins anew');
  one.journaled('1');
  one.journaled('1');
  one.settle(settled('refused', [[cap, 0n]]));
  one.journaled('refused');
  await told(one);
  t.same(await two.read(cap), { spentPico: 2n * USD, reservedPico: USD });
});

withServer('a refusal prolongs nothing', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', USD);
  await need(one, call('1', { budgets: [cap], pico: USD }));
  const [key = ''] = (await server.ask('KEYS', '*:c:*')) as string[];
  await server.ask('PEXPIRE', key, '5000000');
  t.match(await need(one, call('2', { budgets: [cap], pico: USD })), { kind: 'over_budget' });
  t.ok(Number(await server.ask('PTTL', key)) <= 5_000_000);
});

withServer('what a generation leaves behind goes by itself', async (t, server) => {
  const one = await counters(t, server);
  const limits = [parallel('key:a', 2), requests('key:a', 4), tokens('key:a', 100, 10)];
  await need(one, call('1', { budgets: [budget('key:a', USD)], pico: 1n, limits }));
  const ttlOf = async (key: string): Promise<number> => Number(await server.ask('PTTL', key));
  const keys = (await server.ask('KEYS', '*')) as string[];
  const lasting: string[] = [];
  for (const key of keys) if ((await ttlOf(key)) === -1) lasting.push(key);
  t.ok(keys.length > 5);
  t.match(lasting, [/:g$/], 'the name of the generation alone');
  t.equal(lasting.length, 1);
  const reserved = keys.find((key) => key.includes(':o:')) ?? '';
  await server.ask('PERSIST', reserved);
  await need(one, call('2', { budgets: [budget('key:a', USD)], pico: 1n }));
  t.ok((await ttlOf(reserved)) > 0, 'also where no sign of life comes any more');
});

withServer('scripts that the server has forgotten are sent again', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', 3n * USD);
  await need(one, call('1', { budgets: [cap], pico: USD }));
  await server.ask('SCRIPT', 'FLUSH');
  t.match(await need(one, call('2', { budgets: [cap], pico: USD })), { kind: 'reserved' });
  await server.ask('SCRIPT', 'FLUSH');
  settle(one, settled('2', [[cap, USD]]));
  await told(one);
  t.same(await one.read(cap), { spentPico: USD, reservedPico: USD });
});

withServer('two versions of a script count in the same state', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', 3n * USD);
  await need(one, call('1', { budgets: [cap], pico: USD }));
  const other = await ValkeyConnection.open(server.settings);
  t.teardown(() => other.close());
  const [key = ''] = (await server.ask('KEYS', '*:g')) as string[];
  const generation = String(await server.ask('HGET', key, 'id'));
  const prefix = key.replace(/:g$/, `:${generation}:`);
  const asked = ['', '', 'newer', '2', 0, Number(2n * USD), 1, 'key:a@0', 0, Number(3n * USD), '', 0];
  const args = [generation, prefix, 'newer', '', JSON.stringify([asked])];
  const newer = script(`-- of a newer version\n${RESERVE_CALLS.source}`);
  t.equal(await other.run(newer, [key], args, 30_000), '["ok",0,["reserved"]]');
  t.match(await need(one, call('3', { budgets: [cap], pico: 1n })), { kind: 'over_budget' });
});

withServer(
  'after a restart without data, running calls still count and sums are read again',
  async (t, server) => {
    const one = await counters(t, server);
    const cap = budget('key:a', 10n * USD);
    await need(one, call('running', { budgets: [cap], pico: 4n * USD, limits: [parallel('key:a', 3)] }));
    await need(one, call('done', { budgets: [cap], pico: USD }));
    settle(one, settled('done', [[cap, USD]]));
    await told(one);
    await server.kill();
    await until(() => one.state.away !== null);
    await server.start();
    await until(() => one.state.away === null);
    const asked = call('next', { budgets: [cap], pico: 5n * USD, limits: [parallel('key:a', 3)] });
    t.match(
      await need(one, asked, () => USD),
      { kind: 'reserved', remaining: [1] },
      '1 spent, 4 and 5 reserved',
    );
    t.same(await one.read(cap), { spentPico: USD, reservedPico: 9n * USD });
    settle(one, settled('running', [[cap, 2n * USD]]));
    await told(one);
    t.same(await one.read(cap), { spentPico: 3n * USD, reservedPico: 5n * USD });
  },
);

withServer('data that is deleted under running servers is noticed by all of them', async (t, server) => {
  const [one, two] = [await counters(t, server, { servers: 2 }), await counters(t, server, { servers: 2 })];
  await until(() => one.state.away === null && two.state.away === null);
  const cap = budget('key:a', 10n * USD);
  await need(one, call('1', { budgets: [cap], pico: 4n * USD }));
  await need(two, call('2', { budgets: [cap], pico: 5n * USD }));
  await server.ask('FLUSHALL');
  await until(async () => ((await server.ask('KEYS', '*:c:*')) as string[]).length > 0);
  await until(() => one.state.away === null && two.state.away === null);
  await until(async () => {
    await one.seed(cap, 0n);
    return (await one.read(cap))?.reservedPico === 9n * USD;
  });
  t.match(await need(one, call('3', { budgets: [cap], pico: 2n * USD })), { kind: 'over_budget' });
});

withServer('an old snapshot is not believed', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', 10n * USD);
  await need(one, call('1', { budgets: [cap], pico: USD }));
  await server.ask('SAVE');
  settle(one, settled('1', [[cap, 9n * USD]]));
  await told(one);
  await server.kill();
  await until(() => one.state.away !== null); // before the start: on a busy machine it is back before anybody looks
  await server.start();
  t.equal((await server.ask('DBSIZE').then(Number)) > 0, true, 'the old data is there');
  await until(() => one.state.away === null);
  const result = await need(one, call('2', { budgets: [cap], pico: 2n * USD }), () => 9n * USD);
  t.match(result, { kind: 'over_budget', refusal: { spentPico: 9n * USD, reservedPico: 0n } });
});

withServer('a server that is killed while a call waits for it', async (t, server) => {
  const one = await counters(t, server);
  const limits = [requests('key:a', 4)];
  server.pause();
  const waiting = one.reserve(call('1', { limits }));
  await server.kill();
  t.match(await waiting, { kind: 'reserved' }, 'decided by this server alone');
  await server.start();
  await until(() => one.state.away === null);
  t.match(await one.reserve(call('2', { limits })), { kind: 'reserved' });
});

withServer(
  'a slow server holds a call for a stated time once, and what it does later is undone',
  async (t, server) => {
    const one = await counters(t, server, { times: { answerMs: SHORT_MS } });
    const cap = budget('key:a', 10n * USD);
    await until(
      async () => (await need(one, call('0', { budgets: [cap], pico: USD }))) && one.state.away === null,
    );
    settle(one, settled('0', [[cap, 0n]]));
    await told(one);
    server.pause();
    t.match(await need(one, call('1', { budgets: [cap], pico: 9n * USD })), { kind: 'reserved' });
    t.not(one.state.away, null, 'the next call does not wait at all');
    settle(one, settled('1', [[cap, 2n * USD]]));
    server.go();
    // An answer may be late again, as long as the machine is busy.
    await until(async () => {
      await told(one);
      const read = await one.read(cap);
      return read?.spentPico === 2n * USD && read.reservedPico === 0n;
    });
  },
);

withServer('while it is away, each of four servers lets in a quarter of what is left', async (t, server) => {
  const one = await counters(t, server, { servers: 4 });
  await server.kill();
  await until(() => one.state.away !== null);
  const cap = budget('key:a', 10n * USD);
  const sum = (): bigint => 2n * USD;
  const asked = (id: string, pico: bigint): ReservingCall => call(id, { budgets: [cap], pico });
  t.match(await need(one, asked('1', 2n * USD), sum), { kind: 'reserved' });
  t.match(await need(one, asked('2', 1n), sum), { kind: 'over_budget', refusal: { need: cap } });
  const limits = [requests('key:b', 8), parallel('key:b', 2)];
  t.match(await one.reserve(call('3', { limits })), { kind: 'reserved', remaining: [1, 0] });
  t.match(await one.reserve(call('4', { limits })), { kind: 'over_limit', refusal: { need: limits[1] } });
});

withServer(
  'a server knows how many others counted with it when the counters went away',
  async (t, server) => {
    const one = await counters(t, server);
    const two = await counters(t, server);
    await until(() => one.state.servers === 2 && two.state.servers === 2);
    await server.kill();
    await until(() => one.state.away !== null);
    const limits = [requests('key:b', 8)];
    t.match(await one.reserve(call('1', { limits })), { kind: 'reserved', remaining: [3] });
  },
);

withServer('what was let in alone counts when the counters are back', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', 10n * USD);
  await need(one, call('0', { budgets: [cap], pico: 0n }));
  await server.kill();
  await until(() => one.state.away !== null);
  await need(one, call('1', { budgets: [cap], pico: 3n * USD }));
  await need(one, call('2', { budgets: [cap], pico: 3n * USD }));
  settle(one, settled('1', [[cap, USD]]));
  await server.start();
  await told(one);
  await one.seed(cap, USD, ['1']);
  t.same(await one.read(cap), { spentPico: USD, reservedPico: 3n * USD });
  settle(one, settled('2', [[cap, USD]]));
  await told(one);
  t.same(await one.read(cap), { spentPico: 2n * USD, reservedPico: 0n });
});

withServer(
  'where the configuration says so, calls with limits are refused while it is away',
  async (t, server) => {
    const settings = { failClosed: { limits: true, budgets: false } };
    const one = await counters(t, server, { settings });
    await server.kill();
    await until(() => one.state.away !== null);
    await t.rejects(one.reserve(call('1', { limits: [requests('key:a', 8)] })), CountersUnavailable);
    t.match(await need(one, call('2', { budgets: [budget('key:a', USD)] })), { kind: 'reserved' });
  },
);

withServer(
  'a server that throws keys away when it is full is not used',
  async (t, server) => {
    const one = await counters(t, server);
    t.match(one.state.away, /maxmemory-policy is allkeys-lru, not noeviction/);
    await server.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await until(() => one.state.away === null);
    await server.ask('CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl');
    await until(() => /maxmemory-policy is volatile-ttl/.test(one.state.away ?? ''));
  },
  ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
);

withServer(
  'a password is presented, and a wrong one said',
  async (t, server) => {
    const right = await counters(t, server);
    t.equal(right.state.away, null);
    const wrong = await counters(t, server, { settings: { password: null } });
    t.match(wrong.state.away, /NOAUTH/);
  },
  ['--requirepass', 'a password'],
);

withServer('installations with names of their own do not meet', async (t, server) => {
  const one = await counters(t, server);
  const two = await counters(t, server, { settings: { namespace: 'other' } });
  const limits = [parallel('key:a', 1)];
  t.match(await one.reserve(call('1', { limits })), { kind: 'reserved' });
  t.match(await two.reserve(call('1', { limits })), { kind: 'reserved' });
});

withServer(
  'places of a server that is gone are free when their lease ends; its money waits for the records',
  async (t, server) => {
    const gone = await counters(t, server);
    const cap = budget('key:a', 10n * USD);
    for (const id of ['recorded', 'lost'])
      await need(gone, call(id, { budgets: [cap], pico: 3n * USD, limits: [parallel('key:a', 2)] }));
    await gone.close();
    const other = await counters(t, server, {
      recordsOf: async (ids) =>
        ids.filter((id) => id === 'recorded').map((requestId) => ({ requestId, pico: USD, tokens: null })),
    });
    const limits = [parallel('key:a', 2)];
    t.match(await other.reserve(call('1', { limits })), { kind: 'over_limit' });
    // Half a minute later, as the server's clock would have it.
    const [places = ''] = (await server.ask('KEYS', '*:p:*')) as string[];
    for (const id of ['recorded', 'lost']) await server.ask('ZADD', places, 'XX', '1', id);
    await silence(server, 60_000);
    t.match(await other.reserve(call('2', { limits })), { kind: 'reserved', remaining: [1] });
    await until(async () => (await other.read(cap))?.spentPico === USD);
    t.same(await other.read(cap), { spentPico: USD, reservedPico: 3n * USD }, 'no record: it stays reserved');
  },
);

/** The server without a sign of life for the longest time had its last one so long ago, as Valkey's clock would have it. */
async function silence(server: ValkeyServer, ms: number): Promise<void> {
  const [servers = ''] = (await server.ask('KEYS', '*:servers')) as string[];
  const [first = ''] = (await server.ask('ZRANGE', servers, '0', '0')) as string[];
  await server.ask('ZADD', servers, 'XX', String(Date.now() - ms), first);
}

withServer('what a killed process had reserved is undone by who knows its journal', async (t, server) => {
  const gone = await counters(t, server, { journals: ['j1'] });
  const cap = budget('key:a', 10n * USD);
  for (const id of ['begun', 'not begun'])
    await need(gone, call(id, { budgets: [cap], pico: 3n * USD, limits: [requests('key:a', 60)] }));
  await gone.close();
  const asked: string[] = [];
  const begun = (ids: readonly string[]): readonly RecordedCall[] =>
    ids.filter((id) => id === 'begun').map((requestId) => ({ requestId, pico: USD, tokens: null }));
  const other = await counters(t, server, {
    journals: ['j2'],
    recordsOf: async (ids) => (asked.push(...ids), []),
  });
  await silence(server, 60_000);
  await until(() => asked.includes('begun') && asked.includes('not begun'));
  await told(other);
  t.same(await other.read(cap), { spentPico: 0n, reservedPico: 6n * USD }, 'another one undoes nothing');

  let failures = 0;
  const next = await counters(t, server, {
    journals: ['j0', 'j1'],
    recordsOf: async (ids) => {
      failures += 1;
      if (failures < 3) throw new Error('the store is away');
      return begun(ids);
    },
  });
  await until(async () => (await next.read(cap))?.reservedPico === 0n);
  t.same(await next.read(cap), { spentPico: USD, reservedPico: 0n });
  t.ok(failures >= 3, 'nothing is undone while the store cannot say');
  // What the killed process had sent comes as late as that.
  const late = await counters(t, server);
  await late.reserve(call('not begun', { budgets: [cap], pico: USD }));
  t.same(await late.read(cap), { spentPico: USD, reservedPico: 0n }, 'it reserves nothing there');
});

withServer('calls whose journal does not come back are given up after three days', async (t, server) => {
  const gone = await counters(t, server, { journals: ['j1'] });
  const cap = budget('key:a', 10n * USD);
  await need(gone, call('lost', { budgets: [cap], pico: 3n * USD }));
  await gone.close();
  const other = await counters(t, server, { journals: ['j2'], recordsOf: async () => [] });
  await silence(server, 3 * 86_400_000 + 60_000);
  await until(async () => (await other.read(cap))?.reservedPico === 0n);
  t.same(await other.read(cap), { spentPico: 0n, reservedPico: 0n });

  // It comes back after all: everybody reads the sums anew, with its rows in them.
  await counters(t, server, { journals: ['j1'], journalAgeMs: 4 * 86_400_000 });
  await until(async () => (await other.reserve(call('1', { budgets: [cap] }))).kind === 'unseeded');
});

withServer('while it is away, all that nobody knows is asked for at once', async (t, server) => {
  const one = await counters(t, server);
  await server.kill();
  await until(() => one.state.away !== null);
  const caps = [budget('key:a', USD), budget('team:a', USD), budget('user:a', USD)];
  const asked = call('1', { budgets: caps, pico: 1n });
  const result = await one.reserve(asked);
  t.match(result, { kind: 'unseeded' });
  t.same(
    result.kind === 'unseeded' && result.counters.map((counter) => counter.budget),
    caps.map((cap) => cap.budget),
  );
  t.match(await need(one, asked), { kind: 'reserved' });
});

withServer(
  'nobody is let in before every server that counted there has said what it holds',
  async (t, server) => {
    const one = await counters(t, server);
    const held = Promise.withResolvers<void>();
    const two = await counters(t, server, { pause: () => held.promise });
    await until(() => one.state.servers === 2 && two.state.servers === 2);
    const cap = budget('key:a', 10n * USD);
    await need(two, call('2', { budgets: [cap], pico: 8n * USD }));
    await server.kill();
    await until(() => one.state.away !== null && two.state.away !== null);
    await server.start();
    // Its sign of life is there, and it goes on to wait: the other one has not come back yet.
    await until(async () => ((await server.ask('KEYS', '*:servers')) as string[]).length > 0);
    t.not(one.state.away, null);
    held.resolve();
    await until(() => one.state.away === null);
    await one.seed(cap, 0n);
    t.same(await one.read(cap), { spentPico: 0n, reservedPico: 8n * USD });
  },
);

withServer(
  'a call that waited too long for the counters is counted there when they answer again',
  async (t, server) => {
    const one = await counters(t, server, { times: { answerMs: SHORT_MS } });
    const cap = budget('key:a', 10n * USD);
    await until(async () => (await need(one, call('0', { budgets: [cap] }))) && one.state.away === null);
    server.pause();
    t.match(await need(one, call('1', { budgets: [cap], pico: 9n * USD, limits: [parallel('key:a', 1)] })), {
      kind: 'reserved',
    });
    t.not(one.state.away, null);
    server.go();
    // An answer may be late again, as long as the machine is busy.
    await until(async () => {
      await told(one);
      return (await one.read(cap))?.reservedPico === 9n * USD;
    });
    t.match(await one.reserve(call('2', { limits: [parallel('key:a', 1)] })), { kind: 'over_limit' });
  },
);

withServer(
  'a call that was under way when the server ended is counted by the next one',
  async (t, server) => {
    const one = await counters(t, server);
    const cap = budget('key:a', 10n * USD);
    await need(one, call('0', { budgets: [cap] }));
    server.pause();
    const asked = need(one, call('1', { budgets: [cap], pico: 9n * USD, limits: [parallel('key:a', 1)] }));
    await server.kill();
    t.match(await asked, { kind: 'reserved' });
    await server.start();
    await told(one);
    await one.seed(cap, 0n);
    t.match(await one.read(cap), { reservedPico: 9n * USD });
    t.match(await one.reserve(call('2', { limits: [parallel('key:a', 1)] })), { kind: 'over_limit' });
  },
);

withServer('a call let in while the counters are told what they missed is counted', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', 100n * USD);
  await need(one, call('0', { budgets: [cap] }));
  await server.kill();
  await until(() => one.state.away !== null);
  for (let i = 0; i < 20_000; i += 1) settle(one, settled(`s${i}`, [[cap, 1n]]));
  const waiting = one.state.pending;
  await need(one, call('1', { budgets: [cap], pico: 3n * USD }));
  await server.start();
  while (one.state.pending === waiting) await new Promise(setImmediate);
  t.not(one.state.away, null);
  await need(one, call('2', { budgets: [cap], pico: 4n * USD }));
  await told(one);
  await one.seed(cap, 0n);
  t.match(await one.read(cap), { reservedPico: 7n * USD });
});

withServer(
  'where too much was to be told, all is counted anew, also over the same connection',
  async (t, server) => {
    const one = await counters(t, server);
    const cap = budget('key:a', 10n * USD);
    await need(one, call('1', { budgets: [cap], pico: 9n * USD }));
    await server.ask('CONFIG', 'SET', 'maxmemory', '1');
    await until(() => one.state.away !== null);
    t.match(one.state.away, /OOM/);
    settle(one, settled('1', [[cap, 7n * USD]]));
    for (let i = 0; i < 200_000; i += 1) settle(one, settled(`s${i}`, [[cap, 1n]]));
    await server.ask('CONFIG', 'SET', 'maxmemory', '0');
    await told(one);
    const result = await need(one, call('2', { budgets: [cap], pico: 1n }), () => 8n * USD);
    t.match(result, { kind: 'reserved' });
    t.same(await one.read(cap), { spentPico: 8n * USD, reservedPico: 1n });
  },
);
withServer(
  'a server that takes connections and says nothing holds up no start, and is found when it answers',
  async (t, server) => {
    server.pause();
    const one = await counters(t, server, { times: { stuckMs: SHORT_MS } });
    t.match(one.state.away, `no answer within ${SHORT_MS} ms`);
    server.go();
    await until(() => one.state.away === null);
  },
);

withServer(
  'sums that were read without the rows of a server are read again when it has stored them',
  async (t, server) => {
    let isStored = false;
    const stored = async (): Promise<void> => {
      if (!isStored) throw new Error('the store is away');
    };
    const one = await counters(t, server);
    await counters(t, server, { stored });
    await server.kill();
    await until(() => one.state.away !== null);
    await server.start();
    await told(one);
    const cap = budget('key:a', 10n * USD);
    const sum = (): bigint => (isStored ? 9n * USD : 0n);
    t.match(await need(one, call('1', { budgets: [cap], pico: USD }), sum), { kind: 'reserved' });
    settle(one, settled('1', [[cap, USD]]));
    isStored = true;
    await until(async () => (await one.read(cap)) === null);
    await told(one);
    t.match(await need(one, call('2', { budgets: [cap], pico: 2n * USD }), sum), { kind: 'over_budget' });
  },
);

withServer(
  'a server that is lost again while rows are stored is joined when it is back',
  async (t, server) => {
    let asked = 0;
    const gate = Promise.withResolvers<void>();
    const stored = async (): Promise<void> => {
      asked += 1;
      if (asked > 1) await gate.promise;
    };
    const one = await counters(t, server, { stored });
    await server.ask('FLUSHALL'); // another generation begins over the same connection
    await until(() => asked === 2);
    await server.kill();
    await until(() => one.state.away !== null);
    await server.start();
    const isAsked = /name=throughline.*cmd=info/;
    await until(async () => isAsked.test(String(await server.ask('CLIENT', 'LIST'))));
    await server.ask('PING'); // it has its answer
    gate.resolve();
    await told(one);
    t.match(await one.reserve(call('1', { limits: [requests('key:a', 2)] })), { kind: 'reserved' });
  },
);

withServer('who is slow now and then gives nobody a limit anew each time', async (t, server) => {
  const one = await counters(t, server, { times: { answerMs: SHORT_MS }, mono: () => 1000 });
  const limits = [requests('key:a', 2)];
  const away = async (): Promise<void> => {
    await told(one);
    server.pause();
    await one.reserve(call(randomUUID()));
    t.not(one.state.away, null);
  };
  await away();
  t.match(await one.reserve(call('1', { limits })), { kind: 'reserved', remaining: [1] });
  t.match(await one.reserve(call('2', { limits })), { kind: 'reserved', remaining: [0] });
  server.go();
  await away();
  t.match(await one.reserve(call('3', { limits })), { kind: 'over_limit' });
  server.go();
});

withServer('calls that run when the counters go away hold their places', async (t, server) => {
  const one = await counters(t, server);
  const limits = [parallel('key:a', 2)];
  t.match(await one.reserve(call('1', { limits })), { kind: 'reserved', remaining: [1] });
  await server.kill();
  await until(() => one.state.away !== null);
  t.match(await one.reserve(call('2', { limits })), { kind: 'reserved', remaining: [0] });
  t.match(await one.reserve(call('3', { limits })), { kind: 'over_limit' });
  await server.start();
  await told(one);
  t.match(await one.reserve(call('4', { limits })), { kind: 'over_limit' });
  await server.kill();
  await until(() => one.state.away !== null);
  t.match(await one.reserve(call('5', { limits })), { kind: 'over_limit' }, 'also what was let in alone');
  one.release('1');
  t.match(await one.reserve(call('6', { limits })), { kind: 'reserved', remaining: [0] });
});

withServer(
  'what was let in the last time that they were away costs when it ends the next time',
  async (t, server) => {
    const one = await counters(t, server);
    const cap = budget('key:a', 10n * USD);
    const away = async (): Promise<void> => {
      await server.kill();
      await until(() => one.state.away !== null);
    };
    await away();
    await need(one, call('1', { budgets: [cap], pico: 6n * USD }));
    await server.start();
    await told(one);
    await away();
    await need(one, call('2', { budgets: [cap], pico: USD }));
    settle(one, settled('1', [[cap, 6n * USD]]));
    const asked = call('3', { budgets: [cap], pico: 4n * USD });
    t.match(await need(one, asked), { kind: 'over_budget', refusal: { spentPico: 6n * USD } });
  },
);

withServer('places that were lost while the server was cut off are taken again', async (t, server) => {
  const one = await counters(t, server);
  const limits = [parallel('key:a', 2)];
  await one.reserve(call('1', { limits }));
  const [places = ''] = (await server.ask('KEYS', '*:p:*')) as string[];
  await server.ask('ZREM', places, '1'); // its lease is over
  await server.ask('CLIENT', 'KILL', 'TYPE', 'normal');
  await until(async () => Number(await server.ask('ZCARD', places)) === 1);
  await told(one);
  t.match(await one.reserve(call('2', { limits })), { kind: 'reserved', remaining: [0] });
});

withServer('a clock that is set back refuses nobody for as long', async (t, server) => {
  const one = await counters(t, server);
  const limits = [requests('key:a', 6)];
  await one.reserve(call('1', { limits }));
  // As if all this had been written an hour later.
  const [bucket = ''] = (await server.ask('KEYS', '*:r:*')) as string[];
  await server.ask('SET', bucket, String((Date.now() + 3_600_000) * 1000), 'PX', '3600000');
  const [servers = ''] = (await server.ask('KEYS', '*:servers')) as string[];
  await server.ask('ZADD', servers, String(Date.now() + 3_600_000), one.server);
  await until(async () => (await one.reserve(call(randomUUID(), { limits }))).kind === 'reserved');
});

withServer(
  'behind one address, another server is found when this one may not be written to',
  async (t, first) => {
    const second = await ownValkey(t);
    if (second === null) return;
    let to = first.port;
    const address = createServer((client) => {
      const server = connect(to, '127.0.0.1');
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const)
        one
          .on('error', () => undefined)
          .pipe(other)
          .on('close', () => one.destroy());
    });
    address.listen(0, '127.0.0.1');
    await once(address, 'listening');
    t.teardown(() => address.close());
    const { port } = address.address() as AddressInfo;
    const one = await counters(t, first, { settings: { port } });
    t.equal(one.state.away, null);
    to = second.port;
    await first.ask('CONFIG', 'SET', 'min-replicas-to-write', '1'); // cut off from the others, it takes nothing
    await until(async () => Number(await second.ask('DBSIZE')) > 0);
    await told(one);
    t.match(await one.reserve(call('1', { limits: [parallel('key:a', 1)] })), { kind: 'reserved' });
    t.match(await second.ask('KEYS', '*:p:*'), [/key:a/]);
  },
);

withServer(
  'a cost that nobody was told is in the sums of a generation that begins after it',
  async (t, server) => {
    const one = await counters(t, server);
    const cap = budget('key:a', 10n * USD);
    await need(one, call('1', { budgets: [cap], pico: 3n * USD }));
    await server.kill();
    await until(() => one.state.away !== null);
    settle(one, settled('1', [[cap, USD]]));
    await server.start();
    await told(one);
    await one.seed(cap, USD, []);
    t.same(await one.read(cap), { spentPico: USD, reservedPico: 0n });
    settle(one, settled('1', [[cap, USD]]));
    await told(one);
    t.same(await one.read(cap), { spentPico: USD, reservedPico: 0n }, 'told again, it changes nothing');
  },
);

withServer(
  'of calls that others have ended, those with a row are in the sum that is read next',
  async (t, server) => {
    const recordsOf = async (ids: readonly string[]): Promise<readonly RecordedCall[]> =>
      ids.filter((id) => id !== 'not stored').map((requestId) => ({ requestId, pico: USD, tokens: null }));
    const [one, two] = [await counters(t, server, { recordsOf }), await counters(t, server)];
    const cap = budget('key:a', 10n * USD);
    for (const id of ['stored', 'not stored']) settle(two, settled(id, [[cap, USD]]));
    await told(two);
    one.settle(settled('own', [[cap, USD]]));
    const { generation, counted } = await one.beginSums([cap]);
    one.journaled('own');
    t.same(counted, [['own', 'stored']]);
    await one.seed(cap, 2n * USD, counted[0], { generation, laterPico: () => 0n });
    await told(one);
    t.same(await two.read(cap), { spentPico: 3n * USD, reservedPico: 0n });
  },
);

withServer('a sum that was read for the generation before begins no counter', async (t, server) => {
  const one = await counters(t, server);
  const cap = budget('key:a', 10n * USD);
  const { generation } = await one.beginSums([cap]);
  await server.ask('FLUSHALL');
  await until(async () => (await one.beginSums([cap])).generation !== generation && one.state.away === null);
  await one.seed(cap, 2n * USD, [], { generation, laterPico: () => 0n });
  t.equal(await one.read(cap), null);
});

withServer(
  'where a server comes too late with what it counted, all sums are read anew',
  async (t, server) => {
    const one = await counters(t, server, { times: WITHOUT_BEATS });
    const cap = budget('key:a', 10n * USD);
    await need(one, call('1', { budgets: [cap], pico: USD }));
    const [key = ''] = (await server.ask('KEYS', '*:g')) as string[];
    // Others began another generation and opened it.
    await server.ask('HSET', key, 'id', 'newer', 'open', '1');
    settle(one, settled('1', [[cap, USD]]));
    await untilJoined(one, async () => String(await server.ask('HGET', key, 'id')) !== 'newer');
    await told(one);
    t.equal(await one.read(cap), null, 'whoever asks for it reads its sum');
  },
);

withServer(
  'what a server ended when the others could not know is taken from its own share, whole',
  async (t, server) => {
    const one = await counters(t, server, { servers: 2 });
    await until(() => one.state.away === null);
    const cap = budget('key:a', 10n * USD);
    await need(one, call('1', { budgets: [cap], pico: 4n * USD }));
    await server.kill();
    await until(() => one.state.away !== null);
    settle(one, settled('1', [[cap, 4n * USD]]));
    const asked = (id: string, pico: bigint): ReservingCall => call(id, { budgets: [cap], pico });
    const sum = (): bigint => 4n * USD;
    t.match(
      await need(one, asked('2', 2n * USD), sum),
      { kind: 'over_budget' },
      'five are its half, four spent',
    );
    t.match(await need(one, asked('3', USD), sum), { kind: 'reserved' });
  },
);

withServer(
  'a call that ends while the sum for a server on its own is read is not left out',
  async (t, server) => {
    const one = await counters(t, server);
    await server.kill();
    await until(() => one.state.away !== null);
    const cap = budget('key:a', 10n * USD);
    await one.seed(cap, USD, [], { generation: null, laterPico: () => 2n * USD });
    t.same(await one.read(cap), { spentPico: 3n * USD, reservedPico: 0n });
  },
);

/** Others have begun this generation. */
async function putInForce(server: ValkeyServer, id: string, isOpen: boolean): Promise<string> {
  const [key = ''] = (await server.ask('KEYS', '*:g')) as string[];
  await server.ask('HSET', key, 'id', id);
  await (isOpen ? server.ask('HSET', key, 'open', '1') : server.ask('HDEL', key, 'open'));
  return key;
}

withServer(
  'a server that comes too late twice within a minute has all sums read anew when it is over',
  async (t, server) => {
    let nowMs = 1_000_000;
    const one = await counters(t, server, { mono: () => nowMs, times: WITHOUT_BEATS });
    const cap = budget('key:a', 10n * USD);
    const inForce = async (): Promise<string> => String(await server.ask('HGET', key, 'id'));
    const key = await putInForce(server, 'late once', true);
    settle(one, settled('1', [[cap, USD]]));
    await untilJoined(one, async () => (await inForce()) !== 'late once');
    await told(one);
    await putInForce(server, 'late twice', true);
    settle(one, settled('2', [[cap, USD]]));
    await until(() => one.state.pending === 0);
    await told(one);
    await one.link.rejoin();
    t.equal(await inForce(), 'late twice');
    nowMs += 60_000;
    await untilJoined(one, async () => (await inForce()) !== 'late twice');
    await told(one);
    t.equal(await one.read(cap), null, 'whoever asks for it reads its sum');
  },
);

withServer(
  'what ends while a new generation waits for other servers is in the sums that they read',
  async (t, server) => {
    let stored = 0;
    const one = await counters(t, server, { servers: 2, stored: async () => void (stored += 1) });
    const [key = ''] = (await server.ask('KEYS', '*:g')) as string[];
    await server.ask('HINCRBY', key, 'since', '600000'); // it waits for as long as this test takes
    t.not(one.state.away, null, 'the other one has not come');
    const cap = budget('key:a', 10n * USD);
    const before = stored;
    settle(one, settled('1', [[cap, USD]]));
    await until(() => stored > before);
    const two = await counters(t, server, { servers: 2 });
    await told(two);
    await two.seed(cap, USD, []);
    await told(one);
    t.same(await two.read(cap), { spentPico: USD, reservedPico: 0n });
  },
);

withServer('a sum begins nothing where it is not known which calls it holds', async (t, server) => {
  const one = await counters(t, server, { times: { answerMs: SHORT_MS } });
  const cap = budget('key:a', 10n * USD);
  settle(one, settled('1', [[cap, USD]]));
  await told(one);
  server.pause();
  const { generation, counted } = await one.beginSums([cap]);
  server.go();
  await told(one);
  await one.seed(cap, USD, counted[0], { generation, laterPico: () => 0n });
  t.equal(await one.read(cap), null);
});

withServer(
  'of several servers that want one generation ended, the first begins another',
  async (t, server) => {
    const [one, two] = [await counters(t, server), await counters(t, server)];
    const inForce = async (): Promise<string> => String(await server.ask('HGET', key, 'id'));
    const [key = ''] = (await server.ask('KEYS', '*:g')) as string[];
    const wrong = await inForce();
    for (const { link } of [one, two]) {
      link.renew(wrong);
      await link.rejoin();
    }
    await Promise.all([told(one), told(two)]);
    const next = await inForce();
    t.not(next, wrong);
    two.link.renew(wrong);
    await two.link.rejoin();
    t.equal(await inForce(), next);
    two.link.renew();
    await two.link.rejoin();
    t.not(await inForce(), next, 'where any may be wrong, it is ended');
  },
);

withServer(
  'a generation that comes while a server registers in the one before is not ended',
  async (t, server) => {
    let replace: (() => Promise<unknown>) | null = null;
    const stored = async (): Promise<void> => {
      const once = replace;
      replace = null;
      await once?.();
    };
    const one = await counters(t, server, { stored, times: WITHOUT_BEATS });
    const cap = budget('key:a', 10n * USD);
    replace = () => putInForce(server, 'newest', false);
    const key = await putInForce(server, 'newer', true);
    settle(one, settled('1', [[cap, USD]]));
    await until(() => replace === null);
    await told(one);
    await one.link.rejoin();
    t.equal(await server.ask('HGET', key, 'id'), 'newest');
    await one.seed(cap, USD, []);
    t.same(await one.read(cap), { spentPico: USD, reservedPico: 0n }, 'its sums hold what has ended');
  },
);
