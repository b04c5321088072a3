// Stopped conversations in a database that goes away: what was stopped meanwhile holds in the other servers when it is back.
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DurableStops } from '../../../../proxy/access/brake/durable-stops.ts';
import type { StopChange } from '../../../../proxy/access/brake/stops.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import { openExtensionTables } from '../../../../proxy/spend/store/postgres/extension-tables.ts';
import { ManualClock } from '../../../support/clock.ts';
import { beforeNextLook } from '../../../support/patience.ts';
import { ownPostgres, settingsOf } from '../../../support/postgres.ts';
import { tempDir } from '../../spend/store/fixture/temp-dir.ts';

const change = (conversation: string, atMs: number, isStopped = true): StopChange => ({
  conversation,
  holder: 'k',
  atMs,
  stopped: isStopped ? { rule: 'repeated_step', count: 6, bytes: 100 } : null,
});

interface Server {
  readonly stops: DurableStops;
  /** The last change of each conversation that it was told. */
  readonly told: ReadonlyMap<string, StopChange>;
}

async function server(t: Test, url: string): Promise<Server> {
  const settings = settingsOf(url);
  const extensionTables = openExtensionTables(settings);
  const told = new Map<string, StopChange>();
  const stops = new DurableStops({
    dataDir: tempDir(t),
    database: { extensionTables, schema: settings.schema },
    worker: null,
    clock: new ManualClock(1_000_000),
    log: openLog('silent').log,
    told: (one) => told.set(one.conversation, one),
  });
  await stops.open(1_000_000);
  t.teardown(async () => {
    await stops.close();
    await extensionTables.close();
  });
  return { stops, told };
}

async function until(fits: () => boolean): Promise<void> {
  while (!fits()) await beforeNextLook();
}

t.test('what is stopped while the database is away the others hear when it is back', async (t) => {
  const database = await ownPostgres(t);
  if (database === null) {
    t.comment('no PostgreSQL is installed');
    return;
  }
  const url = database.url();
  const [one, two] = [await server(t, url), await server(t, url)];
  one.stops.keep(change('before', 1));
  await until(() => two.told.has('before'));
  await database.stop();
  one.stops.keep(change('stopped', 2));
  one.stops.keep(change('goes on', 2));
  await database.start();
  const goesOn = { ...change('goes on', 3, false), bytes: 77 };
  two.stops.keep(goesOn);
  await until(() => one.told.get('goes on')?.stopped === null && two.told.has('stopped'));
  t.same(two.told.get('stopped'), change('stopped', 2));
  await one.stops.close();
  const next = await server(t, url);
  t.same([...next.told.keys()].toSorted(), ['before', 'goes on', 'stopped']);
  t.same(next.told.get('goes on'), goesOn, 'the later change counts, with the size that was resumed');
});

t.test(
  'stops that are idle for too long go while the process runs, not at its next start alone',
  async (t) => {
    const dataDir = tempDir(t);
    const clock = new ManualClock(1_000_000);
    const log = openLog('silent').log;
    const told = (): void => undefined;
    const stops = new DurableStops({ dataDir, database: null, worker: null, clock, log, told });
    await stops.open(60_000);
    for (let n = 0; n < 100; n += 1) stops.keep(change(`old ${n}`, clock.now()));
    clock.advance(60_001);
    for (let n = 0; n < 100; n += 1) stops.keep(change(`new ${n}`, clock.now()));
    await stops.close();
    const db = new DatabaseSync(join(dataDir, 'brake.db'));
    t.teardown(() => db.close());
    const ids = db.prepare('SELECT id FROM items').all();
    t.equal(ids.length, 100);
    t.ok(ids.every(({ id }) => String(id).startsWith('k new')));
  },
);
