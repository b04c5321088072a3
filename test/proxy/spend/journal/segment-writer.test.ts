// Files of the journal that somebody removes or moves while they are written: writes go on without an error then, into a file
// that nobody can read. It is noticed, what was written is kept, and writing goes on once there is a place.
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { allJournals, journalId } from '../../../../proxy/spend/journal/journal-directories.ts';
import { JournalUnwritable } from '../../../../proxy/spend/journal/journal-state.ts';
import { SegmentWriter } from '../../../../proxy/spend/journal/segment-writer.ts';
import { segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { noSmallDisk, smallDisk } from '../../../support/small-disk.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';
import { allRows, CLOSE_MS, ledgerOf } from './fixture/ledgers.ts';

const SEGMENT_BYTES = 1 << 20;

function writerIn(t: Test, dir: string): SegmentWriter {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'id'), 'ours\n');
  const writer = new SegmentWriter(dir, 1, SEGMENT_BYTES);
  t.teardown(() => writer.close());
  return writer;
}

for (const { what, remove } of [
  { what: 'the file', remove: (dataDir: string) => rmSync(segmentPath(join(dataDir, 'journal'), 1)) },
  { what: 'the journal', remove: (dataDir: string) => rmSync(join(dataDir, 'journal'), { recursive: true }) },
  { what: 'all data', remove: (dataDir: string) => rmSync(dataDir, { recursive: true }) },
]) {
  t.test(`${what} removed while calls run: told, and no row that waited for the store is lost`, async (t) => {
    const dataDir = tempDir(t);
    const { ledger, events } = await ledgerOf(t, dataDir);
    await ledger.begin(beginOf('before'));
    await ledger.settle(settleOf(beginOf('before')));
    await ledger.begin(beginOf('running'));
    remove(dataDir);
    await ledger.settle(settleOf(beginOf('running')));
    t.match((await events.next('journal_unwritable')).message, /its file was removed/);
    await t.rejects(ledger.begin(beginOf('refused')), JournalUnwritable);
    await events.next('journal_writable');
    t.match(ledger.status, { writable: true, rowsAtRisk: 0, rowsLost: 0 });
    t.same(
      allJournals(dataDir).map(journalId),
      ledger.journals,
      'it has its name again, for `spend verify` and for workers',
    );
    t.ok(ledger.status.reserveBytes > 0, 'there is a reserve again');
    await ledger.begin(beginOf('after'));
    await ledger.settle(settleOf(beginOf('after')));
    await ledger.begin(beginOf('open'));
    const ids = (await allRows(ledger)).map(({ requestId }) => requestId);
    t.same(ids.toSorted(), ['after', 'before', 'running']);
    await ledger.close(CLOSE_MS);
    const { ledger: next } = await ledgerOf(t, dataDir);
    t.match(next.status, { recovered: 1, damaged: 0 });
    t.equal((await allRows(next)).length, 4);
    await next.close(CLOSE_MS);
  });
}

t.test('a directory that was moved away and comes back: writing goes on in it', async (t) => {
  const dir = join(tempDir(t), 'journal');
  const writer = writerIn(t, dir);
  t.equal(writer.write(Buffer.from('one\n')), null);
  t.equal(await writer.sync(), null);
  renameSync(dir, `${dir}-away`);
  t.equal(writer.write(Buffer.from('two\n')), null, 'the system says nothing');
  t.match(await writer.sync(), { message: /its file was removed/ });
  renameSync(`${dir}-away`, dir);
  t.ok(writer.rotate());
  t.equal(writer.write(Buffer.from('three\n')), null);
  t.equal(await writer.sync(), null);
  t.same(
    [readFileSync(segmentPath(dir, 1), 'utf8'), readFileSync(segmentPath(dir, 2), 'utf8')],
    ['one\ntwo\n', 'three\n'],
  );
});

t.test(
  'a folder that may not be searched any more holds its file all the same',
  { skip: process.geteuid?.() === 0 && 'root may search all' },
  async (t) => {
    const dir = join(tempDir(t), 'journal');
    const writer = writerIn(t, dir);
    t.teardown(() => chmodSync(dir, 0o700));
    chmodSync(dir, 0);
    t.equal(writer.write(Buffer.from('one\n')), null);
    t.equal(await writer.sync(), null);
  },
);

t.test('nothing is written into another journal that has taken the place', async (t) => {
  const dir = join(tempDir(t), 'journal');
  const writer = writerIn(t, dir);
  t.equal(writer.write(Buffer.from('one\n')), null);
  renameSync(dir, `${dir}-away`);
  mkdirSync(dir);
  writeFileSync(join(dir, 'id'), 'theirs\n');
  t.notOk(writer.rotate());
  t.same(readdirSync(dir), ['id']);
});

t.test(
  'nothing is written below a volume that is not mounted for a moment',
  { skip: noSmallDisk() },
  async (t) => {
    const dir = join(tempDir(t), 'journal');
    mkdirSync(dir);
    const writer = writerIn(t, dir);
    t.equal(writer.write(Buffer.from('one\n')), null);
    smallDisk(t, dir);
    t.notOk(writer.rotate());
    t.same(readdirSync(dir), []);
  },
);
