// A segment on a real disk: what is written stands at its place, and what cannot be written leaves the file as it was.
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { SegmentFile } from '../../../../proxy/spend/journal/segment-file.ts';
import { segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { noSmallDisk, smallDisk } from '../../../support/small-disk.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';

function opened(t: Test, dir: string, number = 1): SegmentFile {
  const file = new SegmentFile(dir, number);
  t.teardown(() => file.close());
  return file;
}

const textOf = (dir: string, number = 1): string => readFileSync(segmentPath(dir, number), 'utf8');

t.test('a new segment is empty, for its owner alone, and of the number that was asked for', async (t) => {
  const dir = tempDir(t);
  const file = opened(t, dir, 7);
  t.same([file.number, file.end], [7, 0]);
  t.same(readdirSync(dir), ['journal-00000007.log']);
  t.equal(statSync(segmentPath(dir, 7)).mode & 0o777, 0o600);
});

t.test('a segment that exists is never written over', async (t) => {
  const dir = tempDir(t);
  writeFileSync(segmentPath(dir, 1), 'rows\n');
  t.throws(() => new SegmentFile(dir, 1), { code: 'EEXIST' });
  t.equal(textOf(dir), 'rows\n');
  t.throws(() => new SegmentFile(join(dir, 'missing'), 1), { code: 'ENOENT' });
});

t.test('writes follow each other, and the end is where the next one goes', async (t) => {
  const dir = tempDir(t);
  const file = opened(t, dir);
  t.equal(file.write(Buffer.from('one\n')), null);
  t.equal(file.end, 4);
  t.equal(file.write(Buffer.from('zwölf\n')), null);
  t.equal(file.end, 11);
  await file.sync();
  t.equal(textOf(dir), 'one\nzwölf\n');
});

t.test('a probe that finds room leaves no trace', async (t) => {
  const dir = tempDir(t);
  const file = opened(t, dir);
  file.write(Buffer.from('one\n'));
  t.equal(file.probe(), null);
  t.same([file.end, textOf(dir)], [4, 'one\n']);
  file.write(Buffer.from('two\n'));
  t.equal(textOf(dir), 'one\ntwo\n');
});

t.test('it can be closed twice', async (t) => {
  const file = new SegmentFile(tempDir(t), 1);
  await file.close();
  await t.resolves(file.close());
});

t.test('a full disk', { skip: noSmallDisk() }, async (t) => {
  const dir = join(tempDir(t), 'disk');
  const disk = smallDisk(t, dir);
  const file = new SegmentFile(dir, 1);
  t.equal(file.write(Buffer.from('good\n')), null);
  const large = Buffer.alloc(512 << 10, 'x'); // half of it fits, so a part is written and cut off again
  t.match(file.write(large), { code: 'ENOSPC' });
  t.same([file.end, textOf(dir)], [5, 'good\n'], 'the part that was written is gone');
  disk.fill();
  t.match(file.probe(), { code: 'ENOSPC' });
  t.same([file.end, textOf(dir)], [5, 'good\n']);
  disk.free();
  t.equal(file.probe(), null);
  t.equal(file.write(Buffer.from('more\n')), null);
  t.equal(textOf(dir), 'good\nmore\n');
  await file.sync();
  await file.close();
});
