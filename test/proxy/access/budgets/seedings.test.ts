// Sums that counters begin with: read together, each record counted once, whoever waits gets what was read for it.
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { capsOf } from '../../../../proxy/access/budgets/caps.ts';
import { Seedings } from '../../../../proxy/access/budgets/seedings.ts';
import { Tracked } from '../../../../proxy/access/budgets/tracked.ts';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { NO_BUDGET } from '../../../../proxy/access/objects/objects.ts';
import { ManualClock } from '../../../support/clock.ts';

interface Reading {
  readonly names: readonly string[];
  readonly captured: () => void;
  readonly answer: PromiseWithResolvers<readonly bigint[]>;
}

interface Bench {
  readonly seedings: Seedings;
  readonly counters: LocalCounters;
  /** Begun, in their order. */
  readonly readings: Reading[];
  /** Counters that were told of, with what they had then, in their order. */
  readonly told: (readonly [string, bigint | undefined])[];
  seed(name: string): Promise<void>;
}

function bench(): Bench {
  const clock = new ManualClock(0);
  const counters = new LocalCounters(clock.mono);
  const readings: Reading[] = [];
  const told: (readonly [string, bigint | undefined])[] = [];
  const seedings = new Seedings({
    counters,
    clock,
    begun: ({ cap: { scope } }) =>
      told.push([scope.id, counters.read({ budget: scope.id, windowStartMs: 0 })?.spentPico]),
    sums: (asked, captured) => {
      const answer = Promise.withResolvers<readonly bigint[]>();
      readings.push({ names: asked.map(({ cap }) => cap.scope.id), captured, answer });
      return answer.promise;
    },
  });
  const known = new Map<string, Tracked>();
  const trackedOf = (budget: string): Tracked => {
    const [cap] = capsOf({ kind: 'conversation', id: budget }, { ...NO_BUDGET, maxBudget: 1 });
    if (cap === undefined) throw new Error('no cap');
    const tracked = known.get(budget) ?? new Tracked(cap, 0);
    known.set(budget, tracked);
    return tracked;
  };
  const seed = (name: string): Promise<void> =>
    seedings.seed([{ budget: name, windowStartMs: 0 }], trackedOf);
  return { seedings, counters, readings, told, seed };
}

const answered = ({ captured, answer, names }: Reading): void => {
  captured();
  answer.resolve(names.map(() => 5n));
};

t.test('a thousand conversations that begin at once are read in a few readings', async (t) => {
  const { readings, seed, counters } = bench();
  const all = Array.from({ length: 1_000 }, (_, i) => seed(`s${i}`));
  for (let read = 0; read < 6; read += 1) {
    t.equal(readings.length, read + 1, 'one at a time');
    answered(readings[read] as Reading);
    await setImmediate();
  }
  await Promise.all(all);
  t.equal(readings.length, 6, 'the first alone, then 200 at a time');
  t.equal(new Set(readings.flatMap(({ names }) => names)).size, 1_000);
  t.ok(readings.every(({ names }) => names.length <= 200));
  t.same(counters.read({ budget: 's999', windowStartMs: 0 }), { spentPico: 5n, reservedPico: 0n });
});

t.test(
  'a counter that has begun is looked at with what records added meanwhile: no call may come after them',
  async (t) => {
    const { seedings, readings, told, seed } = bench();
    const seeded = seed('a');
    const [reading] = readings;
    reading?.captured();
    t.notOk(seedings.settle({ budget: 'a', windowStartMs: 0 }, 'call', 7n), 'the sum is given it');
    t.same(told, [], 'not before');
    reading?.answer.resolve([5n]);
    await seeded;
    t.same(told, [['a', 12n]]);
  },
);

t.test('who asks for the same counter waits for the same reading', async (t) => {
  const { readings, seed } = bench();
  const both = [seed('a'), seed('a')];
  answered(readings[0] as Reading);
  await Promise.all(both);
  t.equal(readings.length, 1);
});

t.test('a reading that fails fails for those that it was made for, and the next one is made', async (t) => {
  const { readings, seed } = bench();
  const first = seed('a');
  const second = seed('b');
  readings[0]?.answer.reject(new Error('away'));
  await t.rejects(first, { message: 'away' });
  answered(readings[1] as Reading);
  await second;
  const again = seed('a');
  answered(readings[2] as Reading);
  await again;
  t.equal(readings.length, 3);
});

t.test(
  'a record that is settled meanwhile counts once: in the sum, beside it, or in the counter',
  async (t) => {
    const { seedings, readings, seed, counters } = bench();
    const counter = { budget: 'a', windowStartMs: 0 };
    t.ok(seedings.settle(counter, 'r0', 1n), 'nobody reads: the counter counts it');
    const seeded = seed('a');
    t.ok(seedings.settle(counter, 'r1', 1n), 'before the moment of the sum, which holds it');
    readings[0]?.captured();
    t.notOk(seedings.settle(counter, 'r2', 7n), 'after it: added to the sum');
    readings[0]?.answer.resolve([5n]);
    await seeded;
    t.equal(counters.read(counter)?.spentPico, 12n);
    t.ok(seedings.settle(counter, 'r3', 1n), 'the counter counts again');
  },
);
