// A chunked body cut at any places is one body; what is not one is refused at the byte that shows it.
import fc from 'fast-check';
import t from 'tap';
import { ChunkedDecoder } from '../../../proxy/wire/chunked.ts';
import { BadMessage } from '../../../proxy/wire/head.ts';
import { pieces } from './fixture/pieces.ts';

interface Decoded {
  readonly body: string;
  readonly done: boolean;
  /** What follows the body. */
  readonly rest: string;
}

function decode(parts: readonly Buffer[]): Decoded | string {
  const decoder = new ChunkedDecoder();
  const body: Buffer[] = [];
  try {
    for (const [index, part] of parts.entries()) {
      const end = decoder.push(part, 0, (data) => body.push(Buffer.from(data)));
      if (!decoder.done) {
        if (end !== part.length) return `took ${end} of ${part.length}`;
        continue;
      }
      const rest = Buffer.concat([part.subarray(end), ...parts.slice(index + 1)]).toString('latin1');
      return { body: Buffer.concat(body).toString('latin1'), done: true, rest };
    }
  } catch (error) {
    if (error instanceof BadMessage) return 'refused';
    throw error;
  }
  return { body: Buffer.concat(body).toString('latin1'), done: false, rest: '' };
}

const at = (text: string): Decoded | string => decode([Buffer.from(text, 'latin1')]);
const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 40 }));
const hex = (size: number, upper: boolean, zeros: number): string => {
  const digits = size.toString(16);
  return '0'.repeat(zeros) + (upper ? digits.toUpperCase() : digits);
};
const chunk = fc.record({
  data: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  upper: fc.boolean(),
  zeros: fc.nat(4),
  extension: fc.constantFrom('', ';', ';a', ';a=b', ';a="b;c\t\xe4"', '; x = y'),
});
const trailer = fc.array(fc.constantFrom('A: b\r\n', 'X-Sum: \t1 \r\n', 'B:\r\n'), {
  maxLength: 1,
});

t.test(
  'a chunked body cut at any places is the body that was sent, and what follows it is left',
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(chunk, { maxLength: 6 }),
        trailer,
        fc.string({ maxLength: 10 }),
        sizes,
        (chunks, lines, rest, cuts) => {
          const bytes = Buffer.concat([
            ...chunks.flatMap(({ data, upper, zeros, extension }) => [
              Buffer.from(`${hex(data.length, upper, zeros)}${extension}\r\n`, 'latin1'),
              Buffer.from(data),
              Buffer.from('\r\n'),
            ]),
            Buffer.from(`0\r\n${lines.join('')}\r\n${rest}`, 'latin1'),
          ]);
          const got = decode(pieces(bytes, cuts));
          if (typeof got === 'string') return false;
          const body = Buffer.concat(chunks.map(({ data }) => data)).toString('latin1');
          return got.done && got.body === body && got.rest === Buffer.from(rest, 'latin1').toString('latin1');
        },
      ),
      { numRuns: 3_000 },
    );
    t.pass('property held');
  },
);

t.test('any bytes, however they are cut, have one verdict', async (t) => {
  const parts = fc.constantFrom(
    '1',
    '0',
    'a',
    '5\r\n',
    '\r\n',
    '\r',
    '\n',
    ';',
    'x',
    'hello',
    '\x00',
    ' ',
    '0\r\n',
    'A: b',
    '\x7f',
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 10 }), sizes, (texts, cuts) => {
      const bytes = Buffer.from(texts.join(''), 'latin1');
      return JSON.stringify(decode([Buffer.from(bytes)])) === JSON.stringify(decode(pieces(bytes, cuts)));
    }),
    { numRuns: 10_000 },
  );
  t.pass('property held');
});

t.test('what is no chunk is refused', async (t) => {
  const bad: Record<string, string> = {
    'no size': '\r\n',
    'a sign': '+5\r\n',
    '0x': '0x5\r\n',
    'an underscore': '1_0\r\n',
    'a space before': ' 5\r\n',
    'a space behind': '5 \r\n',
    'a tab behind': '5\t\r\n',
    'a size that ends in LF alone': '5\nhello\r\n',
    'a size that ends in CR alone': '5\rhello\r\n',
    '14 digits': '00000000000005\r\n',
    'a chunk that is longer than it says': '4\r\nhello\r\n',
    'a chunk that is shorter than it says': '6\r\nhello\r\n0\r\n\r\n',
    'data that end in LF alone': '5\r\nhello\n',
    'LF within an extension': '5;a\nb\r\n',
    'NUL within an extension': '5;a\x00b\r\n',
    'CR within an extension': '5;a\rb\r\n',
    'a trailer without a colon': '0\r\nA\r\n\r\n',
    'a trailer that is folded': '0\r\nA: b\r\n c\r\n\r\n',
    'a Content-Length in the trailer': '0\r\nContent-Length: 3\r\n\r\n',
    'a Transfer-Encoding in the trailer': '0\r\ntransfer-encoding: x\r\n\r\n',
    'an unfinished trailer with a bare LF': '0\r\n\n',
    'a trailer with a bare LF': '0\r\nA: b\nC: d\r\n\r\n',
    'extensions of more than 1 KiB': `5;${'x'.repeat(1_025)}\r\n`,
    'a trailer of more than 16 KiB': `0\r\nA: ${'x'.repeat(16_500)}\r\n\r\n`,
    'a trailer that never ends': `0\r\nA: ${'x'.repeat(16_500)}`,
  };
  for (const [title, text] of Object.entries(bad)) t.equal(at(text), 'refused', title);
});

t.test('extensions are bounded for the whole body, not for each chunk', async (t) => {
  t.equal(at(`1;${'x'.repeat(20)}\r\nz\r\n`.repeat(60)), 'refused');
  t.match(at(`1;${'x'.repeat(10)}\r\nz\r\n`.repeat(60)), { body: 'z'.repeat(60) });
});

t.test('bytes inside of a chunk are handed on as they lie, without a copy', async (t) => {
  const decoder = new ChunkedDecoder();
  decoder.push(Buffer.from('ffff\r\n'), 0, () => t.fail('no data yet'));
  const piece = Buffer.alloc(60_000, 'x');
  const got: Buffer[] = [];
  t.equal(
    decoder.push(piece, 0, (data) => got.push(data)),
    60_000,
  );
  t.equal(got.length, 1);
  t.equal(got[0], piece);
});

t.test('a decoder that is done takes nothing more', async (t) => {
  const decoder = new ChunkedDecoder();
  t.equal(
    decoder.push(Buffer.from('0\r\n\r\n'), 0, () => t.fail('nothing in it')),
    5,
  );
  t.ok(decoder.done);
  t.equal(
    decoder.push(Buffer.from('5\r\nhello'), 0, () => t.fail('not of this body')),
    0,
  );
});
