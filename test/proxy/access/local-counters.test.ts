import { test, type Test } from 'tap';
import { LocalCounters } from '../../../proxy/access/local-counters.ts';
import type { BudgetNeed } from '../../../proxy/access/budgets/budget-book.ts';
import type { LimitNeed } from '../../../proxy/access/limits/rate-book.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const WINDOW = 1_000;
const needOf = (budget: string, capPico: bigint, windowStartMs = WINDOW): BudgetNeed => ({
  budget,
  windowStartMs,
  capPico,
});
const parallel = (most: number): LimitNeed => ({ kind: 'parallel', limit: 'key:a:parallel', most });

function countersWith(...budgets: string[]): LocalCounters {
  const counters = new LocalCounters(() => 0);
  for (const budget of budgets) counters.seed({ budget, windowStartMs: WINDOW }, 0n);
  return counters;
}

const call = (
  requestId: string,
  budgets: readonly BudgetNeed[],
  pico: bigint,
  limits: readonly LimitNeed[] = [],
) => ({
  requestId,
  budgets,
  pico,
  limits,
});

void test('asks for what a counter had spent before, and goes on with it', (t) => {
  const counters = new LocalCounters(() => 0);
  const budgets = [needOf('key:a', 100n)];
  t.match(counters.reserve(call('1', budgets, 60n)), { kind: 'unseeded', counters: [{ budget: 'key:a' }] });
  counters.seed({ budget: 'key:a', windowStartMs: WINDOW }, 50n);
  counters.seed({ budget: 'key:a', windowStartMs: WINDOW }, 0n);
  t.match(counters.reserve(call('1', budgets, 60n)), { kind: 'over_budget', refusal: { leftPico: 50n } });
  t.match(counters.reserve(call('1', budgets, 50n)), { kind: 'reserved' });
  t.end();
});

void test('the same id consumes once', (t) => {
  const counters = countersWith('key:a');
  for (let i = 0; i < 3; i += 1)
    t.match(counters.reserve(call('1', [needOf('key:a', 100n)], 60n)), { kind: 'reserved' });
  t.match(counters.read({ budget: 'key:a', windowStartMs: WINDOW }), { spentPico: 0n, reservedPico: 60n });
  t.end();
});

void test('a limit that refuses gives the money back', (t) => {
  const counters = countersWith('key:a');
  t.match(counters.reserve(call('1', [needOf('key:a', 100n)], 10n, [parallel(1)])), {
    kind: 'reserved',
    remaining: [0],
  });
  t.match(counters.reserve(call('2', [needOf('key:a', 100n)], 10n, [parallel(1)])), { kind: 'over_limit' });
  t.match(counters.read({ budget: 'key:a', windowStartMs: WINDOW }), { reservedPico: 10n });
  counters.release('1');
  counters.release('1');
  t.match(counters.reserve(call('3', [needOf('key:a', 100n)], 10n, [parallel(1)])), { kind: 'reserved' });
  t.match(
    counters.read({ budget: 'key:a', windowStartMs: WINDOW }),
    { reservedPico: 20n },
    'held until settled',
  );
  t.end();
});

void test('a record is settled once, whenever', (t) => {
  const counters = countersWith('key:a');
  const spent = [{ budget: 'key:a', windowStartMs: WINDOW, pico: 7n }];
  counters.reserve(call('1', [needOf('key:a', 100n)], 60n));
  counters.settle({ requestId: '1', spent, tokens: null });
  counters.settle({ requestId: '1', spent, tokens: null });
  counters.release('1');
  counters.settle({ requestId: 'never reserved', spent, tokens: 5 });
  t.match(counters.read({ budget: 'key:a', windowStartMs: WINDOW }), { spentPico: 14n, reservedPico: 0n });
  t.equal(counters.open, 0);
  t.end();
});

void test('a counter that nobody seeded is not begun by a record', (t) => {
  const counters = countersWith();
  counters.settle({
    requestId: '1',
    spent: [{ budget: 'key:a', windowStartMs: WINDOW, pico: 7n }],
    tokens: null,
  });
  t.equal(counters.read({ budget: 'key:a', windowStartMs: WINDOW }), null);
  t.end();
});

void test('a record of the window before charges the new one nothing', (t) => {
  const counters = countersWith('key:a');
  counters.reserve(call('1', [needOf('key:a', 100n)], 60n));
  counters.seed({ budget: 'key:a', windowStartMs: 2_000 }, 0n);
  counters.settle({
    requestId: '1',
    spent: [{ budget: 'key:a', windowStartMs: WINDOW, pico: 7n }],
    tokens: null,
  });
  t.match(counters.read({ budget: 'key:a', windowStartMs: 2_000 }), { spentPico: 0n, reservedPico: 0n });
  t.end();
});

void test('a used up budget lets in what costs nothing only where it says so', (t) => {
  const counters = countersWith('key:a', 'team:b');
  t.match(counters.reserve(call('1', [needOf('key:a', 0n)], 0n)), { kind: 'over_budget' });
  t.match(counters.reserve(call('2', [{ ...needOf('team:b', 0n), letsFreeIn: true }], 0n)), {
    kind: 'reserved',
  });
  t.match(counters.reserve(call('3', [{ ...needOf('team:b', 0n), letsFreeIn: true }], 1n)), {
    kind: 'over_budget',
  });
  t.end();
});

void test('whatever happens in whatever order, nothing is lost and no cap is exceeded', (t: Test) => {
  const random = seededRandom(14);
  const budgets = ['key:a', 'key:b', 'team:c'];
  const counters = countersWith(...budgets);
  const cap = 1_000n;
  const spentBy = new Map(budgets.map((budget) => [budget, 0n]));
  const open: { id: string; names: string[]; pico: bigint }[] = [];
  for (let i = 0; i < 20_000; i += 1) {
    const dice = random();
    if (dice < 0.6) {
      const names = budgets.filter(() => random() < 0.5);
      const pico = BigInt(Math.floor(random() * 50));
      const id = `c${i}`;
      const result = counters.reserve(
        call(
          id,
          names.map((name) => needOf(name, cap)),
          pico,
        ),
      );
      if (result.kind === 'reserved') open.push({ id, names, pico });
    } else if (open.length > 0) {
      const [one] = open.splice(Math.floor(random() * open.length), 1);
      if (one === undefined) continue;
      const cost = BigInt(Math.floor(random() * (Number(one.pico) / 10 + 1)));
      const spent = one.names.map((budget) => ({ budget, windowStartMs: WINDOW, pico: cost }));
      for (let times = random() < 0.2 ? 2 : 1; times > 0; times -= 1)
        counters.settle({ requestId: one.id, spent, tokens: null });
      for (const name of one.names) spentBy.set(name, (spentBy.get(name) ?? 0n) + cost);
    }
  }
  for (const budget of budgets) {
    const state = counters.read({ budget, windowStartMs: WINDOW });
    t.equal(state?.spentPico, spentBy.get(budget));
    t.equal(
      state?.reservedPico,
      open.filter(({ names }) => names.includes(budget)).reduce((sum, { pico }) => sum + pico, 0n),
    );
    t.ok((state?.spentPico ?? 0n) + (state?.reservedPico ?? 0n) <= cap);
  }
  t.end();
});

void test('a window that is forgotten takes no newer one with it: another process may have begun that', (t) => {
  const counters = new LocalCounters(() => 0);
  const newer = { budget: 'key:a', windowStartMs: 2 * WINDOW };
  counters.seed(newer, 5n);
  t.match(counters.reserve(call('1', [needOf('key:a', 100n, newer.windowStartMs)], 60n)), {
    kind: 'reserved',
  });
  counters.forget({ budget: 'key:a', windowStartMs: WINDOW });
  t.same(counters.read(newer), { spentPico: 5n, reservedPico: 60n }, 'calls that run hold their room');
  counters.forget(newer);
  t.equal(counters.read(newer), null);
  t.end();
});
