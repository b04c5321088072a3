// How long and how much is kept of events: age, total size, another sealing key. On the real store, with a clock that the
// test sets.
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Secret } from '../../../config/secret.ts';
import type { EventSettings } from '../../../config/platform-settings.ts';
import { newEventOf } from '../../../platform/events/event.ts';
import { KeptEvents } from '../../../platform/events/kept-events.ts';
import { rotate, Vault } from '../../../platform/store/vault.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { ManualClock } from '../../support/clock.ts';
import { openPlatformFile, type PlatformStore } from '../../../platform/store/store.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const SILENT_LOG = openLog('silent').log;
const DAY_MS = 86_400_000;
const SETTINGS: EventSettings = {
  keep: true,
  maxAgeMs: 30 * DAY_MS,
  maxEvents: 100,
  maxBytes: 1_000_000,
  maxTotalBytes: 10_000_000,
};
const ALL = { order: 'oldest', from: null, limit: 100 } as const;

interface Kept {
  readonly kept: KeptEvents;
  readonly store: PlatformStore;
  readonly clock: ManualClock;
  readonly vault: Vault;
  /** One event of that many bytes, or a few more. */
  keep(conversation: string, event: string, bytes?: number): Promise<void>;
  /** What there is once the last sweep has ended. */
  swept(conversation: string): Promise<readonly unknown[] | null>;
}

const secret = (fill: number): Vault => new Vault(new Secret(Buffer.alloc(32, fill).toString('base64')));

function open(t: Test, settings: EventSettings): Kept {
  const store = openPlatformFile(join(tempDir(t), 'platform.db'));
  t.teardown(() => store.close());
  const clock = new ManualClock();
  const vault = secret(1);
  const kept = new KeptEvents({ settings, store, vault, clock, log: SILENT_LOG });
  return {
    kept,
    store,
    clock,
    vault,
    keep: async (id, event, bytes = 10) => {
      const value = newEventOf({ id: event, kind: 'MessageEvent', text: 'x'.repeat(bytes) });
      if (value !== null) await kept.keep({ id, userId: 'alice' }, [value]);
    },
    swept: async (id) => {
      await kept.close();
      return (await kept.search(id, {}, ALL))?.items ?? null;
    },
  };
}

t.test('a conversation that was quiet for too long loses its events', async (t) => {
  const rig = open(t, SETTINGS);
  await rig.keep('old', 'a');
  rig.clock.advance(29 * DAY_MS);
  await rig.keep('alive', 'a');
  rig.clock.advance(2 * DAY_MS);
  rig.kept.start();
  t.equal(await rig.swept('old'), null);
  t.match(await rig.swept('alive'), [{ id: 'a' }]);
  t.equal(await rig.store.count({ kind: 'event' }), 1, 'nothing of the other one is left');
});

t.test('above the bound of all, those that were quiet longest lose theirs', async (t) => {
  const rig = open(t, { ...SETTINGS, maxTotalBytes: 1_000 });
  for (const id of ['first', 'second', 'third']) {
    await rig.keep(id, 'a', 400);
    rig.clock.advance(1_000);
  }
  t.equal(await rig.swept('first'), null);
  t.match([await rig.swept('second'), await rig.swept('third')], [[{ id: 'a' }], [{ id: 'a' }]]);
});

t.test(
  'with another sealing key, and after a restart, they can be read; without their log they cannot',
  async (t) => {
    const rig = open(t, SETTINGS);
    await rig.keep('one', 'a');
    const next = secret(2);
    await rig.vault.check(rig.store, 0);
    await rotate(rig.store, rig.vault, next, 0);
    const after = new KeptEvents({
      settings: SETTINGS,
      store: rig.store,
      vault: next,
      clock: rig.clock,
      log: SILENT_LOG,
    });
    t.match((await after.search('one', {}, ALL))?.items, [{ id: 'a' }]);
    await rig.store.apply([{ remove: { kind: 'event_log', id: 'one' } }]);
    await rig.keep('one', 'b');
    t.match((await after.search('one', {}, ALL).catch(() => null))?.items ?? [], []);
  },
);

t.test('the same events from two sides at once are stored once', async (t) => {
  const rig = open(t, SETTINGS);
  const other = new KeptEvents({
    settings: SETTINGS,
    store: rig.store,
    vault: rig.vault,
    clock: rig.clock,
    log: SILENT_LOG,
  });
  const events = ['a', 'b', 'c'].flatMap((id) => newEventOf({ id }) ?? []);
  await Promise.all([
    rig.kept.keep({ id: 'one', userId: '' }, events),
    other.keep({ id: 'one', userId: '' }, events),
  ]);
  t.same(await rig.kept.search('one', {}, ALL), {
    items: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
    next_page_id: null,
  });
});
