// Heads cut anywhere are the same heads; what is not a head is refused with a reason, as early as it can be known.
import fc from 'fast-check';
import t from 'tap';
import {
  BadMessage,
  checkAnswerBeginning,
  checkBeginning,
  EmptyLines,
  HeadCutter,
  HeadTooLong,
  persists,
  readAnswerHead,
  readFields,
  readRequestHead,
  type RequestHead,
} from '../../../proxy/wire/head.ts';
import { pieces } from './fixture/pieces.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Reads one head of a stream that comes in these pieces; says what follows it, or why there is none. */
function readCut(parts: readonly Buffer[]): { head: RequestHead; rest: string } | string {
  const lines = new EmptyLines();
  const cutter = new HeadCutter(65_536);
  try {
    for (const [index, part] of parts.entries()) {
      const from = cutter.begun ? 0 : lines.skip(part, 0);
      if (from === part.length) continue;
      const end = cutter.push(part, from);
      if (end < 0) {
        checkBeginning(cutter.beginning());
        continue;
      }
      const rest = Buffer.concat([part.subarray(end), ...parts.slice(index + 1)]).toString('latin1');
      return { head: readRequestHead(cutter.text), rest };
    }
    return 'unfinished';
  } catch (error) {
    if (error instanceof BadMessage) return 'refused';
    throw error;
  }
}

const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,20}$/);
const value = fc.stringMatching(
  /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]{0,40}[\x21-\x7e\x80-\xff])?)?$/,
);
const blank = fc.constantFrom('', ' ', '\t', ' \t  ');
const field = fc
  .tuple(token, blank, value, blank)
  .filter(([name]) => !/^(?:content-length|transfer-encoding)$/i.test(name));
const message = fc.record({
  method: fc.constantFrom('GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'CONNECT', 'TRACE'),
  target: fc.stringMatching(/^\/[\x21-\x7e\x80-\xff]{0,40}$/),
  version: fc.constantFrom('1.1', '1.0', '2.0'),
  fields: fc.array(field, { maxLength: 12 }),
  emptyLines: fc.nat(3),
  rest: fc.string({ maxLength: 20 }),
});

t.test('a head cut at any places is read as it was written, and what follows it is left', async (t) => {
  fc.assert(
    fc.property(message, fc.infiniteStream(fc.integer({ min: 1, max: 30 })), (one, sizes) => {
      const { method, target, version, fields, rest } = one;
      const lines = fields.map(([name, before, text, after]) => `${name}:${before}${text}${after}\r\n`);
      const wire = `${'\r\n'.repeat(one.emptyLines)}${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n${rest}`;
      const got = readCut(pieces(latin1(wire), sizes));
      if (typeof got === 'string') return false;
      const { head } = got;
      const list = fields.flatMap(([name, , text]) => [name, text]);
      return (
        head.method === method &&
        head.target === target &&
        head.version === version &&
        got.rest === latin1(rest).toString('latin1') &&
        head.list.length === list.length &&
        head.list.every((text, index) => text === list[index])
      );
    }),
    { numRuns: 3_000 },
  );
  t.pass('property held');
});

t.test('any bytes, however they are cut, have one verdict', async (t) => {
  const parts = fc.constantFrom(
    'GET / HTTP/1.1',
    '\r\n',
    '\r',
    '\n',
    ' ',
    'a: b',
    ':',
    '\x00',
    '\t',
    'POST',
    'HTTP/1.0',
    '\x80',
  );
  fc.assert(
    fc.property(
      fc.array(parts, { maxLength: 12 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
      (texts, sizes) => {
        const bytes = latin1(texts.join(''));
        const whole = readCut([bytes]);
        const cut = readCut(pieces(bytes, sizes));
        return JSON.stringify(whole) === JSON.stringify(cut);
      },
    ),
    { numRuns: 10_000 },
  );
  t.pass('property held');
});

t.test('a request head says how its message is framed', async (t) => {
  const read = (...lines: string[]): RequestHead =>
    readRequestHead(`POST / HTTP/1.1\r\n${lines.join('\r\n')}\r\n`);
  t.match(read('Host: a'), { contentLength: -1, transferEncoding: null, connection: null, expect: null });
  t.equal(read('CONTENT-LENGTH:\t7 ').contentLength, 7);
  t.equal(read('content-length: 007').contentLength, 7);
  t.equal(read('Transfer-Encoding: gzip', 'transfer-encoding: chunked').transferEncoding, 'gzip,chunked');
  t.equal(read('Connection: a', 'connection: close').connection, 'a,close');
  t.equal(read('Expect: 100-continue', 'Expect: x').expect, '100-continue,x');
  t.equal(read('Keep-Alive: timeout=5').keepAlive, 'timeout=5');
  t.match(read('Content_Length: 3', 'Transfer-Encodin: x', 'Xonnection: close').list.length, 6);
});

t.test('what is no request is refused', async (t) => {
  const bad: Record<string, string> = {
    'a header without a colon': 'GET / HTTP/1.1\r\nHost\r\n',
    'a colon only in the next line': 'GET / HTTP/1.1\r\nHost\r\na: b\r\n',
    'an empty name': 'GET / HTTP/1.1\r\n: b\r\n',
    'a space before the colon': 'GET / HTTP/1.1\r\na : b\r\n',
    'a folded line': 'GET / HTTP/1.1\r\na: b\r\n c: d\r\n',
    'a bare CR': 'GET / HTTP/1.1\r\na: b\rc\r\n',
    'a bare LF': 'GET / HTTP/1.1\r\na: b\nc: d\r\n',
    'a NUL': 'GET / HTTP/1.1\r\na: b\x00\r\n',
    'DEL in the target': 'GET /\x7f HTTP/1.1\r\n',
    'two spaces': 'GET  / HTTP/1.1\r\n',
    'a space at the end': 'GET / HTTP/1.1 \r\n',
    'a tab in the request line': 'GET\t/ HTTP/1.1\r\n',
    'a version of two digits': 'GET / HTTP/1.10\r\n',
    'no version': 'GET /\r\n',
    'an unknown method': 'BREW / HTTP/1.1\r\n',
    'an empty line': '\r\n',
    'Content-Length twice': 'GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n',
    'a signed Content-Length': 'GET / HTTP/1.1\r\nContent-Length: +1\r\n',
    'a Content-Length of 16 digits': 'GET / HTTP/1.1\r\nContent-Length: 1000000000000000\r\n',
    'a Content-Length in other digits': 'GET / HTTP/1.1\r\nContent-Length: \xb2\r\n',
    'a tab behind the Transfer-Encoding': 'GET / HTTP/1.1\r\nTransfer-Encoding: chunked \t\r\n',
    'Content-Length beside Transfer-Encoding':
      'GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n',
  };
  for (const [title, text] of Object.entries(bad)) t.throws(() => readRequestHead(text), BadMessage, title);
});

t.test('an answer is read the same way', async (t) => {
  t.match(readAnswerHead('HTTP/1.1 200 OK\r\na: b\r\n'), {
    status: 200,
    text: 'OK',
    version: '1.1',
    list: ['a', 'b'],
  });
  t.match(readAnswerHead('HTTP/1.0 404\r\n'), { status: 404, text: '', version: '1.0' });
  t.match(readAnswerHead('HTTP/1.1 299 \xe9t\xe9 fine \r\n'), { status: 299, text: '\xe9t\xe9 fine ' });
  for (const line of [
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/2 200',
    'HTTP/1.1 099 X',
    'http/1.1 200 OK',
    'HTTP/1.1  200 OK',
    'ICY 200 OK',
    'HTTP/1.1 200\tOK',
    'HTTP/1.1 200 a\rb',
  ]) {
    t.throws(() => readAnswerHead(`${line}\r\n`), BadMessage, JSON.stringify(line));
  }
});

t.test('an unfinished head that can become none is refused before it is whole', async (t) => {
  for (const text of ['G', 'GET', 'GET ', 'GET /x HTTP/1.1\r', 'GET /x HTTP/1.1\r\nHost', 'A'.repeat(32)])
    t.doesNotThrow(() => checkBeginning(text), JSON.stringify(text));
  for (const text of [
    '{"a',
    'GET\r\n',
    '\x16\x03\x01',
    'A'.repeat(33),
    'GET / HTTP/1.1\nHost',
    'GET / HTTP/1.1\r\rx',
    '\r',
  ])
    t.throws(() => checkBeginning(text), BadMessage, JSON.stringify(text));
  for (const text of ['', 'H', 'HTTP/1.', 'HTTP/1.1 200 OK\r\n'])
    t.doesNotThrow(() => checkAnswerBeginning(text));
  for (const text of ['h', 'HTTP/2', '<html>', '\r\n'])
    t.throws(() => checkAnswerBeginning(text), BadMessage);
});

t.test('empty lines before a request are passed over, half ones wait, a lone CR is refused', async (t) => {
  const lines = new EmptyLines();
  t.equal(lines.skip(latin1('\r\n\r\nGET'), 0), 4);
  t.equal(lines.skip(latin1('\r'), 0), 1);
  t.equal(lines.skip(latin1('\nGET'), 0), 1);
  t.equal(lines.skip(latin1('\n'), 0), 0, 'an LF alone is no line end');
  t.throws(() => lines.skip(latin1('\rG'), 0), BadMessage);
});

t.test('a head is bounded whether it comes at once or in drops, exactly', async (t) => {
  const head = `GET / HTTP/1.1\r\na: ${'x'.repeat(79)}\r\n`; // 100 bytes
  t.equal(head.length, 100);
  const bytes = latin1(`${head}\r\n`);
  t.equal(new HeadCutter(100).push(bytes, 0), bytes.length);
  t.throws(() => new HeadCutter(99).push(bytes, 0), HeadTooLong);
  const drip = (most: number): void => {
    const cutter = new HeadCutter(most);
    for (let i = 0; i < bytes.length; i++) cutter.push(bytes.subarray(i, i + 1), 0);
    t.notOk(cutter.begun);
  };
  t.doesNotThrow(() => drip(102), 'its end is being looked for');
  t.throws(() => drip(99), HeadTooLong);
});

t.test('whether a connection goes on', async (t) => {
  const table: readonly [string, string | null, boolean][] = [
    ['1.1', null, true],
    ['1.1', 'close', false],
    ['1.1', 'CLOSE', false],
    ['1.1', 'x, close ,y', false],
    ['1.1', 'closed', true],
    ['1.1', 'keep-alive', true],
    ['1.0', null, false],
    ['1.0', 'Keep-Alive', true],
    ['1.0', 'keep-alive, close', false],
    ['2.0', null, false],
  ];
  for (const [version, connection, goesOn] of table)
    t.equal(persists(version, connection), goesOn, `${version} ${connection}`);
});

t.test('fields may be none; a value may be empty or all of Latin-1', async (t) => {
  t.same(readFields('', 0).list, []);
  t.same(readFields('a:\r\nb: \t \r\n', 0).list, ['a', '', 'b', '']);
  const all = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code + 128)).join('');
  t.same(readFields(`a: x${all}\r\n`, 0).list, ['a', `x${all}`]);
});
