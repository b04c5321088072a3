// Frames that come in any pieces are read alike; what RFC 6455 does not allow is refused with its close code.
import t from 'tap';
import {
  closePayload,
  frame,
  FrameReader,
  OPCODE,
  readClose,
} from '../../../../proxy/protocols/realtime/frames.ts';

const MASK = Buffer.from([1, 2, 3, 250]);

/** What a reader tells of some bytes. */
function read(sender: 'client' | 'server', pieces: readonly Buffer[], most = Infinity): string[] {
  const told: string[] = [];
  let text = '';
  const reader = new FrameReader(
    sender,
    {
      begin: (kind) => {
        text = `${kind} `;
        return null;
      },
      payload: (bytes) => {
        text += bytes.toString('latin1');
        return null;
      },
      end: () => {
        told.push(text);
        return null;
      },
      control: (opcode, payload) => void told.push(`${opcode} ${payload.toString('latin1')}`),
    },
    most,
  );
  for (const piece of pieces) {
    const violation = reader.push(piece);
    if (violation !== null) return [...told, String(violation.code)];
  }
  return [...told, reader.isBetweenFrames ? 'between frames' : 'within one'];
}

/** A frame of which no part is as usual. */
const fragment = (first: number, text: string): Buffer => {
  const whole = frame(first & 0x0f, Buffer.from(text), MASK);
  whole[0] = first;
  return whole;
};

t.test('messages, fragments and control frames between them, cut at every pair of bytes', async (t) => {
  const long = 'x'.repeat(300);
  const bytes = Buffer.concat([
    frame(OPCODE.text, Buffer.from('{"a":1}'), MASK),
    frame(OPCODE.text, Buffer.alloc(0), MASK),
    fragment(0x01, 'first '),
    frame(OPCODE.ping, Buffer.from('p'), MASK),
    fragment(0x00, ''),
    fragment(0x80, 'second'),
    frame(OPCODE.binary, Buffer.from(long), MASK),
    frame(OPCODE.close, closePayload(1000, 'bye'), MASK),
  ]);
  const whole = read('client', [bytes]);
  t.same(whole, [
    'text {"a":1}',
    'text ',
    '9 p',
    'text first second',
    `binary ${long}`,
    '8 \u0003èbye',
    'between frames',
  ]);
  let different = 0;
  for (let a = 0; a <= bytes.length; a += 1)
    for (const b of [a, a + 1, a + 7, bytes.length]) {
      const pieces = [bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)];
      if (JSON.stringify(read('client', pieces)) !== JSON.stringify(whole)) different += 1;
    }
  t.equal(different, 0);
  t.same(
    read(
      'client',
      [...bytes].map((byte) => Buffer.from([byte])),
    ),
    whole,
    'byte by byte',
  );
});

t.test('a frame of 64-bit length', async (t) => {
  const payload = Buffer.alloc(70_000, 'y');
  const head = Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]);
  t.same(read('server', [head, payload]), [`binary ${payload.toString()}`, 'between frames']);
});

t.test('what is not allowed', async (t) => {
  const cases: readonly (readonly ['client' | 'server', string, number, number?])[] = [
    ['client', '8102', 1002], // not masked
    ['server', '818201020304', 1002], // masked
    ['server', 'c100', 1002], // compressed
    ['server', '8300', 1002], // a reserved opcode
    ['server', '8b00', 1002],
    ['server', '0900', 1002], // a fragmented ping
    ['server', '897e007e', 1002], // a long one
    ['server', '8000', 1002], // continues nothing
    ['server', '01008100', 1002], // begins within a message
    ['server', '827fffffffffffffffff', 1002], // the highest length
    ['server', '820b', 1009, 10],
    ['server', '02060000000000008006', 1009, 10], // together too long
  ];
  for (const [sender, hex, code, most] of cases) {
    const told = read(sender, [Buffer.from(hex, 'hex')], most);
    t.equal(told.at(-1), String(code), hex);
  }
});

t.test('close frames', async (t) => {
  t.same(readClose(closePayload(1011, 'it broke')), { code: 1011, reason: 'it broke' });
  t.same(readClose(Buffer.alloc(0)), { code: 1005, reason: '' });
  t.equal(closePayload(1008, 'é'.repeat(300)).length, 125, 'fits a control frame');
});
