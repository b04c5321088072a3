// Of many budgets those are found that are used up furthest, with few questions to the store and nothing prepared of the others.
import t from 'tap';
import { CapSources } from '../../../../proxy/access/budgets/cap-sources.ts';
import { Furthest, furthestOf, shareOf } from '../../../../proxy/access/budgets/furthest.ts';
import { capsOf, type Cap } from '../../../../proxy/access/budgets/caps.ts';
import { CapWindows } from '../../../../proxy/access/budgets/windows.ts';
import type { Unsummed } from '../../../../proxy/access/budgets/spent-queries.ts';
import { blankKey, blankUser } from '../../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';
import { NO_BUDGET, type BudgetTerms } from '../../../../proxy/access/objects/objects.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const DOLLAR = 1_000_000_000_000n;
const budget = (more: Partial<BudgetTerms>): BudgetTerms => ({ ...NO_BUDGET, maxBudget: 100, ...more });
const capOf = (terms: BudgetTerms): Cap => {
  const [cap] = capsOf({ kind: 'key', id: 'k' }, terms);
  if (cap === undefined) throw new Error('no cap');
  return cap;
};

t.test('what is used of a cap', (t) => {
  t.equal(shareOf(capOf(budget({})), 25n * DOLLAR, NOW), 0.25);
  const raised = budget({ temporaryIncrease: { usd: 100, untilMs: NOW + 1 } });
  t.equal(shareOf(capOf(raised), 25n * DOLLAR, NOW), 0.125);
  t.equal(shareOf(capOf(raised), 25n * DOLLAR, NOW + 1), 0.25, 'the increase is over');
  t.equal(shareOf(capOf(budget({ maxBudget: 0 })), 0n, NOW), null);
  t.equal(shareOf(capOf(budget({ maxBudget: null, softBudget: 1 })), DOLLAR, NOW), null);
  t.end();
});

t.test('of ever so many, as many as are wanted are kept', (t) => {
  const furthest = new Furthest<number>(3);
  for (let n = 0; n < 5_000; n += 1) furthest.add(n, (n * 7_919) % 5_000);
  t.same(
    furthest.items.map((n) => (n * 7_919) % 5_000),
    [4_999, 4_998, 4_997],
  );
  t.end();
});

t.test(
  'one question for all windows that are shared, and some at a time for those that are not',
  async (t) => {
    const directory = new AccessDirectory();
    for (let n = 0; n < 1_000; n += 1) directory.put({ ...blankKey(`k${n}`, 'abcd', n), budget: budget({}) });
    for (let n = 0; n < 450; n += 1) {
      directory.put({ ...blankUser(`monthly ${n}`, n), budget: budget({ budgetDuration: '1mo' }) });
      const own = budget({ budgetDuration: '14d', budgetSetMs: NOW - n * 1_000 });
      directory.put({ ...blankUser(`own ${n}`, n), budget: own });
    }
    const rule = { softBudget: null, budgetDuration: null, maxBudget: 1 };
    const sources = new CapSources(directory, {
      rules: [
        { ...rule, scope: 'proxy', id: '' },
        { ...rule, scope: 'user', id: '*' },
      ],
    });
    const spent: Readonly<Record<string, bigint>> = { 'monthly 7': 90n, 'own 449': 95n, 'own 3': 1n };
    const asked: number[] = [];
    const sums = (caps: readonly Unsummed[]): Promise<readonly bigint[]> => {
      asked.push(caps.length);
      return Promise.resolve(caps.map(({ cap }) => (spent[cap.scope.id] ?? 0n) * DOLLAR));
    };
    const read = () => Promise.resolve([[{ values: ['k500'], pico: 92n * DOLLAR }]]);
    const windows = new CapWindows({ timeZone: 'UTC', resetMinute: 0 });
    const found = await furthestOf({ sources, windows, directory, nowMs: NOW, kept: null, read, sums }, 3);
    t.same(
      found.map(({ id }) => id),
      ['own 449', 'k500', 'monthly 7', ''],
    );
    t.same(asked, [450, 200, 200, 50]);
    t.same(
      await furthestOf({ sources, windows, directory, nowMs: NOW, kept: null, read, sums }, 0),
      [{ kind: 'proxy', id: '' }],
      'none beside those of the configuration',
    );
    t.equal(asked.length, 4, 'for which nothing is asked');
  },
);
