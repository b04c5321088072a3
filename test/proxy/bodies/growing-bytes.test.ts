// Bytes in pieces of unknown number are kept in order, in memory and time in proportion to their number.
import fc from 'fast-check';
import t from 'tap';
import { GrowingBytes } from '../../../proxy/bodies/growing-bytes.ts';

t.test('what was appended is what is seen, in order, whatever becomes of the pieces', async (t) => {
  const piece = fc.tuple(fc.uint8Array({ maxLength: 9_000 }), fc.nat(9_000), fc.nat(9_000));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (all) => {
      const grown = new GrowingBytes();
      const wanted: Buffer[] = [];
      for (const [bytes, a, b] of all) {
        const memory = Buffer.from(bytes);
        const [from, to] = [Math.min(a, b, memory.length), Math.min(Math.max(a, b), memory.length)];
        wanted.push(Buffer.from(memory.subarray(from, to)));
        grown.append(memory, from, to);
        memory.fill(0xee); // the read memory is used again
      }
      const whole = Buffer.concat(wanted);
      return grown.view().equals(whole) && grown.length === whole.length;
    }),
  );
  t.pass('property held');
});

t.test('memory that is given is filled first, then left', async (t) => {
  const memory = Buffer.alloc(8);
  const grown = new GrowingBytes(memory);
  grown.append(Buffer.from('12345678'));
  t.equal(grown.view().buffer, memory.buffer);
  grown.append(Buffer.from('9'));
  t.not(grown.view().buffer, memory.buffer);
  t.equal(grown.view().toString(), '123456789');
  t.equal(memory.toString(), '12345678');
});

t.test('a million single bytes are moved a few times at most', async (t) => {
  const grown = new GrowingBytes();
  const one = Buffer.from('x');
  const homes = new Set<ArrayBufferLike>();
  for (let i = 0; i < 1_000_000; i++) {
    grown.append(one);
    homes.add(grown.view().buffer);
  }
  t.equal(grown.length, 1_000_000);
  t.ok(homes.size <= 10, `${homes.size} memories`);
});
