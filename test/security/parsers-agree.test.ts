// Two HTTP programs must never read the same bytes in two ways. Node's own parser (llhttp, strict) stands for the other
// one, before us or behind us: whatever we take, it takes too, as the same messages in the same order.
import fc from 'fast-check';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import t from 'tap';
import type { Test } from 'tap';
import { Connection, type Host } from '../../proxy/http/connection.ts';
import type { Incoming } from '../../proxy/http/incoming.ts';
import { ReadMemory } from '../../proxy/http/reading.ts';
import type { Reply } from '../../proxy/http/reply.ts';
import type { Live } from '../../proxy/live.ts';
import { openExchange } from '../../proxy/request/exchange.ts';
import { checkFraming } from '../../proxy/request/framing.ts';
import { UpstreamConnection } from '../../proxy/upstream/connection.ts';
import { BodyMemory } from '../../proxy/wire/headroom.ts';
import { houseOf, liveOf } from '../support/house.ts';

const MOST_BYTES = 1_000_000;
/** The same cases every day; to hunt for more, change it and raise `numRuns` (100,000 take a minute). */
const SEED = 9_112;

interface Read {
  readonly line: string;
  readonly list: readonly string[];
  readonly body: string;
}

/** Until neither side has anything more to do. */
async function still(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await new Promise(setImmediate);
}

/** What our server makes of the bytes of one connection. */
async function ours(live: Live, bytes: Buffer): Promise<Read[]> {
  const read: Read[] = [];
  const serve = async (incoming: Incoming, reply: Reply): Promise<void> => {
    try {
      if (incoming.expectsOther || incoming.method === 'CONNECT') throw new Error('not served');
      checkFraming(openExchange(incoming, reply, live));
      const { method, target, version, headers } = incoming;
      const body = await incoming.read(MOST_BYTES);
      read.push({ line: `${method} ${target} ${version}`, list: headers, body: body.toString('latin1') });
    } catch {
      reply.closeAfter();
    }
    reply.writeHead(200, ['content-length', '0']);
    reply.end();
  };
  const host: Host = {
    memory: new ReadMemory(),
    bodies: new BodyMemory(),
    request: (incoming, reply) => void serve(incoming, reply),
    settled: () => undefined,
    refusal: () => '',
    closed: () => undefined,
    failed: (error) => {
      throw error;
    },
    mono: () => 0,
    date: () => '',
  };
  const [near, far] = duplexPair();
  new Connection(far as unknown as Socket, host); // any stream of bytes will do
  await feed(near, bytes);
  far.destroy();
  return read;
}

async function feed(near: Duplex, bytes: Buffer): Promise<void> {
  near.on('error', () => undefined).resume();
  near.write(Buffer.from(bytes));
  await still();
  near.destroy();
}

/** What Node's server makes of them. */
async function nodes(bytes: Buffer): Promise<Read[]> {
  const read: Read[] = [];
  const options = { requireHostHeader: false, insecureHTTPParser: false, maxHeaderSize: 1 << 20 };
  const server = createServer(options, (req: IncomingMessage, res) => {
    const one = { line: `${req.method} ${req.url} ${req.httpVersion}`, list: req.rawHeaders };
    let body = '';
    req.setEncoding('latin1');
    req.on('data', (part: string) => (body += part));
    req.on('error', () => undefined);
    req.on('end', () => {
      read.push({ ...one, body });
      res.end();
    });
  });
  server.on('clientError', () => undefined); // what came before is still read
  const [near, far] = duplexPair();
  server.emit('connection', far);
  await feed(near, bytes);
  far.destroy();
  return read;
}

const nasty = fc.constantFrom(
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  '\x0b',
  '\x0c',
  ',',
  ';',
  ':',
  '"',
  '+',
  '-',
  '_',
  '0',
  'x',
  '\x7f',
  '\x80',
  '\xa0',
  '\xff',
  '/',
  '\r\n ',
);

/** A message with some bytes put in, taken out or replaced. */
function spoilt(message: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const change = fc.tuple(fc.nat(), fc.constantFrom(0, 0, 1, 2), nasty);
  return fc
    .tuple(message, fc.oneof(fc.constant([]), fc.array(change, { minLength: 1, maxLength: 2 })))
    .map(([text, changes]) => {
      let out = text;
      for (const [place, taken, put] of changes) {
        const at = place % (out.length + 1);
        out = out.slice(0, at) + put + out.slice(at + taken);
      }
      return Buffer.from(out, 'latin1');
    });
}

const sound = fc.array(
  fc.constantFrom('X-A:  b \t', 'X-B:', 'X-C: \xe4', 'Connection: keep-alive', 'Keep-Alive: x'),
  { maxLength: 2 },
);
const framing = fc.constantFrom(
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 05',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length:5',
  'content-length :5',
  'Content-Length: 0x5',
  'Content-Length: 5 ',
  'Content-Length: 5;a',
  'Content-Length: 18446744073709551621',
  'Transfer-Encoding: chunked',
  'transfer-encoding:\tCHUNKED ',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding:',
  'Transfer-Encoding: chunked;q=1',
  'Transfer_Encoding: chunked',
  'Content_Length: 5',
);
const other = fc.constantFrom(
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Upgrade',
  'Connection: content-length',
  'Upgrade: h2c',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Expect: x',
  'X-A: b',
  'X-A:',
  'X-A:  b \t',
  'X-\xe4: b',
  'X-A: \xe4',
  ' folded',
  '\tfolded',
  'no colon',
  ': empty',
  'Trailer: X-A',
  'TE: trailers',
  'Keep-Alive: timeout=5',
  'Host: b',
  'Proxy-Connection: close',
  'X-A: "\\"',
  'X-A: a,b;c',
);
const body = fc.constantFrom(
  '',
  'hello',
  'hell',
  'hello!',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '05\r\nhello\r\n00\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '5\r\nhello0\r\n\r\n',
  '5\r\nhello\r\n0\r\nX-T: a\r\n\r\n',
  '5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n',
  '5\nhello\n0\n\n',
  '+5\r\nhello\r\n0\r\n\r\n',
  '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\n X: y\r\n\r\n',
  '1\r\nh\r\n4;x="y"\r\nello\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\nX\r\n\r\n',
);
/** Half of all messages are sound, save for what `spoilt` does to them: a parser that refuses everything agrees, too. */
const framed: fc.Arbitrary<{ readonly lines: readonly string[]; readonly body: string }> = fc.oneof(
  fc.record({
    lines: fc.array(fc.oneof({ weight: 2, arbitrary: framing }, { weight: 1, arbitrary: other }), {
      maxLength: 3,
    }),
    body,
  }),
  fc.record({
    lines: fc
      .tuple(fc.constantFrom('Content-Length: 5', 'content-length:005\t'), sound)
      .map((two) => two.flat()),
    body: fc.constant('hello'),
  }),
  fc.record({
    lines: fc
      .tuple(sound, fc.constantFrom('Transfer-Encoding: chunked', 'TRANSFER-ENCODING:Chunked '))
      .map((two) => two.flat()),
    body: fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', '1;x\r\nh\r\n4\r\nello\r\n00\r\nX-T: \ta\r\n\r\n'),
  }),
);
const requestMessage = fc
  .record({
    empty: fc.constantFrom('', '', '', '\r\n', '\r\n\r\n', '\n'),
    method: fc.constantFrom(
      'POST',
      'POST',
      'POST',
      'POST',
      'GET',
      'DELETE',
      'HEAD',
      'OPTIONS',
      'post',
      'PUT',
      'TRACE',
      'CONNECT',
    ),
    target: fc.constantFrom(
      '/',
      '/',
      '/a?b=c',
      '/a?b=c',
      '/a%20b',
      '/\xe4',
      '*',
      'http://b/',
      '/a#b',
      '//b',
      '/a b',
      '/[x]',
      "/a'(b)",
    ),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.1', '1.1', '1.1', '1.0', '2.0', '1.2', '1.10'),
    host: fc.constantFrom('Host: a\r\n', 'Host: a\r\n', 'Host: a\r\n', ''),
    framed,
  })
  .map(({ empty, method, target, version, host, framed: { lines, body } }) =>
    [
      `${empty}${method} ${target} HTTP/${version}\r\n${host}`,
      ...lines.map((line) => `${line}\r\n`),
      `\r\n${body}`,
    ].join(''),
  );
const requests = spoilt(fc.array(requestMessage, { minLength: 1, maxLength: 3 }).map((all) => all.join('')));

/**
 * The messages that both must agree on. Known to differ, and why that is safe:
 * - A second request behind an upgrade: Node stops reading there, to hand the connection on; we pass over the header,
 *   as RFC 9110 section 7.8 allows, and go on in HTTP/1.1, which is what we then answer in.
 * - One behind `Proxy-Connection: close`: Node takes it for `Connection`; we pass over it (RFC 9112 appendix C.2.2).
 */
const comparable = (read: readonly Read[]): Read[] => {
  const last = read.findIndex(({ list }) =>
    list.some((name, i) => i % 2 === 0 && /^(?:upgrade|proxy-connection)$/i.test(name)),
  );
  return read.slice(0, last < 0 ? undefined : last);
};

/**
 * Known to differ, and why that is safe: Node reads the names in chunk extensions, we read to the end of the line
 * (`1; x` is allowed by RFC 9112 section 7.1.1). Where they end is the same, and nobody hands them on.
 */
const withoutExtensions = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString('latin1').replace(/^([0-9a-f]+);[^\r\n]*\r\n/gim, '$1\r\n'), 'latin1');

const same = (one: Read | undefined, other: Read | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

async function live(t: Test): Promise<Live> {
  return liveOf(t, 'model_list: []', await houseOf(t));
}

t.test('requests: what we take, Node takes too, as the same requests', async (t) => {
  const house = await live(t);
  let taken = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(requests, async (bytes) => {
      const [mine, theirs] = [comparable(await ours(house, bytes)), await nodes(bytes)];
      taken += mine.length;
      if (mine.length < theirs.length) refused += 1;
      const isOdd = (others: readonly Read[]): boolean => mine.some((one, i) => !same(one, others[i]));
      if (!isOdd(theirs) || !isOdd(await nodes(withoutExtensions(bytes)))) return;
      const odd = mine.findIndex((one, index) => !same(one, theirs[index]));
      throw new Error(
        `${bytes.toString('latin1').replaceAll('\r\n', '<>')}  ## ${JSON.stringify(mine[odd])} is to Node ${JSON.stringify(theirs[odd] ?? 'nothing')}`,
      );
    }),
    { numRuns: 16_000, seed: SEED },
  );
  t.ok(taken > 1_000, `${taken} requests were taken`);
  t.ok(refused > 100, `${refused} times we are the stricter one`);
});

/** What our upstream connection makes of the bytes that follow a request. */
async function ourAnswer(bytes: Buffer): Promise<Read | null> {
  let line = '';
  let list: readonly string[] = [];
  let body = '';
  let whole: boolean | null = null;
  const connection = new UpstreamConnection(
    { free: () => undefined, gone: () => undefined, mono: () => 0 },
    'host: a\r\n',
    '',
  );
  connection.send(
    { method: 'GET', path: '/', headers: [], body: null },
    {
      onSent: () => undefined,
      onHead: (head) => {
        line = `${head.status} ${head.text} ${head.version}`;
        list = head.list;
      },
      onData: (data) => (body += data.toString('latin1')),
      onEnd: () => (whole = true),
      onError: () => (whole = false),
    },
  );
  const [near, far] = duplexPair();
  far.on('data', (part: Buffer) => connection.take(part));
  connection.opened(far as unknown as Socket);
  near.on('error', () => undefined).resume();
  near.end(Buffer.from(bytes));
  await still();
  near.destroy();
  far.destroy();
  return whole === true ? { line, list, body } : null;
}

async function nodesAnswer(bytes: Buffer): Promise<Read | null> {
  const [near, far] = duplexPair();
  const { promise, resolve } = Promise.withResolvers<Read | null>();
  let began = false;
  const req = httpRequest(
    { createConnection: () => far, insecureHTTPParser: false, maxHeaderSize: 1 << 20 },
    (res) => {
      let body = '';
      began = true;
      const line = `${res.statusCode} ${res.statusMessage} ${res.httpVersion}`;
      res.setEncoding('latin1');
      res.on('data', (part: string) => (body += part));
      res.on('error', () => resolve(null));
      res.on('end', () => resolve(res.complete ? { line, list: res.rawHeaders, body } : null));
    },
  );
  req.on('error', () => resolve(null));
  req.on('close', () => (began ? undefined : resolve(null)));
  req.end();
  near.on('error', () => undefined).resume();
  near.end(Buffer.from(bytes));
  const read = await promise;
  near.destroy();
  far.destroy();
  return read;
}

/**
 * Known to differ, and why that is safe: bytes behind an answer make Node call it broken; to us it is whole, as its
 * framing says, and its connection is closed, so that the bytes are nobody's. Without them both must agree.
 */
async function withoutRest(bytes: Buffer, answer: Read): Promise<Buffer> {
  let end = bytes.length;
  while (same((await ourAnswer(bytes.subarray(0, end - 1))) ?? undefined, answer)) end -= 1;
  return bytes.subarray(0, end);
}

const answerMessage = fc
  .record({
    interim: fc.constantFrom(
      '',
      '',
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n',
    ),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
    status: fc.constantFrom(
      '200 OK',
      '200 ',
      '404 Not Found',
      '204 No Content',
      '304 Not Modified',
      '500 \xe4',
      '299',
      '600 X',
      '20 X',
    ),
    framed,
  })
  .map(({ interim, version, status, framed: { lines, body } }) =>
    [`${interim}HTTP/${version} ${status}\r\n`, ...lines.map((line) => `${line}\r\n`), `\r\n${body}`].join(
      '',
    ),
  );

t.test('answers: what we call whole is whole to Node too, and the same', async (t) => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(spoilt(answerMessage), async (bytes) => {
      const mine = await ourAnswer(bytes);
      if (mine === null) return;
      taken += 1;
      const theirs = await nodesAnswer(bytes);
      if (same(mine, theirs ?? undefined)) return;
      const bare = await withoutRest(bytes, mine);
      if (same(mine, (await nodesAnswer(bare)) ?? undefined)) return;
      if (!same(mine, (await nodesAnswer(withoutExtensions(bare))) ?? undefined))
        throw new Error(
          `${bytes.toString('latin1').replaceAll('\r\n', '<>')}  ## ${JSON.stringify(mine)} is to Node ${JSON.stringify(theirs)}`,
        );
    }),
    { numRuns: 6_000, seed: SEED },
  );
  t.ok(taken > 1_000, `${taken} answers were taken`);
});
