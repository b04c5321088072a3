// Disk space that is kept: on real files and real small disks.
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Reserve } from '../../../../proxy/spend/journal/reserve.ts';
import { SegmentFile } from '../../../../proxy/spend/journal/segment-file.ts';
import { readLines, segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { noSmallDisk, smallDisk } from '../../../support/small-disk.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';

const STEP = 256 << 10;
const isBlank = (path: string): boolean => readFileSync(path).every((byte) => byte === 0x0a);

function linesOf(path: string): string[] {
  const lines: string[] = [];
  readLines(path, 0, Infinity, (line) => lines.push(line.toString()));
  return lines;
}

t.test('it grows with the calls in flight, in steps, and never shrinks', async (t) => {
  const dir = tempDir(t);
  const reserve = new Reserve(dir);
  t.same([reserve.bytes, readdirSync(dir)], [0, []], 'nothing is made before it is asked for');
  for (const [calls, steps] of [
    [0, 1],
    [127, 1],
    [128, 2],
    [1_000, 8],
    [5, 8],
  ] as const) {
    t.equal(reserve.fit(calls), true);
    t.equal(reserve.bytes, steps * STEP, `${calls} calls`);
  }
  const path = join(dir, 'reserve');
  t.same([statSync(path).size, statSync(path).mode & 0o777, isBlank(path)], [8 * STEP, 0o600, true]);
});

t.test('that of a former process is taken over, whatever it holds', async (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'reserve'), Buffer.alloc(2 * STEP + 5, 'x'));
  const reserve = new Reserve(dir);
  t.equal(reserve.bytes, 2 * STEP);
  t.ok(reserve.fit(1));
  const file = new SegmentFile(dir, 1, reserve);
  t.equal(file.write(Buffer.from('row\n')), null);
  file.trim();
  await file.close();
  t.equal(readFileSync(segmentPath(dir, 1), 'utf8'), 'row\n');
});

t.test(
  'as a segment it is written in place; readers see the rows alone, before and after it is trimmed',
  async (t) => {
    const dir = tempDir(t);
    const reserve = new Reserve(dir);
    reserve.fit(0);
    const file = new SegmentFile(dir, 3, reserve);
    t.teardown(() => file.close());
    const path = segmentPath(dir, 3);
    t.same([file.isReserve, reserve.bytes, existsSync(join(dir, 'reserve'))], [true, 0, false]);
    t.equal(file.write(Buffer.from('one\ntwo\n')), null);
    t.same([statSync(path).size, linesOf(path), file.end], [STEP, ['one', 'two'], 8]);
    file.trim();
    t.same([statSync(path).size, linesOf(path)], [8, ['one', 'two']]);
    t.equal(reserve.fit(0), true, 'another one is made');
    t.throws(() => new SegmentFile(dir, 3, reserve), /exists/);
    t.equal(reserve.bytes, STEP, 'and is not lost to a segment that cannot be made');
  },
);

t.test('on a full disk its space is there, to the last byte', { skip: noSmallDisk() }, async (t) => {
  const dir = join(tempDir(t), 'disk');
  const disk = smallDisk(t, dir, '2m');
  const reserve = new Reserve(dir);
  t.ok(reserve.fit(0));
  disk.fill();
  t.equal(reserve.fit(128), false, 'no space for more');
  t.equal(reserve.bytes, STEP);
  const file = new SegmentFile(dir, 1, reserve);
  t.teardown(() => file.close());
  const row = Buffer.alloc(1_000, 'x').fill('\n', 999);
  for (let n = 0; n < 262; n += 1) t.equal(file.write(row), null);
  t.match(file.write(row), { code: 'ENOSPC' });
  t.equal(file.end, 262_000);
  t.equal(file.write(Buffer.from('last\n')), null, 'what is shorter still fits');
  t.equal(linesOf(segmentPath(dir, 1)).length, 263, 'and nothing torn is between');
  disk.free();
  t.equal(file.write(row), null, 'with room it grows');
  t.equal(reserve.fit(0), true);
});

t.test('a disk with little space is left alone', { skip: noSmallDisk() }, async (t) => {
  const dir = join(tempDir(t), 'disk');
  smallDisk(t, dir, '768k');
  const reserve = new Reserve(dir);
  t.equal(reserve.fit(0), false);
  t.same([reserve.bytes, readdirSync(dir)], [0, []]);
});
