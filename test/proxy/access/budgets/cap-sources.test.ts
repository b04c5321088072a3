// Caps of one scope that mean the same time in other words: each counts by itself, so that a call reserves once in each.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import type { BudgetRule } from '../../../../config/budget-settings.ts';
import { BudgetBook } from '../../../../proxy/access/budgets/budget-book.ts';
import { CapSources } from '../../../../proxy/access/budgets/cap-sources.ts';
import { blankKey } from '../../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';
import { NO_BUDGET } from '../../../../proxy/access/objects/objects.ts';

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

t.test('keys that are deleted are let go', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const directory = new AccessDirectory();
  const sources = new CapSources(directory, { rules: [] });
  const comeAndGo = (id: string): WeakRef<object> => {
    const key = { ...blankKey(id, 'aaaa', 1), budget: { ...NO_BUDGET, maxBudget: 1 } };
    directory.put(key);
    if (sources.of({ kind: 'key', id }).length !== 1) throw new Error('it has a cap');
    directory.remove(key);
    return new WeakRef(key);
  };
  const deleted = comeAndGo('deleted');
  for (let n = 0; n <= 10_000; n += 1) comeAndGo(`later ${n}`);
  await new Promise(setImmediate); // a WeakRef holds its target until the turn ends
  collect();
  t.equal(deleted.deref(), undefined);
});
