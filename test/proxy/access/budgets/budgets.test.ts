// Budgets over a real ledger: whatever happens in whatever order, counters are what the rows add up to, also of counters that
// begin while records are settled, after windows have rolled over and after a start.
import { randomUUID } from 'node:crypto';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import type { Test } from 'tap';
import type { AccessEvent } from '../../../../proxy/access/events.ts';
import type { BudgetNeed } from '../../../../proxy/access/budgets/budget-book.ts';
import { Budgets } from '../../../../proxy/access/budgets/budgets.ts';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { blankKey, blankTeam } from '../../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';
import { NO_BUDGET, type BudgetTerms } from '../../../../proxy/access/objects/objects.ts';
import type { BudgetRule } from '../../../../config/budget-settings.ts';
import { ValkeyCounters } from '../../../../proxy/access/valkey/valkey-counters.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import { openLedger, type Ledger } from '../../../../proxy/spend/ledger.ts';
import type { SpendBegin, SpendRecord } from '../../../../proxy/spend/record/record.ts';
import { beginOf, settleOf } from '../../spend/record/fixture/records.ts';
import { tempDir } from '../../spend/store/fixture/temp-dir.ts';
import { ManualClock } from '../../../support/clock.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { ownValkey, type ValkeyServer } from '../../../support/valkey.ts';

const START_MS = Date.parse('2026-03-29T20:00:00Z'); // the night in which clocks in Berlin were put forward is behind
const capped = (more: Partial<BudgetTerms>): BudgetTerms => ({ ...NO_BUDGET, ...more });
const rule = (scope: BudgetRule['scope'], id: string, budgetDuration: string | null): BudgetRule => ({
  scope,
  id,
  maxBudget: 1_000,
  softBudget: null,
  budgetDuration,
});

const RULES = [
  rule('proxy', '', '1h'),
  rule('tag', '*', '1d'),
  rule('model', 'smart', null),
  rule('deployment', 'd1', '6h'),
  rule('conversation', '*', null),
  rule('end_user', '*', '30m'),
];

interface Bench {
  readonly budgets: Budgets;
  readonly counters: LocalCounters;
  readonly ledger: Ledger;
  readonly directory: AccessDirectory;
}

async function open(t: Test, dataDir: string, clock: ManualClock): Promise<Bench> {
  const settings = { fsyncIntervalMs: 50, segmentBytes: 1 << 20, whenUnwritable: 'block' } as const;
  const ledger = await openLedger({ dataDir, settings, saltKey: null, clock });
  t.teardown(() => ledger.close(10_000));
  const directory = new AccessDirectory();
  directory.put({
    ...blankKey('k1', 'aaaa', 1),
    former: [{ id: 'k0', untilMs: 1 }],
    organizationId: 'org',
    budget: capped({
      maxBudget: 1_000,
      budgetDuration: '1d',
      budgetLimits: [{ maxBudget: 900, budgetDuration: '90m' }],
      modelMaxBudget: { 'sm*': { maxBudget: 500, budgetDuration: '1mo' } },
    }),
  });
  directory.put({ ...blankKey('k2', 'bbbb', 1), budget: capped({ maxBudget: 1_000, budgetDuration: '1d' }) });
  directory.put({ ...blankTeam('red', 1), organizationId: 'org', budget: capped({ maxBudget: 1_000 }) });
  const counters = new LocalCounters(clock.mono);
  const budgets = new Budgets(
    {
      budgets: {
        rules: RULES,
        timeZone: 'Europe/Berlin',
        resetMinute: 90,
        exceededStatus: 422,
        reservation: 'strict',
        allowUnverified: false,
        metricsLimit: 20,
        userBudgetsOnTeamKeys: true,
      },
      routing: { aliases: new Map([['clever', 'smart']]) },
      deployments: [],
    },
    { ledger, counters, directory, clock, events: { emit: () => undefined } },
  );
  return { budgets, counters, ledger, directory };
}

/** All counters against the rows, summed as a fresh process would. */
async function agree(t: Test, { budgets }: Bench, because: string): Promise<number> {
  let count = 0;
  for await (const { cap, window, state } of budgets.states()) {
    const [sum] = await budgets.sums([{ cap, windowStartMs: window.startMs }]);
    t.equal(state.spentPico, sum, `${because}: ${cap.counter}`);
    count += 1;
  }
  return count;
}

t.test('for metrics only caps that are wanted are looked up again', async (t) => {
  const { budgets, directory } = await open(t, tempDir(t), new ManualClock(START_MS));
  const nowMs = START_MS;
  const begin = beginOf('r1', {
    startMs: nowMs,
    apiKeyHash: 'k1',
    teamId: 'red',
    endUser: 'e1',
    tags: ['x'],
  });
  const needs = budgets.needsOf(budgets.capsFor(begin), nowMs);
  await budgets.seed(needs);
  let asked = 0;
  const key = directory.key.bind(directory);
  directory.key = (id) => ((asked += 1), key(id));
  for await (const { cap } of budgets.states(({ scope }) => scope.kind === 'end_user'))
    t.equal(cap.scope.id, 'e1');
  t.equal(asked, 0);
});

t.test('a long random run', async (t) => {
  const clock = new ManualClock(START_MS);
  const dataDir = tempDir(t);
  const random = seededRandom(41);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const rows: SpendRecord[] = [];
  let bench = await open(t, dataDir, clock);
  const running: { readonly id: string; readonly record: SpendRecord; readonly reserved: bigint }[] = [];
  const settle = (): void => {
    const [one] = running.splice(Math.floor(random() * running.length), 1);
    if (one === undefined) return;
    rows.push(one.record);
    void bench.ledger.settle(one.record);
    bench.budgets.settle(one.record);
    if (random() < 0.1) bench.budgets.settle(one.record); // a repeated one changes nothing
  };
  for (let i = 0; i < 1_500; i += 1) {
    const begin = beginOf(`r${i}`, {
      startMs: clock.now(),
      apiKeyHash: pick(['k0', 'k1', 'k2']),
      teamId: pick(['red', 'blue', null]),
      userId: pick(['ann', null]),
      endUser: pick(['e1', 'e2', null]),
      tags: pick([[], ['x'], ['x', 'y']]),
      modelGroup: pick(['smart', 'clever', 'small']),
      modelId: pick(['d1', 'd2']),
      sessionId: pick(['s1', 's2']),
    });
    const caps = bench.budgets.capsFor(begin);
    const reserved = BigInt(Math.floor(random() * 1e9));
    for (;;) {
      const budgets = bench.budgets.needsOf(caps, begin.startMs);
      const result = bench.counters.reserve({
        requestId: begin.requestId,
        budgets,
        pico: reserved,
        limits: [],
      });
      if (result.kind !== 'unseeded') break;
      const seeding = bench.budgets.seed(result.counters);
      while (random() < 0.6) settle(); // while the sums are read
      await setImmediate();
      settle();
      await seeding;
    }
    running.push({
      id: begin.requestId,
      record: settleOf(begin, { spendPico: pick([null, 0, 1, 12_345, 9_999_999_999]) }),
      reserved,
    });
    if (random() < 0.5) settle();
    if (random() < 0.05) clock.advance(Math.floor(random() * 3_600_000));
    if (i % 500 === 499) {
      while (running.length > 0) settle();
      t.ok((await agree(t, bench, `after ${i + 1}`)) > 10);
      t.equal(bench.counters.open, 0, 'nothing is held');
      await bench.ledger.close(10_000);
      bench = await open(t, dataDir, clock);
      await bench.budgets.warm();
      t.ok((await agree(t, bench, `after start ${i + 1}`)) > 4);
    }
  }
  const all = rows.reduce((sum, { spendPico }) => sum + BigInt(spendPico ?? 0), 0n);
  const [ever] = await bench.budgets.sums([
    { cap: { scope: { kind: 'proxy', id: '' }, model: null }, windowStartMs: 0 },
  ]);
  t.equal(ever, all, 'every row is in the store once');
});

t.test('a call that had no end counts for what it had reserved, in its row and in the budget', async (t) => {
  const clock = new ManualClock(START_MS);
  const dataDir = tempDir(t);
  const first = await open(t, dataDir, clock);
  const begin = beginOf('lost', { startMs: clock.now(), apiKeyHash: 'k1', reservedPico: 777 });
  await first.ledger.begin(begin);
  await first.ledger.close(10_000); // without a settle, as after kill -9
  const second = await open(t, dataDir, clock);
  await second.budgets.warm();
  const found = await second.ledger.reader.query(
    { requestId: 'lost' },
    { page: 1, pageSize: 1, order: 'newest' },
  );
  t.match(found.rows, [{ endReason: 'interrupted', spendPico: 777, costReason: /^an estimate: / }]);
  let seen = 0n;
  for await (const { cap, state } of second.budgets.states())
    if (cap.counter.startsWith('key:k0 1d')) seen = state.spentPico;
  t.equal(seen, 777n);
  await agree(t, second, 'after the start');
});

t.test(
  'a key that nobody has used since the start begins with what its rows say, whenever they came',
  async (t) => {
    const clock = new ManualClock(START_MS);
    const dataDir = tempDir(t);
    const record = (id: string, key: string): SpendRecord =>
      settleOf(beginOf(id, { startMs: clock.now(), apiKeyHash: key, teamId: null }), { spendPico: 5 });
    const spend = (bench: Bench, id: string, key: string): void => {
      void bench.ledger.settle(record(id, key));
      bench.budgets.settle(record(id, key));
    };
    const result = (bench: Bench, key: string): bigint | null => {
      const begin = beginOf('now', { startMs: clock.now(), apiKeyHash: key, teamId: null });
      const caps = bench.budgets.capsFor(begin).filter(({ scope }) => scope.kind === 'key');
      const [need] = bench.budgets.needsOf(caps, clock.now());
      return need === undefined ? null : (bench.counters.read(need)?.spentPico ?? null);
    };
    const first = await open(t, dataDir, clock);
    spend(first, 'before', 'k2');
    await first.ledger.close(10_000);
    const second = await open(t, dataDir, clock);
    await second.budgets.warm();
    spend(second, 'after', 'k2');
    t.equal(result(second, 'k2'), 10n, 'a row before the start, one after it');
    spend(second, 'counted', 'k2');
    t.equal(result(second, 'k2'), 15n);
    await agree(t, second, 'a used key');
    const renewed = { ...blankKey('k3', 'cccc', 1), former: [{ id: 'k2', untilMs: Infinity }] };
    second.directory.put({ ...renewed, budget: capped({ maxBudget: 1_000, budgetDuration: '1d' }) });
    t.equal(result(second, 'k3'), 15n, 'another value of a key begins nothing anew');
    await second.ledger.close(10_000);
    const third = await open(t, dataDir, clock);
    third.directory.put({ ...renewed, budget: capped({ maxBudget: 1_000, budgetDuration: '1d' }) });
    await third.budgets.warm();
    spend(third, 'former', 'k2');
    t.equal(result(third, 'k3'), 20n, 'rows of a former value count');
    await third.ledger.close(10_000);
    const fourth = await open(t, dataDir, clock);
    await fourth.budgets.warm();
    clock.advance(86_400_000);
    spend(fourth, 'next day', 'k2');
    t.equal(result(fourth, 'k2'), 5n, 'a window that began since');
    await agree(t, fourth, 'the next day');
  },
);

t.test('counters of keys that are deleted are forgotten, those of idle keys are not', async (t) => {
  const clock = new ManualClock(START_MS);
  const { budgets, counters, directory } = await open(t, tempDir(t), clock);
  const needOf = (id: string): BudgetNeed => {
    const begin = beginOf(id, { startMs: clock.now(), apiKeyHash: id, teamId: null });
    const caps = budgets.capsFor(begin).filter(({ scope }) => scope.kind === 'key');
    const [need] = budgets.needsOf(caps, clock.now());
    if (need === undefined) throw new Error(`no need of ${id}`);
    counters.seed(need, 1n);
    return need;
  };
  const idle = needOf('k2');
  const comeAndGo = (name: string): BudgetNeed => {
    const key = { ...blankKey(name, 'dddd', 1), budget: capped({ maxBudget: 1 }) };
    directory.put(key);
    const need = needOf(name);
    directory.remove(key);
    return need;
  };
  const deleted = comeAndGo('deleted');
  clock.advance(3_600_001);
  for (let n = 0; n < 10_000; n += 1) comeAndGo(`later ${n}`);
  t.equal(counters.read(deleted), null);
  t.same(counters.read(idle), { spentPico: 1n, reservedPico: 0n });
});

t.test(
  'counters of end users that nobody has used for an hour are forgotten, those of running ones are not',
  async (t) => {
    const clock = new ManualClock(START_MS);
    const { budgets, counters } = await open(t, tempDir(t), clock);
    const needOf = (endUser: string): BudgetNeed => {
      const begin = beginOf(endUser, { startMs: clock.now(), apiKeyHash: 'k9', teamId: null, endUser });
      const caps = budgets.capsFor(begin).filter(({ scope }) => scope.kind === 'end_user');
      const [need] = budgets.needsOf(caps, clock.now());
      if (need === undefined) throw new Error(`no need of ${endUser}`);
      counters.seed(need, 1n);
      return need;
    };
    const idle = needOf('idle');
    clock.advance(1_800_000);
    const lately = needOf('lately');
    clock.advance(1_800_001);
    for (let n = 0; n < 10_000; n += 1) needOf(`later ${n}`);
    t.equal(counters.read(idle), null);
    t.same(counters.read(lately), { spentPico: 1n, reservedPico: 0n });
  },
);

t.test('a call that runs for more than an hour holds its room, and counts at its end', async (t) => {
  const clock = new ManualClock(START_MS);
  const { budgets, counters, ledger } = await open(t, tempDir(t), clock);
  const beginBy = (sessionId: string): SpendBegin =>
    beginOf(sessionId, { startMs: clock.now(), apiKeyHash: 'k9', sessionId, sessionSource: 'header' });
  const needOf = (begin: SpendBegin): BudgetNeed => {
    const caps = budgets.capsFor(begin).filter(({ scope }) => scope.kind === 'conversation');
    const [need] = budgets.needsOf(caps, clock.now());
    if (need === undefined) throw new Error('no need');
    return need;
  };
  const many = (name: string): void => {
    for (let n = 0; n < 10_000; n += 1) needOf(beginBy(`${name} ${n}`));
  };
  const long = beginBy('long');
  const need = needOf(long);
  await budgets.seed([need]);
  t.match(counters.reserve({ requestId: 'long', budgets: [need], pico: 9n, limits: [] }), {
    kind: 'reserved',
  });
  await ledger.begin(long);
  clock.advance(3_600_001);
  many('first');
  t.same(counters.read(need), { spentPico: 0n, reservedPico: 9n });
  const record = settleOf(long, { endMs: clock.now(), spendPico: 7 });
  const written = ledger.settle(record);
  budgets.settle(record);
  await written;
  t.same(counters.read(need), { spentPico: 7n, reservedPico: 0n });
  clock.advance(3_599_999);
  many('second');
  t.same(counters.read(need), { spentPico: 7n, reservedPico: 0n }, 'not an hour since its end');
  clock.advance(60_001);
  many('third');
  t.equal(counters.read(need), null);
  await budgets.seed([needOf(beginBy('long'))]);
  t.same(counters.read(need), { spentPico: 7n, reservedPico: 0n }, 'read anew');
});

t.test('with other servers, a counter that this one needs no more goes on', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const clock = new ManualClock(START_MS);
  const { ledger, directory } = await open(t, tempDir(t), clock);
  const counters = await countersAt(t, valkey, clock);
  const budgets = new Budgets(
    {
      budgets: { ...budgetsOff, rules: [rule('end_user', '*', null)] },
      routing: { aliases: new Map() },
      deployments: [],
    },
    { ledger, counters, directory, clock, events: { emit: () => undefined } },
  );
  const needOf = (endUser: string): BudgetNeed => {
    const begin = beginOf(endUser, { startMs: clock.now(), apiKeyHash: 'k9', teamId: null, endUser });
    const [need] = budgets.needsOf(budgets.capsFor(begin), clock.now());
    if (need === undefined) throw new Error('no need');
    return need;
  };
  const need = needOf('idle here');
  await budgets.seed([need]);
  clock.advance(3_600_001);
  for (let n = 0; n < 10_000; n += 1) needOf(`later ${n}`);
  t.match(await counters.reserve({ requestId: 'there', budgets: [need], pico: 1n, limits: [] }), {
    kind: 'reserved',
  });
});

t.test('a store that does not answer leaves a counter unknown, and it is asked again', async (t) => {
  const clock = new ManualClock(START_MS);
  const bench = await open(t, tempDir(t), clock);
  const { budgets, counters } = bench;
  let isDown = true;
  const shaky = new Budgets(
    {
      budgets: { ...budgetsOff, rules: [rule('proxy', '', '1d')] },
      routing: { aliases: new Map() },
      deployments: [],
    },
    {
      ledger: {
        spentBefore: (queries, captured) =>
          isDown ? Promise.reject(new Error('down')) : bench.ledger.spentBefore(queries, captured),
      },
      counters,
      directory: bench.directory,
      clock,
      events: { emit: () => undefined },
    },
  );
  const begin = beginOf('a', { startMs: clock.now() });
  const needs = shaky.needsOf(shaky.capsFor(begin), clock.now());
  const call = { requestId: 'a', budgets: needs, pico: 1n, limits: [] };
  const unknown = counters.reserve(call);
  t.equal(unknown.kind, 'unseeded');
  if (unknown.kind !== 'unseeded') return;
  await t.rejects(shaky.seed(unknown.counters), /down/);
  t.equal(counters.reserve(call).kind, 'unseeded');
  isDown = false;
  await shaky.seed(unknown.counters);
  t.equal(counters.reserve(call).kind, 'reserved');
  t.ok(budgets);
});

async function countersAt(
  t: Test,
  { settings }: ValkeyServer,
  { mono }: ManualClock,
): Promise<ValkeyCounters> {
  const counters = await ValkeyCounters.start({
    settings,
    log: openLog('silent').log,
    randomId: randomUUID,
    mono,
    local: () => new LocalCounters(mono),
    servers: () => 1,
    times: { answerMs: 30_000, beatMs: 3_600_000, stuckMs: 60_000 },
  });
  t.teardown(() => counters.close());
  return counters;
}

t.test('nothing is asked of other servers that nobody waits for', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const clock = new ManualClock(START_MS);
  const { ledger, directory } = await open(t, tempDir(t), clock);
  const counters = await countersAt(t, valkey, clock);
  const budgets = new Budgets(
    {
      budgets: { ...budgetsOff, rules: [rule('deployment', 'd1', '6h')] },
      routing: { aliases: new Map() },
      deployments: [],
    },
    { ledger, counters, directory, clock, events: { emit: () => undefined } },
  );
  const counted = async (): Promise<number> => {
    await counters.read({ budget: 'asked', windowStartMs: 0 }); // after all that was sent before it
    const stats = String(await valkey.ask('INFO', 'commandstats'));
    return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1]);
  };
  await counted(); // the script is known there from now on
  const before = await counted();
  const begin = beginOf('a', { startMs: clock.now(), modelId: 'd1' });
  for (let i = 0; i < 20; i += 1) {
    t.equal(budgets.ofKey('k1'), null);
    t.ok(budgets.hasRoom(begin, clock.now(), 1n), 'reserving finds out');
  }
  t.equal(await counted(), before + 1);
});

t.test(
  'with other servers, a mark is looked for when they are told of a record, however late its row is written',
  async (t) => {
    const valkey = await ownValkey(t);
    if (valkey === null) return;
    const clock = new ManualClock(START_MS);
    const { ledger, directory } = await open(t, tempDir(t), clock);
    const counters = await countersAt(t, valkey, clock);
    const told = Promise.withResolvers<AccessEvent>();
    const budgets = new Budgets(
      {
        budgets: {
          ...budgetsOff,
          rules: [{ ...rule('proxy', '', '1h'), maxBudget: null, softBudget: 0.001 }],
        },
        routing: { aliases: new Map() },
        deployments: [],
      },
      { ledger, counters, directory, clock, events: { emit: told.resolve } },
    );
    const begin = beginOf('a', { startMs: clock.now(), modelId: 'd1' });
    const caps = budgets.capsFor(begin);
    budgets.needsOf(caps, clock.now());
    const counter = { budget: caps[0]?.counter ?? '', windowStartMs: START_MS };
    await budgets.seed([counter]);
    budgets.settle(settleOf(begin, { spendPico: 2_000_000_000 }));
    await wait(250); // timers of one length end in the order in which they began: marks have been looked for
    t.match(await counters.read(counter), { spentPico: 0n });
    budgets.journaled('a');
    t.match(await told.promise, { kind: 'soft_budget', spentPico: 2_000_000_000n });
  },
);

t.test(
  'with other servers, a call counts for a spend that was set anew since, though no call of here has seen it',
  async (t) => {
    const valkey = await ownValkey(t);
    if (valkey === null) return;
    const clock = new ManualClock(START_MS);
    const { ledger, directory } = await open(t, tempDir(t), clock);
    const counters = await countersAt(t, valkey, clock);
    const policy = { budgets: budgetsOff, routing: { aliases: new Map() }, deployments: [] };
    const options = { ledger, counters, directory, clock, events: { emit: () => undefined } };
    const [here, there] = [new Budgets(policy, options), new Budgets(policy, options)];
    const begin = beginOf('a', { startMs: clock.now(), apiKeyHash: 'k2', teamId: null });
    here.needsOf(here.capsFor(begin), clock.now());
    clock.advance(1_000);
    const countFrom = { atMs: clock.now(), usd: 1 };
    const budget = capped({ maxBudget: 1_000, budgetDuration: '1d', countFrom });
    directory.put({ ...blankKey('k2', 'bbbb', 1), budget });
    clock.advance(1_000);
    const [need] = there.needsOf(there.capsFor(begin), clock.now());
    if (need === undefined) throw new Error('no need');
    await there.seed([need]);
    t.equal(need.windowStartMs, countFrom.atMs);
    const record = settleOf(begin, { endMs: clock.now(), spendPico: 5 });
    here.settle(record);
    here.journaled('a');
    await counters.reserve({ requestId: 'b', budgets: [need], pico: 0n, limits: [] }); // behind what waits to be told
    t.match(await counters.read(need), { spentPico: 1_000_000_000_005n });
  },
);

const budgetsOff = {
  rules: [],
  timeZone: 'UTC',
  resetMinute: 0,
  exceededStatus: 422,
  reservation: 'strict',
  allowUnverified: false,
  metricsLimit: 20,
  userBudgetsOnTeamKeys: false,
} as const;
