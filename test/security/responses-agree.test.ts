// Two HTTP programs must never read the same response in two ways. Node's own client stands for the other one: whatever
// our upstream connection calls whole, it calls whole, too, with the same headers and the same body.
import fc from 'fast-check';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { ConnectionPool } from '../../proxy/upstream/pool.ts';

/** The same cases every day; to hunt for more, change it and raise `numRuns`. */
const SEED = 9_112;

interface Read {
  readonly status: number;
  readonly list: readonly string[];
  readonly body: string;
}

const line = fc.constantFrom(
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 05',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'content-length :5',
  'Content-Length: 0x5',
  'Content-Length: 18446744073709551621',
  'Transfer-Encoding: chunked',
  'transfer-encoding:\tCHUNKED ',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding:',
  'Connection: close',
  'Connection: keep-alive',
  'Upgrade: h2c',
  'X-A:  b \t',
  'X-\xe4: b',
  'X-A: \xe4',
  ' folded',
  'no colon',
  ': empty',
  'Trailer: X-A',
  'Set-Cookie: a=b',
  'Keep-Alive: timeout=5',
);
const body = fc.constantFrom(
  '',
  'hello',
  'hell',
  'hello!',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '5\r\nhello0\r\n\r\n',
  '5\r\nhello\r\n0\r\nX-T: a\r\n\r\n',
  '5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n',
  '5\nhello\n0\n\n',
  '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
);
/** Half of them are sound: a parser that refuses everything agrees, too. */
const framed: fc.Arbitrary<{ readonly lines: readonly string[]; readonly body: string }> = fc.oneof(
  fc.record({ lines: fc.array(line, { maxLength: 3 }), body }),
  fc.record({ lines: fc.constant(['X-A: b', 'Content-Length: 5']), body: fc.constant('hello') }),
  fc.record({
    lines: fc.constant(['Transfer-Encoding: chunked', 'X-A: \xe4']),
    body: fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', '1;x\r\nh\r\n4\r\nello\r\n00\r\nX-T: \ta\r\n\r\n'),
  }),
);
const message = fc
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
      '204 No Content',
      '304 Not Modified',
      '500 \xe4',
      '600 X',
      '20 X',
    ),
    framed,
  })
  .map(({ interim, version, status, framed: { lines, body } }) =>
    [`${interim}HTTP/${version} ${status}\r\n`, ...lines.map((one) => `${one}\r\n`), `\r\n${body}`].join(''),
  );
const nasty = fc.constantFrom(
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ',',
  ';',
  ':',
  '0',
  'x',
  '\x7f',
  '\xff',
  '\r\n ',
);
const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 0, 1, 2), nasty), { maxLength: 2 });
/** A message with some bytes put in, taken out or replaced. */
const spoilt = fc.tuple(message, fc.oneof(fc.constant([]), changes)).map(([text, all]) => {
  let out = text;
  for (const [place, taken, put] of all) {
    const at = place % (out.length + 1);
    out = out.slice(0, at) + put + out.slice(at + taken);
  }
  return Buffer.from(out, 'latin1');
});

/** Names are the same in any case of letters, and only the order of equal ones matters (RFC 9110 sections 5.1 and 5.3). */
function byName(list: readonly string[]): readonly string[] {
  const pairs = list.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), list[i + 1] ?? '']] : []));
  return pairs.toSorted(([a = ''], [b = '']) => (a < b ? -1 : Number(a > b))).flat();
}

function ours(pool: ConnectionPool): Promise<Read | null> {
  const { promise, resolve } = Promise.withResolvers<Read | null>();
  let read: Read | null = null;
  pool.send(
    { method: 'GET', path: '/', headers: [], body: null },
    {
      onSent: () => undefined,
      onHead: ({ status, list }) => (read = { status, list: byName(list), body: '' }),
      onData: (bytes) => {
        if (read !== null) read = { ...read, body: read.body + bytes.toString('latin1') };
      },
      onEnd: () => resolve(read),
      onError: () => resolve(null),
    },
  );
  return promise;
}

function nodes(port: number): Promise<Read | null> {
  const { promise, resolve } = Promise.withResolvers<Read | null>();
  const req = request({
    host: '127.0.0.1',
    port,
    agent: false,
    insecureHTTPParser: false,
    maxHeaderSize: 1 << 20,
  });
  let isBegun = false;
  req.on('response', (res) => {
    isBegun = true;
    let text = '';
    res.setEncoding('latin1').on('data', (part: string) => (text += part));
    res.on('error', () => resolve(null));
    res.on('close', () =>
      resolve(
        res.complete ? { status: res.statusCode ?? 0, list: byName(res.rawHeaders), body: text } : null,
      ),
    );
  });
  req.on('error', () => resolve(null)).on('close', () => (isBegun ? undefined : resolve(null)));
  req.end();
  return promise;
}

t.test(
  'what we call a whole response is whole to Node too, and the same',
  { timeout: 120_000 },
  async (t) => {
    let bytes = Buffer.alloc(0);
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(bytes));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const pool = new ConnectionPool(`http://127.0.0.1:${port}`, null, () => 0);
    t.teardown(() => {
      pool.destroy();
      server.close();
    });
    let taken = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(spoilt, async (one) => {
        bytes = one;
        const mine = await ours(pool);
        const theirs = await nodes(port);
        if (mine !== null) taken += 1;
        if (mine === null && theirs !== null) refused += 1;
        if (mine === null || JSON.stringify(mine) === JSON.stringify(theirs)) return;
        // Bytes behind a whole response make Node call it broken; to us it is whole, and its connection is closed.
        let end = one.length;
        for (;;) {
          bytes = one.subarray(0, end - 1);
          if (JSON.stringify(await ours(pool)) !== JSON.stringify(mine)) break;
          end -= 1;
        }
        bytes = one.subarray(0, end);
        const bare = await nodes(port);
        if (JSON.stringify(mine) === JSON.stringify(bare)) return;
        throw new Error(
          `${JSON.stringify(one.toString('latin1'))} ## ${JSON.stringify(mine)} is to Node ${JSON.stringify(bare)}`,
        );
      }),
      { numRuns: 400, seed: SEED },
    );
    t.ok(taken > 100, `${taken} responses were taken`);
    t.ok(refused > 4, `${refused} times we are the stricter one`);
  },
);
