// The ledger as the request path and the spend API meet it: real journal, real worker, real database.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import type { Test } from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import { JournalUnwritable } from '../../../proxy/spend/journal/journal-state.ts';
import type { WorkerNumber } from '../../../proxy/spend/journal/journal-directories.ts';
import type { SpendEvent } from '../../../proxy/spend/event.ts';
import { openLedger } from '../../../proxy/spend/ledger.ts';
import { beginLine, settleLine } from '../../../proxy/spend/record/line.ts';
import { DirectoryLocked } from '../../../proxy/spend/store/lock.ts';
import { settingsOf } from '../../support/postgres.ts';
import { beginOf, settleOf } from './record/fixture/records.ts';
import { tempDir } from './store/fixture/temp-dir.ts';
import { Events, SETTINGS, allRows, ledgerOf } from './journal/fixture/ledgers.ts';

const journalOf = (dataDir: string): string => join(dataDir, 'journal');
/** A deadline that no machine is busy enough to miss: what `close` ships does not depend on the time. */
const ALL_SHIPPED_MS = 600_000;

const segmentsOf = (dataDir: string): string[] =>
  readdirSync(journalOf(dataDir)).filter((name) => /^journal-\d+\.log$/.test(name));
const journalText = (dataDir: string): string =>
  segmentsOf(dataDir)
    .map((name) => readFileSync(join(journalOf(dataDir), name), 'utf8'))
    .join('');

t.test(
  'a begin is in the file when its promise resolves, a settle likewise, and the row is read at once',
  async (t) => {
    const dataDir = tempDir(t);
    const { ledger } = await ledgerOf(t, dataDir);
    const begin = beginOf('id-1');
    await ledger.begin(begin);
    t.equal(journalText(dataDir), beginLine(begin));
    t.match(ledger.status, { open: 1, written: 0, pendingShip: Buffer.byteLength(beginLine(begin)) });
    const record = settleOf(begin);
    await ledger.settle(record);
    t.equal(journalText(dataDir), beginLine(begin) + settleLine(record));
    t.same(await allRows(ledger), [record]);
    t.same(ledger.status, {
      writable: true,
      reason: '',
      rowsAtRisk: 0,
      rowsLost: 0,
      open: 0,
      pendingShip: 0,
      written: 1,
      shipped: 1,
      recovered: 0,
      damaged: 0,
      removed: 0,
      storeReachable: true,
      reserveBytes: 262_144,
    });
    t.equal(statSync(dataDir).isDirectory(), true);
  },
);

t.test('the readers need no flush: summaries and look-ups see what was settled before', async (t) => {
  const { ledger } = await ledgerOf(t, tempDir(t));
  void ledger.settle(settleOf(beginOf('id-1', { callType: 'aresponses' }), { upstreamId: 'resp_1' }));
  t.match(await ledger.reader.findByUpstreamId('resp_1'), { modelId: 'deployment-1', modelGroup: 'smart' });
  void ledger.settle(settleOf(beginOf('id-2')));
  t.match(await ledger.reader.summarize({}), [{ day: '2025-10-09', requests: 2, spendPico: 2_500_000_000n }]);
});

t.test('appends of one turn share one write and keep their order, begins first', async (t) => {
  const dataDir = tempDir(t);
  const { ledger } = await ledgerOf(t, dataDir);
  const ids = Array.from({ length: 50 }, (_, n) => `id-${n}`);
  const promises = ids.map((id) => ledger.begin(beginOf(id)));
  t.equal(journalText(dataDir), '', 'nothing is written before the turn ends');
  t.equal(new Set(promises).size, 1, 'one promise for all of them');
  const settled = ledger.settle(settleOf(beginOf('id-0')));
  await Promise.all([...promises, settled]);
  const kinds = journalText(dataDir)
    .split('\n')
    .map((line) => line.slice(0, 1))
    .join('');
  t.equal(kinds, `${'B'.repeat(50)}S`);
  t.equal(ledger.status.open, 49);
});

t.test('with an fsync interval of 0 a promise waits for the disk and still resolves', async (t) => {
  const { ledger } = await ledgerOf(t, tempDir(t), { settings: { ...SETTINGS, fsyncIntervalMs: 0 } });
  const ids = Array.from({ length: 20 }, (_, n) => `id-${n}`);
  await Promise.all(
    ids.map(async (id) => {
      await ledger.begin(beginOf(id));
      await ledger.settle(settleOf(beginOf(id)));
    }),
  );
  t.equal((await allRows(ledger)).length, 20);
});

for (const whenUnwritable of ['block', 'serve'] as const)
  t.test(`a row that cannot be synced is kept, counted and written again (${whenUnwritable})`, async (t) => {
    const dataDir = tempDir(t);
    const settings = { ...SETTINGS, fsyncIntervalMs: 0, whenUnwritable };
    const { ledger, events } = await ledgerOf(t, dataDir, { settings });
    await ledger.begin(beginOf('id-1'));
    rmSync(join(journalOf(dataDir), 'journal-00000001.log')); // the write succeeds, the sync does not
    const { promise: written, resolve } = Promise.withResolvers<void>();
    let isTold = false;
    await ledger.settle(settleOf(beginOf('id-1')), () => {
      isTold = true;
      resolve();
    });
    t.notOk(isTold, 'nobody is told that it is safe');
    t.match(ledger.status, { writable: false, rowsAtRisk: 1 });
    await events.next('journal_writable');
    await written;
    t.match(ledger.status, { writable: true, rowsAtRisk: 0, rowsLost: 0 });
    t.match(journalText(dataDir), /^S [0-9a-f]{8} \{"requestId":"id-1"/m);
    t.equal((await allRows(ledger)).length, 1, 'its row is there once');
  });

t.test('a disk that does not answer holds up no end', async (t) => {
  const dataDir = tempDir(t);
  const events = new Events();
  const push = (event: SpendEvent): void => {
    events.push(event);
    if (event.name === 'journal_unsynced') mock.timers.reset(); // what comes after it takes its own time
  };
  const options = { dataDir, settings: SETTINGS, saltKey: null, clock: systemClock, onEvent: push };
  const ledger = await openLedger(options);
  await ledger.settle(settleOf(beginOf('id-1')));
  // Each of these takes a thread of those that ask the disk, until somebody writes.
  const pipe = join(tempDir(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const readers = Array.from({ length: 128 }, () => open(pipe, 'r'));
  mock.timers.enable({ apis: ['setTimeout'] });
  const closing = ledger.close(0);
  mock.timers.tick(2_000);
  await t.rejects(closing, { message: /could not be synced at the end \(the disk did not answer in time\)/ });
  t.match(
    events.all.filter(({ name }) => name === 'journal_unsynced'),
    [{ level: 'error' }],
  );
  const writer = openSync(pipe, 'r+');
  for (const reader of readers) await (await reader).close();
  closeSync(writer);
  const { ledger: next } = await ledgerOf(t, dataDir);
  t.ok(next.status.writable, 'the directory is free');
});

t.test('an end at which the disk may not have all is told, and is not a clean one', async (t) => {
  const dataDir = tempDir(t);
  const events = new Events();
  const ledger = await openLedger({
    dataDir,
    settings: { ...SETTINGS, fsyncIntervalMs: 600_000 },
    saltKey: null,
    clock: systemClock,
    onEvent: events.push,
  });
  await ledger.settle(settleOf(beginOf('id-1')));
  rmSync(join(journalOf(dataDir), 'journal-00000001.log'));
  await t.rejects(ledger.close(0), {
    message: /^the last spend records may not be on the disk: .*its file was removed/,
  });
  t.match(
    events.all.filter(({ name }) => name === 'journal_unsynced'),
    [{ level: 'error' }],
  );
  await t.rejects(ledger.close(0), 'also who asks again');
  const { ledger: next } = await ledgerOf(t, dataDir); // the directory is free all the same
  t.ok(next.status.writable);
});

t.test('a second ledger on the same directory is refused, and the first goes on', async (t) => {
  const dataDir = tempDir(t);
  const { ledger } = await ledgerOf(t, dataDir);
  await t.rejects(ledgerOf(t, dataDir), DirectoryLocked);
  await ledger.settle(settleOf(beginOf('id-1')));
  t.equal((await allRows(ledger)).length, 1);
  await ledger.close(ALL_SHIPPED_MS);
  const { ledger: next } = await ledgerOf(t, dataDir);
  t.equal((await allRows(next)).length, 1);
});

t.test('a directory that cannot be used is named, with the mend', async (t) => {
  const dir = t.testdir({ file: '' });
  const opening = openLedger({
    dataDir: join(dir, 'file'),
    settings: SETTINGS,
    saltKey: null,
    clock: systemClock,
  });
  await t.rejects(opening, {
    message:
      /^the data directory .*file cannot be used \(.*file is not a directory\) - name another one with --data-dir$/,
  });
});

t.test(
  'a close with open requests leaves begins that the next start records as interrupted, once',
  async (t) => {
    const dataDir = tempDir(t);
    const first = await ledgerOf(t, dataDir);
    await first.ledger.begin(beginOf('open-1'));
    await first.ledger.begin(beginOf('done-1'));
    await first.ledger.settle(settleOf(beginOf('done-1')));
    await first.ledger.close(ALL_SHIPPED_MS);
    await first.ledger.close(ALL_SHIPPED_MS);
    await t.rejects(first.ledger.begin(beginOf('late')), JournalUnwritable);

    const second = await ledgerOf(t, dataDir);
    t.match(second.ledger.status, { recovered: 1 });
    t.match(second.events.all, [{ name: 'recovered', message: /^1 requests of a former process/ }]);
    const rows = await allRows(second.ledger);
    t.same(
      rows.map(({ requestId, endReason }) => [requestId, endReason]),
      [
        ['done-1', 'complete'],
        ['open-1', 'interrupted'],
      ],
    );
    await second.ledger.close(ALL_SHIPPED_MS);
    const third = await ledgerOf(t, dataDir);
    t.match(third.ledger.status, { recovered: 0 });
    t.equal((await allRows(third.ledger)).length, 2);
  },
);

t.test('an interrupted request ended no later than the last write of its process', async (t) => {
  const dataDir = tempDir(t);
  const first = await ledgerOf(t, dataDir);
  await first.ledger.begin(beginOf('open-1', { startMs: Date.now() - 1000 }));
  await first.ledger.close(ALL_SHIPPED_MS);
  const diedMs = Date.now();
  const clock = { ...systemClock, now: () => diedMs + 8 * 3_600_000 };
  const { ledger } = await ledgerOf(t, dataDir, { clock });
  const [row] = await allRows(ledger);
  t.ok(row !== undefined && row.endMs <= diedMs + 1 && row.endMs > row.startMs, `ended at ${row?.endMs}`);
});

t.test('rows that the journal still holds come back when the database was deleted', async (t) => {
  const dataDir = tempDir(t);
  const first = await ledgerOf(t, dataDir);
  await first.ledger.settle(settleOf(beginOf('id-1')));
  await first.ledger.close(ALL_SHIPPED_MS);
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(join(dataDir, `throughline.db${suffix}`), { force: true });
  const second = await ledgerOf(t, dataDir);
  t.same(
    (await allRows(second.ledger)).map((row) => row.requestId),
    ['id-1'],
  );
});

t.test('files of SQLite that a named database leaves unread are told', async (t) => {
  const dataDir = tempDir(t);
  const database = settingsOf('postgresql://nobody@127.0.0.1:1/none?sslmode=disable');
  const told = async (worker?: WorkerNumber): Promise<string[]> => {
    const { ledger, events } = await ledgerOf(t, dataDir, { database, worker });
    await ledger.close(0);
    return events.all.filter(({ name }) => name === 'sqlite_not_read').map(({ message }) => message);
  };
  t.same(await told(), []);
  const { ledger, events } = await ledgerOf(t, dataDir);
  await ledger.flush();
  await ledger.close(ALL_SHIPPED_MS);
  t.notOk(events.names().includes('sqlite_not_read'));
  writeFileSync(join(dataDir, 'access.db'), '');
  t.match(await told(), [
    /^access\.db, throughline\.db in .* are not read, because a database is named: keys, /,
  ]);
  t.same(await told({ number: 2, count: 2 }), [], 'once for all workers');
});

t.test('a journal that was deleted does not make the store skip the new one', async (t) => {
  const dataDir = tempDir(t);
  const first = await ledgerOf(t, dataDir);
  for (let n = 0; n < 20; n++) await first.ledger.settle(settleOf(beginOf(`old-${n}`)));
  await first.ledger.flush();
  await first.ledger.close(ALL_SHIPPED_MS);
  rmSync(journalOf(dataDir), { recursive: true });
  const second = await ledgerOf(t, dataDir);
  await second.ledger.settle(settleOf(beginOf('new-1')));
  t.equal((await allRows(second.ledger)).length, 21);
});

const SMALL = { ...SETTINGS, segmentBytes: 8 << 10 };

/** Some 50 segments' worth of calls, and then as many more as it takes until few segments are left. @returns how many */
async function fill(t: Test, dataDir: string): Promise<number> {
  const { ledger } = await ledgerOf(t, dataDir, { settings: SMALL });
  await ledger.begin(beginOf('long'));
  let count = 0;
  while (count < 200 || segmentsOf(dataDir).length > 8) {
    await ledger.begin(beginOf(`id-${count}`));
    await ledger.settle(settleOf(beginOf(`id-${count}`)));
    count += 1;
    if (count % 20 === 0) await ledger.flush();
  }
  await ledger.close(ALL_SHIPPED_MS);
  return count;
}

t.test(
  'shipped segments are deleted; an open request does not hold them, and is not forgotten',
  async (t) => {
    const dataDir = tempDir(t);
    const count = await fill(t, dataDir);
    t.match(journalText(dataDir), /^B [0-9a-f]{8} \{"requestId":"long"/m, 'its begin was carried forward');
    const { ledger } = await ledgerOf(t, dataDir, { settings: SMALL });
    const rows = await allRows(ledger);
    t.equal(rows.length, count + 1);
    t.same(
      rows.filter((row) => row.endReason === 'interrupted').map((row) => row.requestId),
      ['long'],
    );
  },
);

t.test(
  'a store that cannot be opened stops nobody: the journal grows, readers are told, and all arrives later',
  async (t) => {
    const dataDir = tempDir(t);
    const database = join(dataDir, 'throughline.db');
    mkdirSync(database);
    const { ledger, events } = await ledgerOf(t, dataDir, { settings: SMALL });
    for (let n = 0; n < 60; n++) {
      await ledger.begin(beginOf(`id-${n}`));
      await ledger.settle(settleOf(beginOf(`id-${n}`)));
    }
    const unreachable = await events.next('store_unreachable');
    t.match(unreachable.message, /the journal keeps all records meanwhile$/);
    await t.rejects(allRows(ledger), { name: 'StoreUnavailable' });
    t.match(ledger.status, { storeReachable: false, writable: true, written: 60, shipped: 0, rowsAtRisk: 0 });
    t.ok(ledger.status.pendingShip > 60_000);
    t.ok(segmentsOf(dataDir).length > 5);
    rmdirSync(database);
    await events.next('store_reachable');
    t.equal((await allRows(ledger)).length, 60);
    t.match(ledger.status, { storeReachable: true, shipped: 60, pendingShip: 0 });
  },
);

t.test('a database that is damaged while rows wait is replaced, and the rows arrive', async (t) => {
  const dataDir = tempDir(t);
  writeFileSync(join(dataDir, 'throughline.db'), 'garbage '.repeat(1000));
  const { ledger, events } = await ledgerOf(t, dataDir);
  await ledger.settle(settleOf(beginOf('id-1')));
  await events.next('store_moved_aside');
  await events.next('store_reachable');
  t.equal((await allRows(ledger)).length, 1);
});

t.test('runtime models are kept through the ledger', async (t) => {
  const dataDir = tempDir(t);
  const first = await ledgerOf(t, dataDir);
  await first.ledger.models.putModel('m-1', { model_name: 'a' });
  await first.ledger.close(ALL_SHIPPED_MS);
  const second = await ledgerOf(t, dataDir);
  t.same(await second.ledger.models.listModels(), [{ id: 'm-1', entry: { model_name: 'a' } }]);
});
