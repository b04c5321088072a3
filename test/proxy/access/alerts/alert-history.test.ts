// What the history says of an alert after each thing that happens to it, and that a store which is away loses nothing.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Alert } from '../../../../proxy/access/alerts/alert.ts';
import { AlertHistory } from '../../../../proxy/access/alerts/alert-history.ts';
import type { RaisedAlert } from '../../../../proxy/access/alerts/raised-alert.ts';
import { History, openHistoryStore } from '../../../../proxy/items/history.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import { tempDir } from '../../spend/store/fixture/temp-dir.ts';

const alert: Alert = {
  id: 'evt_1',
  cause: 'evt_1',
  kind: 'soft_budget',
  atMs: 1_000,
  level: 'warning',
  subject: { kind: 'team', id: 't1', name: 'team <b>' },
  text: 'Soft budget reached.',
  members: {},
};

function opened(t: { teardown(act: () => unknown): unknown }, dataDir: string, retryMs = 1) {
  const store = openHistoryStore({ dataDir, database: null });
  t.teardown(() => store.close());
  const history = new History<RaisedAlert>(store, 'alert', { most: 10, keptMs: 1e12 });
  const failed = Promise.withResolvers<void>();
  const { log } = openLog('info', { write: () => failed.resolve() });
  const notes = new AlertHistory({ history, log, nowMs: () => 2_000, retryMs });
  /** Settles when the entry fits. */
  const until = async (fits: (one: RaisedAlert & { readonly state: string }) => boolean) => {
    for (;;) {
      const found = await history.page(null, 1).catch(() => null);
      const [one] = found?.entries ?? [];
      if (one !== undefined && fits({ ...one.value, state: one.state }))
        return { ...one.value, state: one.state };
    }
  };
  return { notes, until, history, failed: failed.promise };
}

t.test(
  'an alert is pending, tried, and delivered; what another server says later changes nothing',
  async (t) => {
    const { notes, until } = opened(t, tempDir(t));
    const at = (channel: string) => ({ channel, reason: null, tried: true });
    notes.note(alert, [
      { ...at('a'), state: 'pending', tried: false },
      { ...at('b'), state: 'pending', tried: false },
    ]);
    t.match(await until(() => true), { state: 'pending', deliveries: [{ attempts: 0 }, { attempts: 0 }] });
    notes.note(alert, [{ ...at('a'), state: 'pending', reason: 'the receiver answers 503' }]);
    t.match(await until(({ deliveries: [a] }) => a?.attempts === 1), {
      state: 'pending',
      deliveries: [{ reason: 'the receiver answers 503' }, {}],
    });
    notes.note(alert, [{ ...at('a'), state: 'delivered' }]);
    notes.note(alert, [{ ...at('b'), state: 'failed', reason: 'the receiver answers 410' }]);
    t.match(await until(({ state }) => state === 'failed'), {
      subject: { name: 'team <b>' },
      deliveries: [
        { channel: 'a', state: 'delivered', attempts: 2, reason: null, changedMs: 2_000 },
        { channel: 'b', state: 'failed', attempts: 1, reason: 'the receiver answers 410' },
      ],
    });
    notes.note(alert, [{ ...at('a'), state: 'failed', reason: 'late' }]);
    t.match(await until(({ deliveries: [a] }) => a?.attempts === 3), {
      deliveries: [{ state: 'delivered', reason: null }, {}],
    });
    await notes.close();
  },
);

t.test('without a receiver it is unsent', async (t) => {
  const { notes, until } = opened(t, tempDir(t));
  notes.note(alert, []);
  t.match(await until(() => true), { state: 'unsent', deliveries: [] });
  await notes.close();
});

t.test('what a store that is away could not take is written when it is back', async (t) => {
  const dataDir = join(tempDir(t), 'not-there-yet');
  const { notes, until } = opened(t, dataDir);
  notes.note(alert, [{ channel: 'a', state: 'pending', reason: null, tried: false }]);
  notes.note(alert, [{ channel: 'a', state: 'delivered', reason: null, tried: true }]);
  await new Promise((resolve) => setImmediate(resolve));
  mkdirSync(dataDir);
  t.match(await until(({ state }) => state === 'delivered'), { deliveries: [{ attempts: 1 }] });
  await notes.close();
});

t.test('what waits for a store that is back is written at the end', async (t) => {
  const dataDir = join(tempDir(t), 'not-there-yet');
  const { notes, history, failed } = opened(t, dataDir, 3_600_000);
  notes.note(alert, [{ channel: 'a', state: 'pending', reason: null, tried: false }]);
  notes.note(alert, [{ channel: 'a', state: 'delivered', reason: null, tried: true }]);
  await failed;
  mkdirSync(dataDir);
  await notes.close();
  t.match((await history.page(null, 2)).entries, [
    { state: 'delivered', value: { deliveries: [{ attempts: 1 }] } },
  ]);
});
