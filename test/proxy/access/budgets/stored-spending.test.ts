// What administration shows of budgets, of many at once.
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { Budgets } from '../../../../proxy/access/budgets/budgets.ts';
import { StoredSpending } from '../../../../proxy/access/budgets/stored-spending.ts';
import type { Counters } from '../../../../proxy/access/counters.ts';
import { LocalCounters } from '../../../../proxy/access/local-counters.ts';
import { blankKey } from '../../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';
import { NO_BUDGET } from '../../../../proxy/access/objects/objects.ts';
import { openLedger } from '../../../../proxy/spend/ledger.ts';
import { ManualClock } from '../../../support/clock.ts';
import { tempDir } from '../../spend/store/fixture/temp-dir.ts';

t.test('counters are not asked for all budgets of a page at once', async (t) => {
  const clock = new ManualClock(1_760_000_000_000);
  const settings = { fsyncIntervalMs: 50, segmentBytes: 1 << 20, whenUnwritable: 'block' } as const;
  const ledger = await openLedger({ dataDir: tempDir(t), settings, saltKey: null, clock });
  t.teardown(() => ledger.close(10_000));
  const directory = new AccessDirectory();
  for (let i = 0; i < 50; i += 1)
    directory.put({ ...blankKey(`k${i}`, `a${i}`, 1), budget: { ...NO_BUDGET, maxBudget: 5 } });
  const counters = new LocalCounters(clock.mono);
  const budgets = new Budgets(
    {
      budgets: {
        rules: [],
        timeZone: 'UTC',
        resetMinute: 0,
        exceededStatus: 422,
        reservation: 'strict',
        allowUnverified: false,
        metricsLimit: 20,
        userBudgetsOnTeamKeys: true,
      },
      routing: { aliases: new Map() },
      deployments: [],
    },
    { ledger, counters, directory, clock, events: { emit: () => undefined } },
  );
  let [asked, underWay, most] = [0, 0, 0];
  const read: Counters['read'] = async (counter) => {
    asked += 1;
    underWay += 1;
    most = Math.max(most, underWay);
    await setImmediate();
    underWay -= 1;
    return counters.read(counter);
  };
  const spending = new StoredSpending({ budgets, counters: { read }, clock });
  t.equal((await spending.countedUsesOf(spending.capped())).length, 50);
  t.equal(asked, 100, 'before the rows are read, and after');
  asked = 0;
  t.equal((await spending.usesOf({ kind: 'key', id: 'k7' })).length, 1);
  t.equal(asked, 1, 'once for the budget of a key');
  t.ok(most <= 16, `${most} at once`);
});
