// A body with room before it is changed in place: the result is what a copy would be, and nothing else is touched.
import fc from 'fast-check';
import t from 'tap';
import { headroomOf, roomyBuffer } from '../../../proxy/wire/headroom.ts';
import { applyCuts, undoing, type Cut } from '../../../proxy/wire/splice.ts';

function roomy(bytes: Buffer): Buffer {
  const body = roomyBuffer(bytes.length);
  bytes.copy(body);
  return body;
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
        const copied = applyCuts(bytes, cuts);
        const body = roomy(bytes);
        const changed = applyCuts(body, cuts);
        return changed.equals(copied) && changed.buffer === body.buffer;
      },
    ),
    { numRuns: 5_000 },
  );
  t.pass('property held');
});

t.test('a change can be undone, in place or copied', async (t) => {
  const bodies = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(
      bodies.chain((body) => fc.tuple(fc.constant(body), cutsOf(body.length), fc.boolean())),
      ([bytes, cuts, inPlace]) => {
        const body = inPlace ? roomy(bytes) : Buffer.from(bytes);
        const undo = undoing(body, cuts);
        return applyCuts(applyCuts(body, cuts), undo).equals(bytes);
      },
    ),
    { numRuns: 5_000 },
  );
  t.pass('property held');
});

t.test('what does not fit into the room is copied', async (t) => {
  const body = roomy(Buffer.from('0123456789'));
  const long = 'x'.repeat(headroomOf(body) + 1);
  const copied = applyCuts(body, [{ start: 5, end: 5, insert: [long] }]);
  t.not(copied.buffer, body.buffer);
  t.equal(copied.toString(), `01234${long}56789`);
  t.equal(body.toString(), '0123456789', 'and the body is as it was');
  const exact = applyCuts(body, [{ start: 5, end: 5, insert: [long.slice(1)] }]);
  t.equal(exact.buffer, body.buffer);
  t.equal(exact.toString(), `01234${long.slice(1)}56789`);
});

t.test('other Buffers have no room, slices of a roomy one neither', async (t) => {
  t.equal(headroomOf(Buffer.alloc(10)), 0);
  t.equal(headroomOf(roomyBuffer(10).subarray(2)), 0);
});
