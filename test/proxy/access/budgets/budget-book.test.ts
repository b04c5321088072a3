// Budgets in memory: nothing is let in beyond a cap, refusals charge nothing, and what was spent is what records say.
import fc from 'fast-check';
import t from 'tap';
import {
  BudgetBook,
  type BudgetNeed,
  type Reservation,
} from '../../../../proxy/access/budgets/budget-book.ts';
import { runs } from '../../../support/runs.ts';

const need = (budget: string, capPico: bigint, windowStartMs = 0): BudgetNeed => ({
  budget,
  capPico,
  windowStartMs,
});

function held(book: BudgetBook, needs: readonly BudgetNeed[], pico: bigint): Reservation {
  const reserved = book.reserve(needs, pico);
  if (!reserved.ok) throw new Error(`refused by ${reserved.refusal.need.budget}`);
  return reserved.reservation;
}

t.test('of a hundred calls at once, as many are let in as there is room for', (t) => {
  const book = new BudgetBook();
  const results = Array.from({ length: 100 }, () => book.reserve([need('key:a', 1_000n)], 300n));
  t.equal(results.filter(({ ok }) => ok).length, 3);
  const refused = results.find((one) => !one.ok);
  t.match(refused, { refusal: { spentPico: 0n, reservedPico: 900n, leftPico: 100n } });
  t.end();
});

t.test('a call that one budget refuses charges no other', (t) => {
  const book = new BudgetBook();
  const refused = book.reserve([need('team:x', 1_000n), need('key:a', 100n), need('user:u', 1_000n)], 300n);
  t.match(refused, { ok: false, refusal: { need: { budget: 'key:a' }, leftPico: 100n } });
  t.same(book.read('team:x', 0), { spentPico: 0n, reservedPico: 0n });
  t.equal(held(book, [need('team:x', 1_000n)], 1_000n).pico, 1_000n, 'the whole team budget is still there');
  t.end();
});

t.test('a budget that is used up lets in nothing, not even what costs nothing', (t) => {
  const book = new BudgetBook();
  book.spend('key:a', 0, 100n);
  t.equal(book.reserve([need('key:a', 100n)], 0n).ok, false);
  t.equal(book.reserve([need('key:a', 101n)], 0n).ok, true);
  t.equal(book.reserve([need('key:zero', 0n)], 0n).ok, false, 'a cap of 0 is no room');
  t.end();
});

t.test('a call that costs more than it reserved is charged, and the next one is refused', (t) => {
  const book = new BudgetBook();
  const reservation = held(book, [need('key:a', 1_000n)], 400n);
  book.spend('key:a', 0, 1_200n);
  reservation.release();
  reservation.release();
  t.same(book.read('key:a', 0), { spentPico: 1_200n, reservedPico: 0n });
  t.match(book.reserve([need('key:a', 1_000n)], 1n), { ok: false, refusal: { leftPico: 0n } });
  t.end();
});

t.test('a window begins empty, and a call of the one before is not charged to it', (t) => {
  const book = new BudgetBook();
  const late = held(book, [need('key:a', 1_000n, 0)], 900n);
  const next = held(book, [need('key:a', 1_000n, 60_000)], 1_000n);
  book.spend('key:a', 0, 900n);
  late.release();
  t.same(book.read('key:a', 60_000), { spentPico: 0n, reservedPico: 1_000n });
  next.release();
  t.same(book.read('key:a', 60_000), { spentPico: 0n, reservedPico: 0n });
  t.end();
});

t.test('whatever calls do, no cap is exceeded, and all is given back', (t) => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('call' as const),
      scopes: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
      pico: fc.bigInt(0n, 500n),
    }),
    fc.record({ kind: fc.constant('end' as const), which: fc.nat(), part: fc.nat(100) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const book = new BudgetBook();
      const caps = { a: 1_000n, b: 700n, c: 50n } as Readonly<Record<string, bigint>>;
      const running: { scopes: readonly string[]; reservation: Reservation }[] = [];
      const spent = new Map<string, bigint>();
      const end = (index: number, part: number): void => {
        const [one] = running.splice(index, 1);
        if (one === undefined) return;
        const cost = (one.reservation.pico * BigInt(part)) / 100n;
        for (const scope of one.scopes) {
          book.spend(scope, 0, cost);
          spent.set(scope, (spent.get(scope) ?? 0n) + cost);
        }
        one.reservation.release();
      };
      for (const one of steps) {
        if (one.kind === 'end') end(one.which % Math.max(1, running.length), one.part);
        else {
          const reserved = book.reserve(
            one.scopes.map((scope) => need(scope, caps[scope] ?? 0n)),
            one.pico,
          );
          if (reserved.ok) running.push({ scopes: one.scopes, reservation: reserved.reservation });
        }
        for (const [scope, cap] of Object.entries(caps)) {
          const { spentPico, reservedPico } = book.read(scope, 0);
          if (spentPico + reservedPico > cap || reservedPico < 0n) return false;
        }
      }
      while (running.length > 0) end(0, 100);
      return Object.keys(caps).every((scope) => {
        const { spentPico, reservedPico } = book.read(scope, 0);
        return reservedPico === 0n && spentPico === (spent.get(scope) ?? 0n);
      });
    }),
    { numRuns: runs(500) },
  );
  t.end();
});
