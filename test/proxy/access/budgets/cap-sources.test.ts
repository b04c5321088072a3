// Caps of one scope that mean the same time in other words: each counts by itself, so that a call reserves once in each.
import t from 'tap';
import type { BudgetRule } from '../../../../config/budget-settings.ts';
import { BudgetBook } from '../../../../proxy/access/budgets/budget-book.ts';
import { CapSources } from '../../../../proxy/access/budgets/cap-sources.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';

const rule = (budgetDuration: string, maxBudget: number): BudgetRule => ({
  scope: 'proxy',
  id: '',
  maxBudget,
  softBudget: null,
  budgetDuration,
});

t.test('a daily budget beside one of 1d', (t) => {
  const sources = new CapSources(new AccessDirectory(), {
    rules: [rule('1d', 10), rule('daily', 20)],
  });
  const caps = sources.of({ kind: 'proxy', id: '' });
  t.same(
    caps.map(({ capPico }) => capPico),
    [10_000_000_000_000n, 20_000_000_000_000n],
  );
  const book = new BudgetBook();
  const needs = caps.map(({ counter, capPico }) => ({
    budget: counter,
    windowStartMs: 0,
    capPico: capPico ?? 0n,
  }));
  t.equal(book.reserve(needs, 6_000_000_000_000n).ok, true);
  for (const { counter } of caps) t.equal(book.read(counter, 0).reservedPico, 6_000_000_000_000n);
  for (const cap of caps) t.equal(sources.stated(cap)?.capPico, cap.capPico);
  t.end();
});
