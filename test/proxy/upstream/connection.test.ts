// One connection to an upstream that is scripted byte by byte: what is an answer, what is none, and when the connection
// may serve another request. Every oddity must cost the connection, never the next answer.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import type { Test } from 'tap';
import type { UpstreamExchange, ResponseReader, HttpRequest } from '../../../proxy/upstream/exchange.ts';
import { failureOf } from '../../../proxy/upstream/failures.ts';
import { proxyFor, readProxySettings } from '../../../proxy/upstream/http-proxies.ts';
import { ConnectionPool, type Pool } from '../../../proxy/upstream/pool.ts';
import type { ReceivedHead } from '../../../proxy/upstream/response-head.ts';
import { allocWithHeadroom } from '../../../proxy/bodies/body-memory.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const GET: HttpRequest = { method: 'GET', path: '/', headers: [], body: null };
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Plays its lines: for each request on a connection the next piece of a script. */
type Play = (socket: Socket, nth: number, request: string) => void;

interface Stage {
  readonly pool: Pool;
  /** Connections so far. */
  readonly sockets: Socket[];
  readonly clock: { now: number };
  readonly url: string;
}

async function listen(t: Test, server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** An upstream that answers each head that ends (bodies are not looked at) as `play` does. */
async function stage(t: Test, play: Play): Promise<Stage> {
  const sockets: Socket[] = [];
  let nth = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      if (!text.includes('\r\n\r\n')) return;
      const request = text;
      text = '';
      play(socket, nth++, request);
    });
    t.teardown(() => socket.destroy());
  });
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  const clock = { now: 0 };
  const pool = new ConnectionPool(url, null, () => clock.now);
  t.teardown(() => pool.destroy());
  return { pool, sockets, clock, url };
}

interface Got {
  readonly head: ReceivedHead | null;
  readonly body: string;
  /** `onData` calls. */
  readonly pieces: number;
  readonly written: boolean | null;
  readonly error: Error | null;
}

interface Sent {
  readonly got: Promise<Got>;
  readonly head: Promise<void>;
  readonly first: Promise<void>;
  readonly sending: UpstreamExchange;
}

function open(pool: Pool, request: HttpRequest = GET, more: Partial<ResponseReader> = {}): Sent {
  const { promise, resolve } = Promise.withResolvers<Got>();
  const headCame = Promise.withResolvers<void>();
  const firstCame = Promise.withResolvers<void>();
  let head: ReceivedHead | null = null;
  let body = '';
  let pieces = 0;
  let ends = 0;
  const end = (written: boolean | null, error: Error | null): void => {
    ends += 1;
    if (ends > 1) throw new Error('an answer ended twice');
    resolve({ head, body, pieces, written, error });
  };
  const sending = pool.send(request, {
    onSent: () => undefined,
    onHead: (one) => {
      head = one;
      headCame.resolve();
    },
    onData: (bytes) => {
      pieces += 1;
      body += bytes.toString('latin1');
      bytes.fill(0xee); // nobody may need it afterwards
      firstCame.resolve();
    },
    onEnd: (written) => end(written, null),
    onError: (error) => end(null, error),
    ...more,
  });
  return { got: promise, head: headCame.promise, first: firstCame.promise, sending };
}

const call = (pool: Pool, request?: HttpRequest): Promise<Got> => open(pool, request).got;

t.test('an answer is read however it is framed; its connection serves the next one or not', async (t) => {
  const table: readonly [title: string, bytes: string, body: string, kept: boolean][] = [
    ['a length', OK, 'ok', true],
    ['no body by length', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', '', true],
    ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 'ok', true],
    [
      'chunks in capitals',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n1;x=y\r\no\r\n1\r\nk\r\n00\r\n\r\n',
      'ok',
      true,
    ],
    [
      'chunks and a trailer',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n',
      'ok',
      true,
    ],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
    ['304 with a length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', '', false],
    [
      'interim answers before',
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`,
      'ok',
      true,
    ],
    ['Connection: close', OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), 'ok', false],
    ['HTTP/1.0', OK.replace('1.1', '1.0'), 'ok', false],
    [
      'HTTP/1.0 that stays',
      OK.replace('1.1', '1.0').replace('\r\n\r\n', '\r\nConnection: keep-alive\r\n\r\n'),
      'ok',
      true,
    ],
    [
      'chunks on HTTP/1.0',
      'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      'ok',
      true,
    ],
    ['bytes behind the length', `${OK}!`, 'ok', false],
    ['an answer behind the answer', OK + OK.replace('ok', 'no'), 'ok', false],
    [
      'bytes behind the last chunk',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n!',
      'ok',
      false,
    ],
    ['a body behind a 204', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok', '', false],
    ['no time to stay', OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=1\r\n\r\n'), 'ok', false],
  ];
  let script: string[] = [];
  const { pool, sockets } = await stage(t, (socket) => socket.write(script.shift() ?? '', 'latin1'));
  for (const [title, bytes, body, kept] of table) {
    const before = sockets.length;
    script = [bytes, OK];
    t.match(await call(pool), { body, error: null, written: true }, title);
    t.match(await call(pool), { body: 'ok', error: null }, `${title}: the next answer is its own`);
    t.equal(sockets.length - before, kept ? 1 : 2, `${title}: ${kept ? 'kept' : 'not used again'}`);
    pool.sweep(Number.MAX_SAFE_INTEGER);
  }
});

t.test('an answer cut at any byte is the same answer', async (t) => {
  const wire = `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\ntransfer-encoding: chunked\r\n\r\n5;x\r\nhello\r\n3\r\nyou\r\n0\r\nt: u\r\n\r\n`;
  const { pool, sockets } = await stage(t, (socket, nth) => {
    const cut = 1 + (nth % (wire.length - 1));
    socket.write(wire.slice(0, cut), () => setImmediate(() => socket.write(wire.slice(cut))));
  });
  for (let n = 1; n < wire.length; n++) {
    const got = await call(pool);
    if (got.body !== 'helloyou' || got.error !== null) t.fail(`cut at ${n}: ${JSON.stringify(got)}`);
  }
  t.equal(sockets.length, 1);
});

t.test('what is no answer is refused, and the connection with it', async (t) => {
  const bad: Record<string, string> = {
    'Content-Length twice': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok',
    'Content-Length beside chunks':
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'another transfer coding': 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'a list that ends in chunked': 'HTTP/1.1 200 OK\r\ntransfer-encoding: ,chunked\r\n\r\n0\r\n\r\n',
    'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n',
    'an interim answer on HTTP/1.0': `HTTP/1.0 100 Continue\r\n\r\n${OK}`,
    'a status above 599': 'HTTP/1.1 600 What\r\ncontent-length: 0\r\n\r\n',
    'the status 999': 'HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n',
    'a status below 100': `HTTP/1.1 099 What\r\n\r\n${OK}`,
    'another version': 'HTTP/2 200\r\n\r\n',
    'a switch of protocols without a name': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    '100 Continue, which nobody asked for': `HTTP/1.1 100 Continue\r\n\r\n${OK}`,
    'interim responses without end': 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(140),
    'Transfer-Encoding twice':
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'chunked before a tab': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\t\r\n\r\n0\r\n\r\n',
    'another coding alone': 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nxx',
    '1,001 headers': `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(1_001)}\r\n`,
    'a page without a head': '<html>no</html>',
    'a folded header': 'HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n',
    'LF alone': 'HTTP/1.1 200 OK\ncontent-length: 0\n\n',
    'NUL in a header': 'HTTP/1.1 200 OK\r\na: \0\r\n\r\n',
    'a chunk size of letters': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n',
    'a head of 70 KB': `HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}\r\n\r\n`,
    'a head without an end': `HTTP/1.1 200 OK\r\na: ${'x'.repeat(140_000)}`,
  };
  let bytes = '';
  const { pool, sockets } = await stage(t, (socket) => socket.write(bytes, 'latin1'));
  for (const [title, script] of Object.entries(bad)) {
    bytes = script;
    const { error } = await call(pool);
    t.match(failureOf(error, 'BASE', true), { message: /not an HTTP answer|more headers than/ }, title);
    t.equal(pool.size, 0, `${title}: nothing is kept`);
  }
  t.equal(sockets.length, Object.keys(bad).length);
});

t.test(
  'an answer that breaks off is broken at every stage, save where its end is the end of the connection',
  async (t) => {
    const length = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello';
    const chunks = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    let bytes = '';
    let leave: 'end' | 'resetAndDestroy' = 'end';
    const { pool } = await stage(t, (socket) =>
      socket.write(bytes, () => setImmediate(() => socket[leave]())),
    );
    for (leave of ['end', 'resetAndDestroy'] as const) {
      for (const whole of [length, chunks]) {
        for (const cut of [
          0,
          1,
          10,
          whole.indexOf('\r\n\r\n') + 3,
          whole.indexOf('\r\n\r\n') + 4,
          whole.indexOf('lo'),
          whole.length - 1,
        ]) {
          bytes = whole.slice(0, cut);
          const { error } = await call(pool);
          t.match(
            failureOf(error, 'BASE', true),
            { message: /closed the connection/ },
            `${leave} after ${cut}`,
          );
          t.equal(pool.size, 0);
        }
      }
    }
    bytes = 'HTTP/1.1 200 OK\r\n\r\nuntil the end';
    leave = 'end';
    t.match(await call(pool), { error: null, body: 'until the end' });
    leave = 'resetAndDestroy';
    t.match(await call(pool), { error: { code: 'ECONNRESET' }, body: 'until the end' }, 'a reset is no end');
    t.equal(pool.size, 0);
  },
);

t.test('bytes that come while nothing was asked cost the connection; its end, too', async (t) => {
  const { pool, sockets } = await stage(t, (socket) => socket.write(OK));
  for (const disturb of [
    (one: Socket): unknown => one.write('HTTP/1.1 200 OK\r\n\r\n'),
    (one: Socket): unknown => one.end(),
  ]) {
    await call(pool);
    const socket = sockets.at(-1) as Socket;
    const closed = once(socket, 'close');
    disturb(socket);
    await closed;
    t.match(await call(pool), { body: 'ok', error: null });
    t.not(sockets.at(-1), socket);
  }
});

t.test(
  'an answer that comes before the request is out ends it: its rest must not stand before the next request',
  async (t) => {
    const { pool, sockets } = await stage(t, (socket, nth) => {
      if (nth === 0) socket.pause();
      socket.write(nth === 0 ? 'HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\n\r\nlarge' : OK);
    });
    const body = Buffer.alloc(40_000_000, 'x'); // more than the sockets' buffers take
    const got = await call(pool, { ...GET, method: 'POST', body });
    t.match(
      got,
      { head: { status: 413 }, body: 'large', error: null, written: false },
      'and its memory is still in use',
    );
    t.match(await call(pool), { body: 'ok' });
    t.equal(sockets.length, 2);
  },
);

t.test('an upstream that refuses a large body by its head is heard before the rest is sent', async (t) => {
  let least = Infinity;
  // A busy machine may take longer than we wait, again and again.
  for (let n = 0; n < 30 && least > 100_000; n += 1) {
    const { pool, sockets } = await stage(t, (socket) => {
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\n\r\nlarge');
    });
    const { got } = open(pool, { ...GET, method: 'POST', body: Buffer.alloc(8_000_000, 'x') });
    t.match(await got, { head: { status: 413 }, body: 'large', error: null, written: false });
    const [socket] = sockets;
    if (socket?.closed === false) await once(socket, 'close');
    least = Math.min(least, socket?.bytesRead ?? Infinity);
  }
  t.ok(least < 100_000, `${least} bytes were sent`);
});

t.test('a large body arrives as it is, and its connection serves the next request', async (t) => {
  const body = Buffer.from(Uint8Array.from({ length: 3_000_001 }, (_, i) => i % 251));
  const read: Buffer[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    t.teardown(() => socket.destroy());
    socket.on('data', (piece) => {
      read.push(piece);
      const bytes = read.reduce((sum, { length }) => sum + length, 0);
      if (bytes === (read[0]?.indexOf('\r\n\r\n') ?? 0) + 4 + body.length) socket.write(OK);
    });
  });
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  const pool = new ConnectionPool(url, null, () => 0);
  t.teardown(() => pool.destroy());
  const head = `POST / HTTP/1.1\r\nhost: ${url.slice('http://'.length)}\r\nconnection: keep-alive\r\ncontent-length: 3000001\r\n\r\n`;
  for (const name of ['first', 'second']) {
    const got = await call(pool, { ...GET, method: 'POST', body });
    t.match(got, { body: 'ok', error: null, written: true }, name);
    const message = Buffer.concat(read.splice(0));
    t.equal(message.subarray(0, head.length).toString(), head);
    t.ok(message.subarray(head.length).equals(body));
  }
  t.equal(pool.size, 1);
});

t.test('a request is written as one message: head, framing, body', async (t) => {
  const seen: string[] = [];
  const { pool, url } = await stage(t, (socket, _, request) => {
    seen.push(request);
    socket.write(OK);
  });
  const host = url.slice('http://'.length);
  const common = `host: ${host}\r\nconnection: keep-alive\r\n`;
  await call(pool, { ...GET, headers: ['x-a', 'caf\xe9'] });
  t.equal(seen.pop(), `GET / HTTP/1.1\r\n${common}x-a: caf\xe9\r\n\r\n`);
  await call(pool, { ...GET, method: 'POST' });
  t.equal(seen.pop(), `POST / HTTP/1.1\r\n${common}content-length: 0\r\n\r\n`);
  const room = allocWithHeadroom(5);
  room.write('hello');
  for (const body of [Buffer.from('hello'), room]) {
    await call(pool, { ...GET, method: 'POST', body });
    t.equal(seen.pop(), `POST / HTTP/1.1\r\n${common}content-length: 5\r\n\r\nhello`);
  }
});

t.test('a request that would not be one message is not sent', async (t) => {
  let requests = 0;
  const { pool } = await stage(t, (socket) => {
    requests += 1;
    socket.write(OK);
  });
  await call(pool);
  t.equal(pool.size, 1);
  const bad: Partial<HttpRequest>[] = [
    { headers: ['x-a', 'b\r\nx-evil: 1'] },
    { headers: ['x-a', '\u010d\u010a'] },
    { headers: ['x-a: 1\r\nx-evil', 'b'] },
    { headers: ['x a', 'b'] },
    { headers: ['', 'b'] },
    { headers: ['transfer-encoding', 'chunked'] },
    { headers: ['content-length', '1'], body: Buffer.from('ab') },
    { headers: ['host', 'a', 'host', 'b'] },
    { headers: ['expect', '100-continue'] },
    { path: '/ HTTP/1.1\r\nx-evil: 1\r\n\r\n' },
    { path: '/a b' },
    { path: '/\u0120' },
    { path: '' },
  ];
  for (const one of bad) {
    const { error } = await call(pool, { ...GET, method: 'POST', ...one });
    t.match(failureOf(error, 'BASE'), { code: 'internal_error' }, JSON.stringify(one));
  }
  t.equal(requests, 1);
  t.match(await call(pool), { body: 'ok' });
});

t.test('connections stay idle as long as the upstream says, less a second, and 25 s at most', async (t) => {
  let header = '';
  const { pool, sockets, clock } = await stage(t, (socket) =>
    socket.write(OK.replace('\r\n\r\n', `${header}\r\n\r\n`)),
  );
  const table: readonly [header: string, keptMs: number][] = [
    ['', 4_000],
    ['\r\nKeep-Alive: timeout=10', 9_000],
    ['\r\nKeep-Alive: max=5, TIMEOUT=3', 2_000],
    ['\r\nKeep-Alive: timeout=600', 25_000],
    ['\r\nKeep-Alive: nonsense', 4_000],
  ];
  for (const [line, keptMs] of table) {
    header = line;
    await call(pool);
    const used = sockets.length;
    clock.now += keptMs - 1;
    pool.sweep(clock.now);
    t.equal(pool.size, 1);
    await call(pool);
    t.equal(sockets.length, used, `${line} ${keptMs}`);
    clock.now += keptMs;
    await call(pool);
    t.equal(sockets.length, used + 1, 'one that is too old is not used, swept or not');
    const closed = once(sockets.at(-1) as Socket, 'close');
    clock.now += keptMs;
    pool.sweep(clock.now);
    t.equal(pool.size, 0);
    await closed;
  }
});

t.test('who leaves ends the connection and hears nothing more, at every stage', async (t) => {
  const options = Promise.withResolvers<void>();
  const { pool, sockets } = await stage(t, (socket, _, request) => {
    const [, path = ''] = request.split(' ');
    if (path === '/silent') options.resolve();
    socket.write({ '/head': OK.slice(0, -2), '/body': OK.slice(0, -1), '/whole': OK }[path] ?? '');
  });
  const said = (): never => {
    throw new Error('said more');
  };
  const ends = { onEnd: said, onError: said };
  const stages: Record<string, (one: Sent) => Promise<void>> = {
    '/opening': async () => undefined,
    '/silent': () => options.promise,
    '/head': ({ head }) => head,
    '/body': ({ first }) => first,
  };
  for (const [path, reached] of Object.entries(stages)) {
    const one = open(pool, { ...GET, path }, ends);
    await reached(one);
    one.sending.destroy();
    one.sending.destroy();
    t.equal(pool.size, 0, path);
    const socket = sockets.at(-1);
    if (path !== '/opening' && socket?.destroyed === false) await once(socket, 'close');
  }
  for (const stageOfLeave of ['onHead', 'onData'] as const) {
    const left = Promise.withResolvers<void>();
    let calls = 0;
    const one = open(
      pool,
      { ...GET, path: '/whole' },
      {
        ...ends,
        onHead: () => (stageOfLeave === 'onHead' ? leave() : undefined),
        onData: () => leave(),
      },
    );
    const leave = (): void => {
      calls += 1;
      one.sending.destroy();
      left.resolve();
    };
    await left.promise;
    await once(sockets.at(-1) as Socket, 'close');
    t.equal(calls, 1, `within ${stageOfLeave}`);
    t.equal(pool.size, 0);
  }
});

t.test('a reader that fails ends its own exchange alone', async (t) => {
  const { pool } = await stage(t, (socket) => socket.write(OK));
  const bug = new TypeError('a bug');
  for (const stageOfBug of ['onHead', 'onData'] as const) {
    const { got } = open(pool, GET, {
      [stageOfBug]: () => {
        throw bug;
      },
    });
    t.equal((await got).error, bug);
    t.equal(pool.size, 0);
  }
  t.match(await call(pool), { body: 'ok' });
});

t.test('a pause holds the upstream, a resume lets it go on; nothing is lost', async (t) => {
  const piece = 'x'.repeat(1_000_000);
  const { pool, sockets } = await stage(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${80 * piece.length}\r\n\r\n`);
    for (let n = 0; n < 80; n++) socket.write(piece);
  });
  const one = open(pool);
  await one.first;
  one.sending.pause();
  const other = await stage(t, (socket) => socket.write(OK));
  for (let n = 0; n < 100; n++) await call(other.pool);
  t.ok((sockets[0] as Socket).writableLength > 0, 'the upstream feels it');
  one.sending.resume();
  const { body, error } = await one.got;
  t.equal(error, null);
  t.equal(body.length, 80 * piece.length);
});

t.test('chunks that come together are handed on together', async (t) => {
  const text = 'abcdefghij'.repeat(2_000);
  const chunks = [...text].map((byte) => `1\r\n${byte}\r\n`).join('');
  const { pool } = await stage(t, (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
  );
  const { body, pieces } = await call(pool);
  t.ok(body === text);
  t.ok(pieces < 50, `${pieces} pieces for ${text.length} chunks`);
  const cut = await stage(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n2\r\nayX'),
  );
  t.match(
    await call(cut.pool),
    { body: 'okay', error: { name: 'HTTPParserError' } },
    'what came before the fault is handed on',
  );
});

const selfSigned = (t: Test): { key: string; cert: string } => {
  const folder = tempDir(t);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      cert,
      ...names,
    ],
    { stdio: 'pipe' },
  );
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
};

/** A process that trusts the certificate must be told so before it starts; here the connection must be refused. */
t.test(
  'TLS: a certificate that nobody vouches for is refused before a byte of the request is sent',
  async (t) => {
    const seen: string[] = [];
    const server = createTlsServer(selfSigned(t), (socket) =>
      socket.on('data', (bytes: Buffer) => seen.push(bytes.toString())),
    );
    server.on('tlsClientError', () => undefined);
    const pool = new ConnectionPool(`https://localhost:${await listen(t, server)}`, null, () => 0);
    t.match(await call(pool), { error: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
    t.same(seen, []);
    t.equal(pool.size, 0);
  },
);

/** Runs a script of its own, since Node reads NODE_EXTRA_CA_CERTS once at its start. */
function runTrusting(t: Test, cert: string, script: string): unknown {
  const path = join(tempDir(t), 'ca.pem');
  execFileSync('tee', [path], { input: cert, stdio: ['pipe', 'ignore', 'inherit'] });
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: path },
    cwd: process.cwd(),
    encoding: 'utf8',
    timeout: 600_000,
  });
  return JSON.parse(out) as unknown;
}

t.test(
  'TLS: straight and through a tunnel; the second connection takes up the session of the first',
  async (t) => {
    const { key, cert } = selfSigned(t);
    const script = `
    import { once } from 'node:events';
    import { connect, createServer } from 'node:net';
    import { createServer as createTlsServer } from 'node:tls';
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    import { ConnectionPool } from './proxy/upstream/pool.ts';
    import { proxyFor, readProxySettings } from './proxy/upstream/http-proxies.ts';
    const secured = [];
    const server = createTlsServer(${JSON.stringify({ key, cert, ALPNProtocols: ['http/1.1'] })}, (socket) => {
      secured.push({ reused: socket.isSessionReused(), alpn: socket.alpnProtocol, name: socket.servername });
      socket.on('error', () => undefined);
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\\r\\ncontent-length: 100000\\r\\nconnection: close\\r\\n\\r\\n' + 'x'.repeat(100000)));
    });
    server.listen(0, 'localhost');
    await once(server, 'listening');
    const tunnels = [];
    const tunnel = createServer((client) => client.on('error', () => undefined).once('data', (bytes) => {
      tunnels.push(String(bytes).split('\\r\\n').filter((line) => !/^(?:host|connection):/.test(line)));
      const upstream = connect(server.address().port, 'localhost', () => {
        client.write('HTTP/1.1 200 Connection');
        client.write(' established\\r\\nvia: x\\r\\n\\r\\n');
        client.pipe(upstream).pipe(client);
      });
      upstream.on('error', () => client.destroy());
    }));
    tunnel.listen(0, '127.0.0.1');
    await once(tunnel, 'listening');
    const origin = 'https://localhost:' + server.address().port;
    const call = (pool) => new Promise((resolve, reject) => {
      let bytes = 0;
      pool.send({ method: 'POST', path: '/', headers: [], body: Buffer.alloc(50000, 'y') }, {
        onSent: () => undefined, onHead: () => undefined,
        onData: (data) => (bytes += data.length), onEnd: () => resolve(bytes), onError: reject,
      });
    });
    const straight = new ConnectionPool(origin, null, () => 0);
    const proxy = proxyFor(origin, readProxySettings({ https_proxy: 'http://u:p@127.0.0.1:' + tunnel.address().port }));
    const through = new ConnectionPool(origin, proxy, () => 0);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const bytes = [];
    for (const pool of [straight, straight, through, through]) {
      bytes.push(await call(pool));
      await new Promise(setImmediate);
      collect(); // what only a WeakRef holds is gone
    }
    while (straight.size + through.size > 0) await new Promise(setImmediate);
    console.log(JSON.stringify({ bytes, secured, tunnels, sizes: [straight.size, through.size] }));
    process.exit(0);
  `;
    const one = { alpn: 'http/1.1', name: 'localhost' };
    t.match(runTrusting(t, cert, script), {
      bytes: [100_000, 100_000, 100_000, 100_000],
      secured: [
        { ...one, reused: false },
        { ...one, reused: true },
        { ...one, reused: false },
        { ...one, reused: true },
      ],
      tunnels: Array.from({ length: 2 }, () => [
        /^CONNECT localhost:\d+ HTTP\/1\.1$/,
        'proxy-authorization: Basic dTpw',
        '',
        '',
      ]),
      sizes: [0, 0],
    });
  },
);

t.test('a tunnel that breaks, answers in drops or sends more than its head ends the request', async (t) => {
  const ends: Record<string, Play> = {
    'at once': (socket) => socket.destroy(),
    'by a reset': (socket) => socket.resetAndDestroy(),
    'within its head': (socket) => socket.end('HTTP/1.1 200'),
    'behind its head': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'),
    'behind its head by a reset': (socket) =>
      socket.write('HTTP/1.1 200 OK\r\n\r\n', () => setImmediate(() => socket.resetAndDestroy())),
    'with bytes behind its head': (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nmore'),
    'with no HTTP': (socket) => socket.write('SSH-2.0-x\r\n\r\n'),
    'with a head of 20 KB': (socket) => socket.write(`HTTP/1.1 200 OK\r\na: ${'x'.repeat(20_000)}`),
    'with no TLS behind it': (socket) =>
      socket.write('HTTP/1.1 200 OK\r\n\r\n', () => setTimeout(() => socket.write('plain text'), 20)),
    'with 407': (socket) => socket.write('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
  };
  for (const [title, play] of Object.entries(ends)) {
    const { url } = await stage(t, play);
    const origin = 'https://upstream.example';
    const pool = new ConnectionPool(
      origin,
      proxyFor(origin, readProxySettings({ HTTPS_PROXY: url })),
      () => 0,
    );
    const { error } = await call(pool);
    t.ok(error instanceof Error, title);
    t.equal(pool.size, 0, title);
    pool.destroy();
  }
});

t.test(
  'a name with several addresses is tried until one answers; a literal IPv6 address works',
  async (t) => {
    const server = createServer((socket) =>
      socket.on('error', () => undefined).on('data', () => socket.write(OK)),
    );
    const port = await listen(t, server);
    const named = new ConnectionPool(`http://localhost:${port}`, null, () => 0);
    t.teardown(() => named.destroy());
    t.match(await call(named), { body: 'ok', error: null });
    const six = createServer((socket) =>
      socket.on('error', () => undefined).on('data', () => socket.write(OK)),
    );
    const there = await new Promise<boolean>((resolve) => {
      six.once('error', () => resolve(false));
      six.listen(0, '::1', () => resolve(true));
    });
    if (!there) return t.comment('no IPv6 here');
    t.teardown(() => six.close());
    const pool = new ConnectionPool(
      `http://[::1]:${(six.address() as AddressInfo).port}`,
      null,

      () => 0,
    );
    t.teardown(() => pool.destroy());
    t.match(await call(pool), { body: 'ok', error: null });
  },
);

t.test('nobody there', async (t) => {
  // Not a port that was free a moment ago: another process may have been given it since.
  const pool = new ConnectionPool('http://127.0.0.1:1', null, () => 0);
  t.match(await call(pool), { error: { code: 'ECONNREFUSED' } });
  t.equal(pool.size, 0);
});

t.test('a bug of its reader ends one exchange, not the process', async (t) => {
  const bug = new Error('a bug');
  const broken = (): never => {
    throw bug;
  };
  const { pool } = await stage(t, (socket) => socket.write(OK));
  for (const at of ['onSent', 'onHead', 'onData', 'onEnd'] as const) {
    const { error } = await open(pool, GET, { [at]: broken }).got;
    t.equal(error, bug, at);
    t.equal(pool.size, 0, `${at}: its connection is not used again`);
  }
  t.match(await call(pool), { body: 'ok', error: null });
});
