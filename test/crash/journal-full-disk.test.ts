// A full disk under the journal, made of a small tmpfs: new requests are refused (or served and counted), what is
// running is kept, and all goes on by itself once there is room.
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { JournalUnwritable } from '../../proxy/spend/journal/journal-state.ts';
import type { Ledger } from '../../proxy/spend/ledger.ts';
import { segmentPath } from '../../proxy/spend/store/segments.ts';
import { SETTINGS, allRows, ledgerOf, CLOSE_MS } from '../proxy/spend/journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../proxy/spend/record/fixture/records.ts';
import { noSmallDisk, smallDisk, type SmallDisk } from '../support/small-disk.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';

interface JournalDisk extends SmallDisk {
  readonly dataDir: string;
  readonly journalDir: string;
}

/** A data directory whose journal lies on a tmpfs of 256 KiB. */
function journalOnSmallDisk(t: Test): JournalDisk {
  const dataDir = tempDir(t);
  const journalDir = join(dataDir, 'journal');
  return { dataDir, journalDir, ...smallDisk(t, journalDir) };
}

const skip = noSmallDisk();

/** Begins until the last free bytes of the last page are used. */
async function beginUntilRefused(ledger: Ledger): Promise<{ begun: string[]; refusal: unknown }> {
  const begun: string[] = [];
  for (let n = 0; n < 100; n++) {
    try {
      await ledger.begin(beginOf(`filling-${n}`));
      begun.push(`filling-${n}`);
    } catch (error) {
      return { begun, refusal: error };
    }
  }
  return { begun, refusal: null };
}

t.test(
  'block: new requests are refused with the reason, running ones are kept, and all arrives when there is room',
  { skip },
  async (t) => {
    const disk = journalOnSmallDisk(t);
    const { ledger, events } = await ledgerOf(t, disk.dataDir);
    await ledger.begin(beginOf('running'));
    disk.fill();
    const { begun, refusal } = await beginUntilRefused(ledger);
    t.ok(refusal instanceof JournalUnwritable);
    t.match(refusal, {
      message: /^the spend journal in .*journal cannot be written \(ENOSPC.*\) - free space on that disk/,
    });
    t.match(ledger.status, { writable: false, reason: /ENOSPC/, rowsAtRisk: 0, open: begun.length + 1 });
    t.match(readFileSync(segmentPath(disk.journalDir, 1), 'utf8'), /\}\n$/, 'no torn line is left behind');

    const written: string[] = [];
    await ledger.settle(settleOf(beginOf('running')), () => written.push('running'));
    t.same(written, [], 'shared counters hear of it when the disk has it');
    await ledger.settle(
      settleOf(beginOf('refused'), { status: 'failure', endReason: 'refused', httpStatus: 503 }),
    );
    t.equal(ledger.status.rowsAtRisk, 2);
    await t.rejects(ledger.begin(beginOf('another')), JournalUnwritable);

    disk.free();
    await events.next('journal_writable');
    t.same(written, ['running']);
    t.match(ledger.status, { writable: true, reason: '', rowsAtRisk: 0, rowsLost: 0 });
    await ledger.begin(beginOf('after'));
    await ledger.settle(settleOf(beginOf('after')));
    const ids = (await allRows(ledger)).map((row) => row.requestId);
    t.same(ids.toSorted(), ['after', 'refused', 'running']);
    t.same(events.names(), ['journal_unwritable', 'journal_writable'], 'told once each');

    await ledger.close(CLOSE_MS);
    const { ledger: next } = await ledgerOf(t, disk.dataDir);
    t.match(next.status, { recovered: begun.length, damaged: 0 });
    t.equal((await allRows(next)).length, 3 + begun.length);
    await next.close(CLOSE_MS);
  },
);

t.test(
  'with a reserve: the rows of running calls are written on the full disk, and another one is made with room',
  { skip },
  async (t) => {
    const dataDir = tempDir(t);
    const disk = smallDisk(t, join(dataDir, 'journal'), '4m');
    const { ledger, events } = await ledgerOf(t, dataDir);
    const running = Array.from({ length: 200 }, (_, n) => beginOf(`running-${n}`));
    for (const begin of running) await ledger.begin(begin);
    t.ok(ledger.status.reserveBytes >= 200 * 2_048, 'it has grown with the calls');
    disk.fill();
    const { begun, refusal } = await beginUntilRefused(ledger);
    t.ok(refusal instanceof JournalUnwritable);
    await ledger.settle(
      settleOf(beginOf('refused'), { status: 'failure', endReason: 'refused', httpStatus: 503 }),
    );
    for (const begin of running) await ledger.settle(settleOf(begin));
    t.match(
      ledger.status,
      { writable: false, reason: /ENOSPC/, rowsAtRisk: 1, reserveBytes: 0 },
      'the refused one waits',
    );
    t.equal((await allRows(ledger)).length, 200, 'the store is elsewhere, and has them');

    disk.free();
    await events.next('journal_writable');
    t.match(ledger.status, { writable: true, rowsAtRisk: 0, rowsLost: 0 });
    t.ok(ledger.status.reserveBytes > 0);
    await ledger.begin(beginOf('after'));
    await ledger.settle(settleOf(beginOf('after')));
    t.equal((await allRows(ledger)).length, 202);
    t.same(events.names(), ['journal_unwritable', 'journal_writable'], 'told once each');
    await ledger.close(CLOSE_MS);
    const { ledger: next } = await ledgerOf(t, dataDir);
    t.match(next.status, { recovered: begun.length, damaged: 0 });
    await next.close(CLOSE_MS);
  },
);

t.test(
  'more rows than the reserve holds wait in memory, and a second full disk finds the next reserve',
  { skip },
  async (t) => {
    const dataDir = tempDir(t);
    const disk = smallDisk(t, join(dataDir, 'journal'), '4m');
    const told = new EventEmitter();
    const { ledger } = await ledgerOf(t, dataDir, { onEvent: ({ name }) => void told.emit(name) });
    const long = { tags: Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(200, 'x')) };
    for (const round of [1, 2]) {
      const running = Array.from({ length: 40 }, (_, n) => beginOf(`${round}-${n}`));
      for (const begin of running) await ledger.begin(begin);
      disk.fill();
      const { begun } = await beginUntilRefused(ledger);
      for (const begin of running) await ledger.settle(settleOf(begin, long)); // some 800 KB
      const { rowsAtRisk } = ledger.status;
      t.ok(rowsAtRisk > 10 && rowsAtRisk < 40, `${rowsAtRisk} of 40 wait`);
      for (const id of begun) await ledger.settle(settleOf(beginOf(id)));
      const writable = once(told, 'journal_writable');
      disk.free();
      const alive = setInterval(() => undefined, 1_000); // the journal's own timers keep no process alive
      await writable;
      clearInterval(alive);
      t.match(ledger.status, { rowsAtRisk: 0, rowsLost: 0, open: 0 });
    }
    t.equal((await allRows(ledger)).filter(({ requestId }) => /^\d-/.test(requestId)).length, 80);
    await ledger.close(CLOSE_MS);
  },
);

t.test('serve: requests go on and are counted at risk until there is room', { skip }, async (t) => {
  const disk = journalOnSmallDisk(t);
  const { ledger, events } = await ledgerOf(t, disk.dataDir);
  ledger.reconfigure({ ...SETTINGS, whenUnwritable: 'serve' }, null);
  disk.fill();
  for (let n = 0; n < 20; n++) await ledger.begin(beginOf(`id-${n}`));
  for (let n = 0; n < 15; n++) await ledger.settle(settleOf(beginOf(`id-${n}`)));
  const { rowsAtRisk, writable } = ledger.status;
  t.equal(writable, false);
  t.ok(rowsAtRisk >= 15 && rowsAtRisk <= 20, `${rowsAtRisk} at risk`);
  disk.free();
  await events.next('journal_writable');
  t.equal(ledger.status.rowsAtRisk, 0);
  t.equal((await allRows(ledger)).length, 15);
  await ledger.close(CLOSE_MS);
  const { ledger: next } = await ledgerOf(t, disk.dataDir);
  t.match(next.status, { recovered: 5, damaged: 0 });
  t.equal((await allRows(next)).length, 20);
  await next.close(CLOSE_MS);
});

t.test(
  'a ledger closed while the disk is full says how many records it could not write',
  { skip },
  async (t) => {
    const disk = journalOnSmallDisk(t);
    const { ledger, events } = await ledgerOf(t, disk.dataDir);
    await ledger.begin(beginOf('running'));
    disk.fill();
    await beginUntilRefused(ledger);
    await ledger.settle(settleOf(beginOf('running')));
    await ledger.close(CLOSE_MS);
    t.match((await events.next('rows_lost')).message, /^1 spend records could not be written before the end/);
  },
);
