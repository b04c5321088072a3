// Reading the journal's files: whole lines, in bounded pieces, from any place.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  isBefore,
  listSegments,
  readLines,
  segmentPath,
  setAside,
} from '../../../../proxy/spend/store/segments.ts';

t.test('segments are listed in the order of their numbers; other files are not segments', async (t) => {
  const dir = t.testdir({
    'journal-00000010.log': '',
    'journal-00000002.log': '',
    'journal-100000001.log': '',
    id: '',
    'damaged.log': '',
    'journal-x.log': '',
  });
  t.same(listSegments(dir), [2, 10, 100000001]);
  t.equal(segmentPath(dir, 2), join(dir, 'journal-00000002.log'));
});

t.test('places are ordered by segment, then by offset', async (t) => {
  t.equal(isBefore({ segment: 1, offset: 9 }, { segment: 2, offset: 0 }), true);
  t.equal(isBefore({ segment: 2, offset: 0 }, { segment: 2, offset: 1 }), true);
  t.equal(isBefore({ segment: 2, offset: 1 }, { segment: 2, offset: 1 }), false);
  t.equal(isBefore({ segment: 3, offset: 0 }, { segment: 2, offset: 1 }), false);
});

t.test(
  'lines are read from any offset, also lines longer than a chunk, and the unended tail is told',
  async (t) => {
    const dir = t.testdir();
    const path = segmentPath(dir, 1);
    const lines = ['first', 'x'.repeat(3 << 20), 'third', 'y'.repeat(1 << 20)];
    writeFileSync(path, `${lines.join('\n')}\ntail`);
    const seen: string[] = [];
    const all = readLines(path, 0, Infinity, (line) => seen.push(line.toString()));
    t.same(
      seen.map((line) => line.length),
      lines.map((line) => line.length),
    );
    t.same([all.tail.toString(), all.atEnd, all.offset], ['tail', true, readFileSync(path).length - 4]);

    const offsets: number[] = [];
    const some = readLines(path, 6, 6 + (3 << 20) + 1 + 6, (_line, offset) => offsets.push(offset));
    t.same(offsets, [6, 6 + (3 << 20) + 1]);
    t.same([some.tail.length, some.atEnd], [0, true]);
  },
);

t.test('one chunk at a time can be read, and reading goes on where it stopped', async (t) => {
  const dir = t.testdir();
  const path = segmentPath(dir, 1);
  writeFileSync(path, `${'z'.repeat(99)}\n`.repeat(130_000));
  let [offset, rounds, count, atEnd] = [0, 0, 0, false];
  while (!atEnd) {
    ({ offset, atEnd } = readLines(path, offset, Infinity, () => count++, 1));
    rounds++;
  }
  t.equal(count, 130_000);
  t.ok(rounds > 2, `${rounds} rounds`);
});

t.test('damaged lines are added to what was set aside before', async (t) => {
  const dir = t.testdir();
  setAside(dir, [Buffer.from('one')]);
  setAside(dir, [Buffer.from('two'), Buffer.from('three')]);
  t.equal(readFileSync(join(dir, 'damaged.log'), 'utf8'), 'one\ntwo\nthree\n');
});
