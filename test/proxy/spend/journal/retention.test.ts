// Old rows go in the background when a period is configured, and only then.
import t from 'tap';
import { Retention } from '../../../../proxy/spend/journal/retention.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';
import { allRows, Events, ledgerOf, SETTINGS } from './fixture/ledgers.ts';

const DAY_MS = 86_400_000;

t.test('a period that is configured while the ledger runs removes what is older, and says so', async (t) => {
  const { ledger, events } = await ledgerOf(t, tempDir(t));
  const nowMs = Date.now();
  for (let n = 0; n < 5_000; n += 1) {
    void ledger.settle(settleOf(beginOf(`old-${n}`, { startMs: nowMs - 100 * DAY_MS })));
  }
  await ledger.settle(settleOf(beginOf('young', { startMs: nowMs })));
  await ledger.flush();
  ledger.reconfigure(SETTINGS, 30 * DAY_MS);
  t.match(await events.next('rows_removed'), { level: 'info', message: /older than the retention period/ });
  t.same(
    (await allRows(ledger)).map(({ requestId }) => requestId),
    ['young'],
  );
  t.equal(ledger.status.removed, 5_000);
});

t.test('a store that is away keeps its rows, and that is said', async (t) => {
  const events = new Events();
  const store = { prune: (): Promise<never> => Promise.reject(new Error('away')) };
  const retention = new Retention(
    { store, clock: { now: Date.now, mono: () => 0 }, onEvent: events.push },
    null,
  );
  t.teardown(() => retention.stop());
  retention.reconfigure(DAY_MS);
  t.match(await events.next('rows_kept'), { level: 'warn', message: 'old rows could not be removed: away' });
  t.equal(retention.removed, 0);
});

t.test('a period that comes while rows are removed takes effect at once', async (t) => {
  const begun = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const first = Promise.withResolvers<{ readonly rows: number; readonly done: boolean }>();
  const store = {
    prune: (beforeMs: number) => {
      begun.shift()?.resolve(beforeMs);
      return first.promise;
    },
  };
  const clock = { now: () => 10 * DAY_MS, mono: () => 0 };
  const retention = new Retention({ store, clock, onEvent: () => undefined }, null);
  t.teardown(() => retention.stop());
  const [once, again] = begun.map(({ promise }) => promise);
  retention.reconfigure(5 * DAY_MS);
  t.equal(await once, 5 * DAY_MS);
  retention.reconfigure(2 * DAY_MS);
  first.resolve({ rows: 0, done: true });
  t.equal(await again, 8 * DAY_MS);
});
