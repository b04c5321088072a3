// A full disk under the journal, made of a small tmpfs: new requests are refused (or served and counted), what is
// running is kept, and all goes on by itself once there is room.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { JournalUnwritable } from '../../proxy/spend/journal/journal.ts';
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

    await ledger.settle(settleOf(beginOf('running')));
    await ledger.settle(
      settleOf(beginOf('refused'), { status: 'failure', endReason: 'refused', httpStatus: 503 }),
    );
    t.equal(ledger.status.rowsAtRisk, 2);
    await t.rejects(ledger.begin(beginOf('another')), JournalUnwritable);

    disk.free();
    await events.next('journal_writable');
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
