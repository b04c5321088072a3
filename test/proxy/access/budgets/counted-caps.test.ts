// From when on a cap is counted, and where the counters of its windows begin.
import t from 'tap';
import { capWindow, capsOf, type Cap } from '../../../../proxy/access/budgets/caps.ts';
import { CountedCaps } from '../../../../proxy/access/budgets/counted-caps.ts';
import { StartSums } from '../../../../proxy/access/budgets/start-sums.ts';
import type { CounterState } from '../../../../proxy/access/counters.ts';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { NO_BUDGET, type BudgetTerms } from '../../../../proxy/access/objects/objects.ts';

const DAY_MS = 86_400_000;
const TODAY = Date.UTC(2026, 10, 22);
const NOW = TODAY + DAY_MS / 2;
const UTC = { timeZone: 'UTC', resetMinute: 0 };
const DAILY: BudgetTerms = { ...NO_BUDGET, maxBudget: 10, budgetDuration: '1d' };
/** Its spend was set anew at noon. */
const SET_ANEW: Partial<Cap> = { countFrom: { atMs: NOW, pico: 7n } };

function capOf(kind: 'team' | 'key', changed: Partial<Cap> = {}): Cap {
  const [cap] = capsOf({ kind, id: 'a' }, DAILY);
  if (cap === undefined) throw new Error('no cap');
  return { ...cap, ...changed };
}

function made() {
  const counters = new LocalCounters(() => 0);
  const resumed: string[] = [];
  const counted = new CountedCaps(UTC, {
    counters,
    directory: { key: () => null, keyOfCredential: () => null, team: () => null },
    isPassing: () => false,
    resumed: ({ cap }) => resumed.push(cap.counter),
  });
  const read = (cap: Cap, windowStartMs: number): CounterState | null =>
    counters.read({ budget: cap.counter, windowStartMs });
  return { counted, counters, read, resumed };
}

t.test('a cap is counted from when it is asked for, and stated anew it is the same', async (t) => {
  const { counted, read } = made();
  const cap = capOf('team');
  const tracked = counted.track(cap, NOW);
  t.equal(counted.track(cap, NOW), tracked);
  const raised = capOf('team', { capPico: 20n });
  t.equal(counted.track(raised, NOW), tracked);
  t.equal(tracked.cap, raised);
  t.equal(counted.open(tracked, NOW), TODAY);
  t.equal(read(cap, TODAY), null, 'what it had spent is asked of the store');
  t.ok(counted.has('team'));
  t.notOk(counted.has('key'));
});

t.test('once all records are counted, the next window begins with nothing', async (t) => {
  const { counted, counters, read } = made();
  const cap = capOf('team');
  const tracked = counted.track(cap, NOW);
  counted.open(tracked, NOW);
  counters.seed({ budget: cap.counter, windowStartMs: TODAY }, 5n);
  tracked.opened(TODAY, NOW);
  t.equal(counted.open(tracked, NOW + DAY_MS), TODAY + DAY_MS);
  t.match(read(cap, TODAY + DAY_MS), { spentPico: 0n });
  t.equal(counted.open(tracked, NOW), TODAY, 'an older call counts for its own window');
});

t.test('where the clock was set back, no window begins with nothing: there may be calls in it', async (t) => {
  const { counted, read } = made();
  const cap = capOf('team');
  counted.track(cap, NOW + 2 * DAY_MS);
  const tracked = counted.track(cap, NOW);
  tracked.opened(TODAY, NOW);
  counted.open(tracked, NOW + DAY_MS);
  t.equal(read(cap, TODAY + DAY_MS), null);
});

t.test('a window that the clock began too early is not counted on', async (t) => {
  const { counted } = made();
  const cap = capOf('team');
  const early = counted.track(cap, NOW + DAY_MS);
  counted.open(early, NOW + DAY_MS);
  t.not(counted.track(cap, NOW), early);
});

t.test('with its spend set anew another counting begins, and the counter before is forgotten', async (t) => {
  const { counted, counters, read } = made();
  const cap = capOf('team');
  const tracked = counted.track(cap, NOW);
  counted.open(tracked, NOW);
  counters.seed({ budget: cap.counter, windowStartMs: TODAY }, 5n);
  t.not(counted.track(capOf('team', SET_ANEW), NOW), tracked);
  t.equal(read(cap, TODAY), null);
  t.equal(counted.tracked.size, 1);
});

t.test('another calendar forgets them all', async (t) => {
  const { counted, counters, read } = made();
  const cap = capOf('team');
  counted.open(counted.track(cap, NOW), NOW);
  counters.seed({ budget: cap.counter, windowStartMs: TODAY }, 5n);
  counted.restart({ timeZone: 'UTC', resetMinute: 60 });
  t.equal(counted.tracked.size, 0);
  t.equal(read(cap, TODAY), null);
  t.equal(counted.open(counted.track(cap, NOW), NOW), TODAY + 3_600_000);
});

t.test('a key goes on with what was read at the start, once', async (t) => {
  const { counted, read, resumed } = made();
  const sums = new StartSums((cap, atMs) => capWindow(cap, atMs, UTC));
  sums.wants(['a'], DAILY, NOW);
  sums.ask();
  sums.captured(NOW);
  sums.add([[{ values: ['a'], pico: 3n }]]);
  t.notOk(counted.has('key'));
  counted.startSums = sums;
  t.ok(counted.has('key'), 'records of keys count for the sums');
  const cap = capOf('key');
  const tracked = counted.track(cap, NOW);
  t.match(read(cap, TODAY), { spentPico: 3n });
  t.same(resumed, [cap.counter]);
  t.equal(tracked.openedMs, TODAY);
  counted.track(cap, NOW);
  t.equal(resumed.length, 1);
});
