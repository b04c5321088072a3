// A body with room before it is changed in place: the result is what a copy would be, and nothing else is touched.
import fc from 'fast-check';
import t from 'tap';
import { BodyMemory, headroomOf, allocWithHeadroom } from '../../../proxy/bodies/body-memory.ts';
import { undoing, type Cut, copyWithCuts, cutInPlace } from '../../../proxy/bodies/splice.ts';
import { runs } from '../../support/runs.ts';

function roomy(bytes: Buffer): Buffer {
  const body = allocWithHeadroom(bytes.length);
  bytes.copy(body);
  return body;
}

/** Whether a body lies in the memory of another one, room included: small ones share Node's pool. */
function liesIn(one: Buffer, other: Buffer): boolean {
  const start = other.byteOffset - headroomOf(other);
  const end = other.byteOffset + other.length;
  return one.buffer === other.buffer && one.byteOffset >= start && one.byteOffset + one.length <= end;
}

/** Cuts that do not overlap, in any order, with inserts of any size, over a body of `size` bytes. */
function cutsOf(size: number): fc.Arbitrary<Cut[]> {
  const insert = fc.array(
    fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constant('ä漢'),
      fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    ),
    { maxLength: 3 },
  );
  return fc.array(fc.tuple(fc.nat(size), insert), { maxLength: 8 }).map((ends) => {
    const places = ends.map(([place]) => place).toSorted((a, b) => a - b);
    const cuts: Cut[] = [];
    for (let i = 0; i + 1 < places.length; i += 2) {
      cuts.push({ start: places[i] as number, end: places[i + 1] as number, insert: ends[i]?.[1] ?? [] });
    }
    return i32(places) % 2 === 0 ? cuts : cuts.toReversed();
  });
}

const i32 = (places: readonly number[]): number => places.reduce((sum, place) => sum + place, 0);

t.test('changed in place or copied: the same bytes', async (t) => {
  const bodies = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(
      bodies.chain((body) => fc.tuple(fc.constant(body), cutsOf(body.length))),
      ([bytes, cuts]) => {
        const copied = copyWithCuts(bytes, cuts);
        const body = roomy(bytes);
        const changed = cutInPlace(body, cuts, headroomOf(body));
        return changed !== null && changed.equals(copied) && liesIn(changed, body);
      },
    ),
    { numRuns: runs(1_250) },
  );
  t.pass('property held');
});

t.test('a change can be undone, in place or copied', async (t) => {
  const bodies = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(
      bodies.chain((body) => fc.tuple(fc.constant(body), cutsOf(body.length), fc.boolean())),
      ([bytes, cuts, inPlace]) => {
        const undo = undoing(bytes, cuts);
        if (!inPlace) return copyWithCuts(copyWithCuts(bytes, cuts), undo).equals(bytes);
        const body = roomy(bytes);
        const changed = cutInPlace(body, cuts, headroomOf(body));
        return changed !== null && cutInPlace(changed, undo, headroomOf(changed))?.equals(bytes) === true;
      },
    ),
    { numRuns: runs(1_250) },
  );
  t.pass('property held');
});

t.test('edits that overlap are a mistake of the caller, also in place', async (t) => {
  const body = roomy(Buffer.from('0123456789'));
  const cut = (start: number, end: number): Cut => ({ start, end, insert: ['x'] });
  t.throws(() => cutInPlace(body, [cut(2, 5), cut(4, 6)], headroomOf(body)), RangeError);
  t.equal(body.toString(), '0123456789', 'nothing was moved');
  t.equal(
    cutInPlace(body, [cut(5, 6), cut(2, 5)], headroomOf(body))?.toString(),
    '01xx6789',
    'neighbours may meet',
  );
});

t.test('what does not fit into the room is left as it is', async (t) => {
  const body = roomy(Buffer.from('0123456789'));
  const headroom = headroomOf(body);
  const long = 'x'.repeat(headroom + 1);
  t.equal(cutInPlace(body, [{ start: 5, end: 5, insert: [long] }], headroom), null);
  t.equal(body.toString(), '0123456789', 'and the body is as it was');
  const exact = cutInPlace(body, [{ start: 5, end: 5, insert: [long.slice(1)] }], headroom);
  t.equal(String(exact), `01234${long.slice(1)}56789`);
  t.ok(exact !== null && liesIn(exact, body));
});

t.test('large memory is used again, within bounds; small memory is left to Node', async (t) => {
  const bodies = new BodyMemory();
  const first = bodies.take(450_000);
  t.equal(first.length, 450_000);
  t.ok(headroomOf(first) > 0);
  const other = bodies.take(450_000);
  t.not(other.buffer, first.buffer, 'what is in use is given to nobody else');
  bodies.giveBack(first);
  t.ok(bodies.freeBytes >= 450_000);
  const again = bodies.take(440_000);
  t.equal(again.buffer, first.buffer);
  t.equal(again.length, 440_000);
  t.equal(bodies.freeBytes, 0);
  bodies.giveBack(bodies.take(1_000));
  t.equal(bodies.freeBytes, 0);
  const many = Array.from({ length: 40 }, () => bodies.take(450_000));
  for (const one of many) bodies.giveBack(one);
  t.ok(bodies.freeBytes <= 8_388_608, 'what is too much is left to the collector');
  bodies.forget();
  t.equal(bodies.freeBytes, 0);
  t.equal(bodies.take(450_000).length, 450_000);
});

t.test('other Buffers have no room, slices of a roomy one neither', async (t) => {
  t.equal(headroomOf(Buffer.alloc(10)), 0);
  t.equal(headroomOf(allocWithHeadroom(10).subarray(2)), 0);
});
