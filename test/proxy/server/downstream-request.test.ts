// Bodies as they come: whole, bounded, in memory that is one request's alone while anybody reads it.
import fc from 'fast-check';
import t from 'tap';
import { Incoming, type Carrier } from '../../../proxy/http/incoming.ts';
import { BodyMemory } from '../../../proxy/wire/headroom.ts';
import { readRequestHead } from '../../../proxy/wire/head.ts';
import { pieces } from '../wire/fixture/pieces.ts';

function incoming(lines: readonly string[], bodies = new BodyMemory()): { one: Incoming; waits: boolean[] } {
  const waits: boolean[] = [];
  const carrier: Carrier = { clientAddress: null, bodies, wantBody: (wait) => waits.push(wait) };
  return {
    one: new Incoming(readRequestHead(['POST / HTTP/1.1', ...lines, ''].join('\r\n')), carrier),
    waits,
  };
}

const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 70_000 }));
const body = fc.uint8Array({ maxLength: 200_000, size: 'max' }).map((bytes) => Buffer.from(bytes));

t.test(
  'a body is what was sent, however it was framed and cut, and stays so when the read memory is used again',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(body, fc.boolean(), sizes, async (bytes, isChunked, cuts) => {
        const framed = isChunked
          ? [bytes.subarray(0, 7), bytes.subarray(7)]
              .filter(({ length }) => length > 0)
              .flatMap((data) => [Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')])
              .concat(Buffer.from('0\r\n\r\n'))
          : [bytes];
        const { one } = incoming([
          isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`,
        ]);
        const got = one.read(300_000);
        const memory = Buffer.alloc(70_000);
        for (const piece of pieces(Buffer.concat([...framed, Buffer.from('next')]), cuts)) {
          piece.copy(memory);
          if (!one.complete) one.push(memory.subarray(0, piece.length), 0);
          memory.fill(0xee);
        }
        return (
          (await got).equals(bytes) && one.complete && one.outstanding === 0 && one.received === bytes.length
        );
      }),
      { numRuns: 200 },
    );
    t.pass('property held');
  },
);

t.test(
  'a body over the limit is refused: at once when it says so, else at the byte that exceeds it',
  async (t) => {
    const said = incoming(['Content-Length: 11']);
    await t.rejects(said.one.read(10), { code: 'body_too_large' });
    t.same(said.waits, [], 'and is not asked for');
    const { one } = incoming(['Transfer-Encoding: chunked']);
    const got = one.read(10);
    one.push(Buffer.from('a\r\n1234567890\r\n'), 0);
    one.push(Buffer.from('1\r\n1\r\n'), 0);
    await t.rejects(got, { code: 'body_too_large' });
    one.push(Buffer.from('0\r\n\r\n'), 0);
    t.ok(one.complete, 'the rest is still read, to find its end');
  },
);

t.test('memory goes to the next body only when it was given back, and only once', async (t) => {
  const bodies = new BodyMemory();
  const read = async (fill: string, whole = true): Promise<{ one: Incoming; got: Promise<Buffer> }> => {
    const { one } = incoming(['Content-Length: 200000'], bodies);
    const got = one.read(1_000_000);
    one.push(Buffer.alloc(whole ? 200_000 : 100_000, fill), 0);
    return { one, got };
  };
  const first = await read('a');
  const second = await read('b');
  const [one, two] = [await first.got, await second.got];
  t.not(one.buffer, two.buffer);
  first.one.release();
  first.one.release();
  const third = await read('c');
  const fourth = await read('d');
  t.equal((await third.got).buffer, one.buffer, 'used again');
  t.not((await fourth.got).buffer, one.buffer, 'by one only');
  t.ok(two.every((byte) => byte === 98));
  const half = await read('e', false);
  half.got.catch(() => undefined);
  half.one.release();
  t.equal(bodies.freeBytes, 0, 'what is still being filled is not given back');
});

t.test('expectations', async (t) => {
  const { one, waits } = incoming(['Content-Length: 3', 'Expect: 100-CONTINUE']);
  t.equal(one.outstanding, Infinity, 'its body may never come');
  t.notOk(one.expectsOther);
  const got = one.read(10);
  t.same(waits, [true]);
  t.equal(one.outstanding, 3);
  one.push(Buffer.from('abc'), 0);
  t.equal(String(await got), 'abc');
  t.ok(incoming(['Expect: 100-continue, x']).one.expectsOther);
  t.notOk(incoming([]).one.expectsOther);
  t.equal(incoming(['Host: a', 'host: b']).one.header('host'), 'a');
  t.equal(incoming([]).one.header('host'), null);
});
