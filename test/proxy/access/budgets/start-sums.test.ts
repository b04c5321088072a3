// Sums of keys that were there at the start, and of no others: keys come and go all day, and nothing may be kept of each.
import t from 'tap';
import { capWindow, capsOf, type Cap } from '../../../../proxy/access/budgets/caps.ts';
import { StartSums } from '../../../../proxy/access/budgets/start-sums.ts';
import { NO_BUDGET, type BudgetTerms } from '../../../../proxy/access/objects/objects.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const CALENDAR = { timeZone: 'UTC', resetMinute: 0 };
const EVER: BudgetTerms = { ...NO_BUDGET, maxBudget: 10 };
const DAILY: BudgetTerms = { ...EVER, budgetDuration: '1d' };
const capFor = (id: string, terms: BudgetTerms): Cap => {
  const [cap] = capsOf({ kind: 'key', id }, terms);
  if (cap === undefined) throw new Error('no cap');
  return cap;
};
/** As the store answers: of keys that have rows. */
const rows = (spent: Readonly<Record<string, bigint>>) =>
  Object.entries(spent).map(([id, pico]) => ({ values: [id], pico }));

function started(): StartSums {
  const sums = new StartSums((cap, atMs) => capWindow(cap, atMs, CALENDAR));
  t.ok(sums.wants(['known', 'former'], EVER, NOW));
  t.ok(sums.wants(['idle'], EVER, NOW));
  t.ok(sums.wants(['daily'], DAILY, NOW));
  t.match(sums.ask(), [
    { ids: ['known', 'former', 'idle'], sinceMs: 0 },
    { ids: ['daily'], sinceMs: Date.UTC(2026, 10, 22) },
  ]);
  sums.captured(NOW);
  sums.add([rows({ known: 1n, former: 2n }), rows({ daily: 4n })]);
  return sums;
}

t.test('a key begins with the sum of its present and former values, one without rows with nothing', (t) => {
  const sums = started();
  sums.settle('known', NOW + 1, 16n);
  t.equal(sums.take(['known', 'former'], capFor('known', EVER), NOW)?.pico, 19n);
  t.equal(sums.take(['idle'], capFor('idle', EVER), NOW)?.pico, 0n);
  t.equal(sums.take(['known', 'former'], capFor('known', EVER), NOW), null, 'counted elsewhere since');
  t.end();
});

t.test(
  'of keys that were deleted before the start or are made since, nothing is kept: the store is asked',
  (t) => {
    const sums = started();
    sums.settle('made', NOW + 1, 16n);
    for (const id of ['deleted', 'made', 'unused'])
      t.equal(sums.take([id], capFor(id, EVER), NOW + 2), null, id);
    t.equal(
      sums.take(['idle', 'made'], capFor('idle', EVER), NOW + 2),
      null,
      'a former value that is not known',
    );
    t.end();
  },
);

t.test('what a key has spent that nobody has used is told, and goes on counting', (t) => {
  const sums = started();
  t.equal(sums.spentBy(['known', 'former'], EVER, NOW), 3n);
  t.equal(sums.spentBy(['known'], DAILY, NOW), 0n, 'of another duration');
  t.equal(sums.spentBy(['known'], { ...EVER, countFrom: { atMs: NOW, usd: 0 } }, NOW), 0n, 'set anew since');
  t.equal(sums.spentBy(['daily'], DAILY, NOW), 4n);
  t.equal(sums.spentBy(['daily'], DAILY, NOW + 86_400_000), 0n, 'the next day');
  t.equal(sums.take(['known', 'former'], capFor('known', EVER), NOW)?.pico, 3n);
  t.equal(sums.spentBy(['known', 'former'], EVER, NOW), 0n, 'counted elsewhere since');
  t.end();
});

t.test('a key whose budget has another duration now is asked for', (t) => {
  const sums = started();
  t.equal(sums.take(['daily'], capFor('daily', EVER), NOW), null);
  t.equal(sums.take(['daily'], capFor('daily', DAILY), NOW), null, 'and counted elsewhere since');
  t.end();
});

t.test('of more keys than a query takes by name the sums of all are read', (t) => {
  const sums = new StartSums((cap, atMs) => capWindow(cap, atMs, CALENDAR));
  for (let n = 0; n <= 30_000; n += 1) sums.wants([`k${n}`], EVER, NOW);
  t.match(sums.ask(), [{ ids: null, sinceMs: 0 }]);
  sums.captured(NOW);
  sums.add([rows({ k30000: 3n, deleted: 5n })]);
  t.equal(sums.take(['k30000'], capFor('k30000', EVER), NOW)?.pico, 3n);
  t.equal(sums.take(['deleted'], capFor('deleted', EVER), NOW), null);
  t.end();
});

t.test('a window that begins later begins with nothing, and is counted', (t) => {
  const sums = started();
  const tomorrow = NOW + 86_400_000;
  sums.settle('daily', tomorrow, 32n);
  t.equal(sums.take(['daily'], capFor('daily', DAILY), tomorrow)?.pico, 32n);
  t.end();
});
