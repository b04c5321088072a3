// Recovery of every torn and damaged journal that a crash can leave.
import { appendFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { recoverJournal } from '../../../../proxy/spend/journal/recover.ts';
import { beginLine, settleLine } from '../../../../proxy/spend/record/line.ts';
import { listSegments, segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';

const begin = (id: string): string => beginLine(beginOf(id));
const settle = (id: string): string => settleLine(settleOf(beginOf(id)));

t.test('an empty directory is made, and gets a new id each time it is empty', async (t) => {
  const dir = join(t.testdir(), 'a', 'journal');
  const first = recoverJournal(dir);
  t.match(first, { segments: [], open: [], damaged: 0, lastWriteMs: 0, journalId: /^[0-9a-f-]{36}$/ });
  t.not(recoverJournal(dir).journalId, first.journalId);
  writeFileSync(segmentPath(dir, 1), '');
  const second = recoverJournal(dir).journalId;
  t.equal(recoverJournal(dir).journalId, second);
});

t.test('a torn tail is cut at every byte of the last line', async (t) => {
  const dir = t.testdir();
  const path = segmentPath(dir, 1);
  const good = Buffer.from(begin('a') + begin('b') + settle('a'));
  const last = Buffer.from(settle('b'));
  let wrong = 0;
  for (let length = 0; length <= last.length; length++) {
    writeFileSync(path, Buffer.concat([good, last.subarray(0, length)]));
    const { open, damaged } = recoverJournal(dir);
    const whole = length >= last.length - 1; // a line that lacks only its newline is completed
    const expected = whole ? Buffer.concat([good, last]) : good;
    const openIds = open.map(({ requestId }) => requestId).join();
    if (damaged !== 0 || openIds !== (whole ? '' : 'b') || !readFileSync(path).equals(expected)) wrong++;
  }
  t.equal(wrong, 0);
  t.notOk(readdirSync(dir).includes('damaged.log'));
});

t.test(
  'damage in the middle is set aside and blanked, what stands around it is kept, and a second run finds nothing',
  async (t) => {
    const dir = t.testdir();
    const bad = settle('b').replace('alice', 'malice');
    writeFileSync(segmentPath(dir, 1), begin('a') + begin('b') + bad + settle('a'));
    writeFileSync(segmentPath(dir, 2), `\0\0\0\0junk\n${begin('c')}`);
    const sizes = [1, 2].map((n) => readFileSync(segmentPath(dir, n)).length);
    const first = recoverJournal(dir);
    t.match(first, { damaged: 2, segments: [1, 2] });
    t.same(
      first.open.map(({ requestId }) => requestId),
      ['b', 'c'],
    );
    t.equal(readFileSync(join(dir, 'damaged.log'), 'utf8'), `${bad}\0\0\0\0junk\n`);
    t.same(
      [1, 2].map((n) => readFileSync(segmentPath(dir, n)).length),
      sizes,
      'places of what follows stay',
    );
    const second = recoverJournal(dir);
    t.match(second, { damaged: 0 });
    t.same(second.open, first.open);
  },
);

t.test(
  'a begin is settled by any later segment, and a begin that was carried forward counts once',
  async (t) => {
    const dir = t.testdir();
    writeFileSync(segmentPath(dir, 4), begin('a') + begin('b') + begin('c'));
    writeFileSync(segmentPath(dir, 5), begin('b'));
    writeFileSync(segmentPath(dir, 9), settle('a'));
    const { open, segments } = recoverJournal(dir);
    t.same(segments, [4, 5, 9]);
    t.same(open, [beginOf('b'), beginOf('c')]);
  },
);

t.test('foreign files in the directory are left alone', async (t) => {
  const dir = t.testdir({ 'notes.txt': 'mine', 'journal-1.log.bak': 'x' });
  mkdirSync(join(dir, 'lost+found'));
  appendFileSync(segmentPath(dir, 1), begin('a'));
  recoverJournal(dir);
  t.same(listSegments(dir), [1]);
  t.equal(readFileSync(join(dir, 'notes.txt'), 'utf8'), 'mine');
});
