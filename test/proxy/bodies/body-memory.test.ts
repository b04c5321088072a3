// A body with room before it is changed in place: the result is what a copy would be, and nothing else is touched.
import fc from 'fast-check';
import t from 'tap';
import { BodyMemory, headroomOf, roomyBuffer } from '../../../proxy/bodies/body-memory.ts';
import { applyCuts, undoing, type Cut } from '../../../proxy/wire/splice.ts';

function roomy(bytes: Buffer): Buffer {
  const body = roomyBuffer(bytes.length);
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
        const copied = applyCuts(bytes, cuts);
        const body = roomy(bytes);
        const changed = applyCuts(body, cuts);
        return changed.equals(copied) && liesIn(changed, body);
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
  t.notOk(liesIn(copied, body));
  t.equal(copied.toString(), `01234${long}56789`);
  t.equal(body.toString(), '0123456789', 'and the body is as it was');
  const exact = applyCuts(body, [{ start: 5, end: 5, insert: [long.slice(1)] }]);
  t.ok(liesIn(exact, body));
  t.equal(exact.toString(), `01234${long.slice(1)}56789`);
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
});

t.test('other Buffers have no room, slices of a roomy one neither', async (t) => {
  t.equal(headroomOf(Buffer.alloc(10)), 0);
  t.equal(headroomOf(roomyBuffer(10).subarray(2)), 0);
});
