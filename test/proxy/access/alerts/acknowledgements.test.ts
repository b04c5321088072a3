// What an acknowledgement holds for: the alert, what was told of its cause before, and what is told again within a day.
import t, { type Test } from 'tap';
import type { BrakeEvent } from '../../../../proxy/access/events.ts';
import { acknowledge, acknowledgementOf, reopen } from '../../../../proxy/access/alerts/acknowledgements.ts';
import { alertOf, type Alert, type NameDirectory } from '../../../../proxy/access/alerts/alert.ts';
import { AlertHistory } from '../../../../proxy/access/alerts/alert-history.ts';
import type { Acknowledgement, RaisedAlert } from '../../../../proxy/access/alerts/raised-alert.ts';
import { History, openHistoryStore } from '../../../../proxy/items/history.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import { tempDir } from '../../spend/store/fixture/temp-dir.ts';

const HOUR_MS = 3_600_000;
const NOBODY: NameDirectory = { key: () => null, team: () => null, user: () => null };
const by = (name: string, atMs: number, note: string | null = null): Acknowledgement => ({
  atMs,
  by: name,
  userId: null,
  note,
});

const brake = (atMs: number, more: Partial<BrakeEvent> = {}): Alert =>
  alertOf(
    {
      kind: 'brake',
      atMs,
      conversation: 'talk',
      keyHash: 'k'.repeat(64),
      rule: 'repeated_step',
      level: 'alert',
      count: 5,
      text: 'Again.',
      ...more,
    },
    NOBODY,
  );

const usedUp = (windowStartMs: number): Alert =>
  alertOf(
    {
      kind: 'budget_used_up',
      scope: { kind: 'team', id: 'core' },
      budget: '1d',
      spentPico: 2n,
      limitPico: 1n,
      windowStartMs,
      resetMs: null,
      atMs: windowStartMs + 1,
    },
    NOBODY,
  );

/** A history, a way to tell it of alerts, and what is open in it. */
function opened(t: Test) {
  const store = openHistoryStore({ dataDir: tempDir(t), database: null });
  t.teardown(() => store.close());
  const history = new History<RaisedAlert>(store, 'alert', { most: 1_000, keptMs: 1e15 });
  const raise = async (...alerts: readonly Alert[]): Promise<void> => {
    const notes = new AlertHistory({ history, log: openLog('silent').log, nowMs: () => 0 });
    for (const alert of alerts)
      notes.note(alert, [{ channel: 'chat', state: 'pending', reason: null, tried: false }]);
    await notes.close();
  };
  const open = async (): Promise<readonly string[]> =>
    (await history.page(null, 500, { isSeen: false })).entries.map(({ id }) => id);
  const seen = async (id: string) => (await history.change(id, () => null))?.value.acknowledged ?? null;
  return { history, raise, open, seen };
}

t.test('an alert is acknowledged once: who was first stays, and it can be taken back', async (t) => {
  const { history, raise, open, seen } = opened(t);
  const alert = usedUp(0);
  await raise(alert);
  t.equal(await acknowledge(history, 'evt_of_nobody', by('Jane', 5)), null);
  t.equal(await reopen(history, 'evt_of_nobody'), null);
  t.match(await reopen(history, alert.id), { isNew: false }, 'nothing to take back');
  t.match(await acknowledge(history, alert.id, by('Jane', 5, 'on it')), {
    isNew: true,
    entry: { isSeen: true, state: 'pending', value: { acknowledged: { by: 'Jane', note: 'on it' } } },
  });
  t.match(await acknowledge(history, alert.id, by('Joe', 6)), {
    isNew: false,
    entry: { value: { acknowledged: { by: 'Jane', atMs: 5 } } },
  });
  t.same(await open(), []);
  t.match(await reopen(history, alert.id), { isNew: true, entry: { value: { acknowledged: null } } });
  t.same(await open(), [alert.id]);
  t.equal(await seen(alert.id), null);
});

t.test('of two who acknowledge at the same moment one is kept, and both are told whom', async (t) => {
  const { history, raise, seen } = opened(t);
  const alert = usedUp(0);
  await raise(alert);
  const both = await Promise.all(['a', 'b'].map((name) => acknowledge(history, alert.id, by(name, 5))));
  const kept = (await seen(alert.id))?.by;
  t.same(
    both.map((one) => one?.entry.value.acknowledged?.by),
    [kept, kept],
  );
  t.same(both.map((one) => one?.isNew).toSorted(), [false, true]);
});

t.test(
  'what happens to an alert at its receivers, and another server that tells it too, leave it acknowledged',
  async (t) => {
    const { history, raise, seen } = opened(t);
    const alert = usedUp(0);
    await raise(alert);
    await acknowledge(history, alert.id, by('Jane', 5));
    await raise(alert);
    t.match(await seen(alert.id), { by: 'Jane' });
  },
);

t.test('a budget in its next window is another cause', async (t) => {
  const { history, raise, open } = opened(t);
  const [today, tomorrow] = [usedUp(0), usedUp(24 * HOUR_MS)];
  await raise(today);
  await acknowledge(history, today.id, by('Jane', 5));
  await raise(tomorrow);
  t.same(await open(), [tomorrow.id]);
});

t.test('the brake again in one conversation: the same rule and level within a day is no news', async (t) => {
  const { history, raise, open, seen } = opened(t);
  const [first, second] = [brake(1), brake(2)];
  t.not(first.id, second.id, 'receivers get both');
  await raise(first, second);
  await acknowledge(history, second.id, by('Jane', 10, 'a test'));
  t.same(await open(), [], 'and what was told before it');
  const repeat = brake(10 + 24 * HOUR_MS);
  const later = brake(11 + 24 * HOUR_MS);
  const worse = brake(20, { level: 'stop' });
  const elsewhere = brake(21, { conversation: 'other' });
  const ofAnother = brake(22, { keyHash: 'o'.repeat(64) });
  const other = brake(23, { rule: 'fresh_calls' });
  await raise(repeat, later, worse, elsewhere, ofAnother, other);
  t.match(await seen(repeat.id), { by: 'Jane', atMs: 10, note: 'a test' });
  t.same(
    (await open()).toSorted(),
    [later, worse, elsewhere, ofAnother, other].map(({ id }) => id).toSorted(),
  );

  await t.test(
    'a second acknowledgement leaves the first one as it was, and so does taking it back',
    async (t) => {
      await acknowledge(history, later.id, by('Joe', 12 + 24 * HOUR_MS));
      t.match(await seen(first.id), { by: 'Jane' });
      t.match(await acknowledgementOf(history, first.cause, 12 + 24 * HOUR_MS), { by: 'Joe' });
      await reopen(history, later.id);
      t.equal(await seen(later.id), null);
      t.match(await seen(first.id), { by: 'Jane' });
      await reopen(history, repeat.id);
      t.same([await seen(first.id), await seen(second.id)], [null, null], 'all that it held for');
    },
  );
});

t.test('more of one cause than are read at once', async (t) => {
  const { history, raise, open } = opened(t);
  const all = Array.from({ length: 205 }, (_, n) => brake(n + 1));
  await raise(...all);
  await acknowledge(history, String(all[0]?.id), by('Jane', 300));
  t.same(await open(), []);
});

t.test('an entry of a version that knew no acknowledgements is open, and can be acknowledged', async (t) => {
  const { history, open } = opened(t);
  const { kind, level, subject, text } = usedUp(0);
  await history.put({ id: 'evt_old', atMs: 1 }, () => ({
    state: 'unsent',
    value: { kind, level, subject, text, deliveries: [] },
  }));
  t.same(await open(), ['evt_old']);
  t.match(await acknowledge(history, 'evt_old', by('Jane', 5)), { isNew: true });
  t.same(await open(), []);
});
