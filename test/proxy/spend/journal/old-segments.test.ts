// Old segments of a real directory: the oldest goes first, and nothing goes that somebody needs.
import { mkdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import type { Test } from 'tap';
import { OldSegments } from '../../../../proxy/spend/journal/old-segments.ts';
import { listSegments, segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';

/** Segments of so many bytes, by number. */
function segmentsOf(
  t: Test,
  sizes: Readonly<Record<number, number>>,
): { readonly dir: string; readonly old: OldSegments } {
  const dir = tempDir(t);
  for (const [number, bytes] of Object.entries(sizes))
    writeFileSync(segmentPath(dir, Number(number)), 'x'.repeat(bytes));
  return { dir, old: new OldSegments(dir, Object.keys(sizes).map(Number)) };
}

t.test('without old segments there is no oldest, and nothing to delete', async (t) => {
  const { dir, old } = segmentsOf(t, {});
  t.equal(old.oldest, Infinity);
  old.deleteBefore(100);
  t.same(listSegments(dir), []);
});

t.test('segments before the limit are deleted, that of the limit stays', async (t) => {
  const { dir, old } = segmentsOf(t, { 2: 1, 3: 1, 7: 1 });
  t.equal(old.oldest, 2);
  old.deleteBefore(2);
  t.same(listSegments(dir), [2, 3, 7]);
  old.deleteBefore(7);
  t.same(listSegments(dir), [7]);
  t.equal(old.oldest, 7);
  old.push(8);
  old.deleteBefore(8);
  t.equal(old.oldest, 8, 'a segment that was full later comes after the others');
});

t.test('the list that it was made of is not its own', async (t) => {
  const dir = tempDir(t);
  const numbers = [1, 2];
  const old = new OldSegments(dir, numbers);
  old.deleteBefore(3);
  t.same(numbers, [1, 2]);
});

t.test('a segment that is gone already is no error', async (t) => {
  const dir = tempDir(t);
  const old = new OldSegments(dir, [1, 2]);
  old.deleteBefore(3);
  t.equal(old.oldest, Infinity);
});

t.test('one that cannot be deleted ends the deletion, and is the oldest of the next one', async (t) => {
  const { dir } = segmentsOf(t, { 1: 1, 3: 1 });
  mkdirSync(segmentPath(dir, 2)); // no file: it cannot be removed as one
  const old = new OldSegments(dir, [1, 2, 3]);
  t.throws(() => old.deleteBefore(4));
  t.equal(old.oldest, 2);
  t.same(listSegments(dir), [2, 3], 'a newer one is never gone before an older one');
});

t.test('bytes between two places of the journal', async (t) => {
  const { old } = segmentsOf(t, { 1: 100, 2: 200, 3: 300 }); // and segment 4 is being written
  const cases: readonly (readonly [from: [number, number], to: [number, number], bytes: number])[] = [
    [[4, 10], [4, 50], 40],
    [[4, 50], [4, 50], 0],
    [[3, 0], [4, 50], 350],
    [[3, 120], [4, 50], 230],
    [[1, 30], [4, 5], 70 + 200 + 300 + 5],
    [[2, 50], [3, 20], 170],
    [[0, 0], [4, 1], 601],
    [[4, 50], [4, 10], 0],
    [[4, 0], [2, 0], 0],
  ];
  for (const [[from, at], [to, end], bytes] of cases) {
    const between = old.bytesBetween({ segment: from, offset: at }, { segment: to, offset: end });
    t.equal(between, bytes, `${from}:${at} to ${to}:${end}`);
  }
});

t.test('a segment that somebody has removed counts nothing', async (t) => {
  const old = new OldSegments(tempDir(t), [1]);
  t.equal(old.bytesBetween({ segment: 0, offset: 0 }, { segment: 2, offset: 7 }), 7);
});
