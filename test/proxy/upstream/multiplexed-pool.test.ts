// HTTP/2 upstreams, against Node's own server for it: many requests on one connection, and what a stream that breaks off
// is to its reader. Certificates of this process are set by hand, as NODE_EXTRA_CA_CERTS does at its start.
import { once } from 'node:events';
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import type { IncomingHttpHeaders, SecureServerOptions } from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import t from 'tap';
import type { Test } from 'tap';
import type { UpstreamExchange } from '../../../proxy/upstream/exchange.ts';
import { failureOf } from '../../../proxy/upstream/failures.ts';
import { MultiplexedPool } from '../../../proxy/upstream/multiplexed-pool.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import type { Pool } from '../../../proxy/upstream/pool.ts';
import type { ReceivedHead } from '../../../proxy/upstream/response-head.ts';
import { selfSigned } from '../../support/certificate.ts';
import { beforeNextLook } from '../../support/patience.ts';

const { key, cert } = selfSigned();
setDefaultCACertificates([...getCACertificates('default'), cert]);

type Play = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, server: Stage) => void;

interface Stage {
  readonly pool: MultiplexedPool;
  readonly url: string;
  sessions: number;
}

async function stage(t: Test, play: Play, options: SecureServerOptions = {}): Promise<Stage> {
  const server: Http2SecureServer = createSecureServer({ key, cert, ...options });
  const open = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    here.sessions += 1;
    open.add(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    play(stream, headers, here);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const here: Stage = { pool: new MultiplexedPool(url, null, () => 0), url, sessions: 0 };
  t.teardown(() => {
    here.pool.destroy();
    for (const session of open) session.destroy();
    server.close();
  });
  return here;
}

interface Got {
  readonly head: ReceivedHead | null;
  readonly body: string;
  readonly written: boolean | null;
  readonly error: Error | null;
}

interface Sent {
  readonly got: Promise<Got>;
  readonly sent: Promise<void>;
  readonly first: Promise<void>;
  readonly exchange: UpstreamExchange;
}

function open(pool: Pool, path = '/', body: Buffer | null = Buffer.from('{}')): Sent {
  const { promise, resolve } = Promise.withResolvers<Got>();
  const [begun, firstCame] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let head: ReceivedHead | null = null;
  let text = '';
  const request = { method: 'POST', path, headers: ['content-type', 'application/json', 'x-a', '1'], body };
  const exchange = pool.send(request, {
    onSent: begun.resolve,
    onHead: (one) => (head = one),
    onData: (bytes) => {
      text += bytes.toString();
      firstCame.resolve();
    },
    onEnd: (written) => resolve({ head, body: text, written, error: null }),
    onError: (error) => resolve({ head, body: text, written: null, error }),
  });
  return { got: promise, sent: begun.promise, first: firstCame.promise, exchange };
}

t.test('many requests go over one connection at once', async (t) => {
  const waiting: ServerHttp2Stream[] = [];
  const all = Promise.withResolvers<void>();
  const here = await stage(t, (stream, headers) => {
    let body = '';
    stream.setEncoding('utf8').on('data', (part: string) => (body += part));
    stream.on('end', () => {
      stream.respond({ ':status': 201, 'x-b': 'c', 'set-cookie': ['a=1', 'b=2'] });
      stream.write(`${headers['x-a']} ${headers[':authority'] === new URL(here.url).host} ${body}`);
      if (waiting.push(stream) === 20) all.resolve();
    });
  });
  open(here.pool, '/first').exchange.destroy();
  const sent = Array.from({ length: 20 }, () => open(here.pool));
  await all.promise;
  for (const stream of waiting) stream.end('!');
  for (const { got } of sent) {
    const { head, body, error, written } = await got;
    t.match(
      { status: head?.status, body, error, written },
      { status: 201, body: '1 true {}!', error: null, written: false },
    );
    t.match(head?.list.slice(0, 6), ['x-b', 'c', 'set-cookie', 'a=1', 'set-cookie', 'b=2']);
  }
  t.ok(here.sessions <= 2, `${here.sessions} connections`);
});

t.test(
  'an upstream that allows few streams has more connections; no request waits for another one',
  async (t) => {
    const running: ServerHttp2Stream[] = [];
    const play: Play = (stream) => {
      stream.resume();
      stream.respond({ ':status': 200 });
      stream.write('one ');
      running.push(stream);
    };
    const here = await stage(t, play, { settings: { maxConcurrentStreams: 2 } });
    for (const round of ['nothing is known of the upstream', 'all connections are open']) {
      const sent = Array.from({ length: 5 }, () => open(here.pool));
      await Promise.all(sent.map(({ first }) => first));
      for (const stream of running.splice(0)) stream.end('two');
      for (const { got } of sent) t.match(await got, { body: 'one two', error: null }, round);
      t.equal(here.sessions, 3, round);
    }
  },
);

t.test('a connection whose upstream has gone without a word gets no further request', async (t) => {
  const here = await stage(t, (stream) => {
    stream.resume();
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const ways: [Socket, Socket][] = [];
  const path = createServer((down) => {
    const up = connect(Number(new URL(here.url).port), '127.0.0.1');
    for (const socket of [down, up]) socket.on('error', () => undefined);
    down.pipe(up).pipe(down);
    ways.push([down, up]);
  });
  path.listen(0, '127.0.0.1');
  await once(path, 'listening');
  const pool = new MultiplexedPool(
    `https://localhost:${(path.address() as AddressInfo).port}`,
    null,
    () => 0,
  );
  t.teardown(() => {
    pool.destroy();
    for (const socket of ways.flat()) socket.destroy();
    path.close();
  });
  t.match(await open(pool).got, { body: 'ok' });
  open(pool).exchange.destroy();
  t.match(await open(pool).got, { body: 'ok' });
  t.equal(ways.length, 1, 'one that was heard of a moment ago is trusted');

  for (const [down, up] of ways) for (const socket of [down, up]) socket.unpipe().resume(); // as a NAT that forgot it
  const lost = open(pool);
  await lost.sent;
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  pool.sweep(0);
  lost.exchange.destroy(); // its clock has run out
  t.match(await open(pool).got, { body: 'ok', error: null });
  t.equal(ways.length, 2);
});

t.test('a stream that breaks off is never a whole response', async (t) => {
  const breaks: Record<string, (stream: ServerHttp2Stream) => void> = {
    'RST_STREAM with CANCEL': (stream) => stream.close(constants.NGHTTP2_CANCEL),
    'RST_STREAM with REFUSED_STREAM': (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
    'RST_STREAM with INTERNAL_ERROR': (stream) => stream.destroy(new Error('x')),
    'GOAWAY with an error': (stream) =>
      stream.session?.destroy(new Error('x'), constants.NGHTTP2_INTERNAL_ERROR),
    'the end of the session': (stream) => stream.session?.destroy(),
    'a reset of the connection': (stream) => stream.session?.socket.destroy(),
  };
  let act: (stream: ServerHttp2Stream) => void = () => undefined;
  const here = await stage(t, (stream) => {
    // Else Node's server ends the stream before it resets it.
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' }, { waitForTrailers: true });
    stream.write('data: half');
    stream.resume();
    streamCame.resolve(stream);
  });
  let streamCame = Promise.withResolvers<ServerHttp2Stream>();
  for (const [how, end] of Object.entries(breaks)) {
    act = end;
    streamCame = Promise.withResolvers<ServerHttp2Stream>();
    const { got, first } = open(here.pool);
    await first;
    act(await streamCame.promise);
    const { body, error } = await got;
    t.equal(body, 'data: half', how);
    t.ok(error instanceof Error, `${how} is an error`);
    t.match(failureOf(error, 'BASE', true), { code: 'upstream_broken' }, how);
  }
});

t.test('a request that the upstream refused unread is sent again, once', async (t) => {
  let refusals = 0;
  let asked = 0;
  const refuse: Record<string, (stream: ServerHttp2Stream) => void> = {
    REFUSED_STREAM: (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
    'GOAWAY with a lower stream': (stream) =>
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR, Number(stream.id) - 2),
  };
  let act: (stream: ServerHttp2Stream) => void = () => undefined;
  const here = await stage(t, (stream) => {
    asked += 1;
    refusals -= 1;
    if (refusals >= 0) return act(stream);
    stream.resume();
    stream.respond({ ':status': 200 });
    stream.end('served');
  });
  for (const [how, one] of Object.entries(refuse)) {
    act = one;
    t.match(await open(here.pool).got, { body: 'served', error: null }, 'a connection that served before');
    [asked, refusals] = [0, 1];
    t.match(await open(here.pool).got, { body: 'served', error: null }, how);
    t.equal(asked, 2, how);
  }
  act = (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);
  [asked, refusals] = [0, 9];
  t.ok((await open(here.pool).got).error instanceof Error, 'refused again and again');
  t.equal(asked, 2);
});

t.test('a graceful GOAWAY lets what runs end, and the next request takes a new connection', async (t) => {
  const later = Promise.withResolvers<ServerHttp2Stream>();
  const here = await stage(t, (stream, headers) => {
    stream.resume();
    stream.respond({ ':status': 200 });
    if (headers[':path'] === '/last') {
      stream.session?.close(); // its GOAWAY leaves before the bytes
      later.resolve(stream);
    }
    stream.write('one ');
    if (headers[':path'] !== '/last') stream.end('two');
  });
  const { got, first } = open(here.pool, '/last');
  await first;
  const left = await later.promise;
  await new Promise(setImmediate); // Node tells of a GOAWAY in the next tick
  t.match(await open(here.pool).got, { body: 'one two', error: null });
  t.equal(here.sessions, 2);
  left.end('two');
  t.match(await got, { body: 'one two', error: null });
});

t.test(
  'of a connection that an upstream has said goodbye to, and does not close, nothing is left',
  async (t) => {
    const here = await stage(t, (stream) => {
      stream.resume();
      stream.session?.goaway();
      stream.respond({ ':status': 200 });
      stream.end('ok');
    });
    for (const n of [1, 2]) {
      t.match(await open(here.pool).got, { body: 'ok', error: null });
      t.equal(here.sessions, n);
      for (let looks = 0; here.pool.size > 0 && looks < 500; looks += 1) {
        await beforeNextLook();
        here.pool.sweep(0);
      }
      t.equal(here.pool.size, 0);
    }
  },
);

t.test(
  'many large requests at once are served: a session of Node that holds 10 MB takes no more',
  async (t) => {
    const here = await stage(t, (stream) => {
      stream.resume().on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end('ok');
      });
    });
    const body = Buffer.alloc(440_000, 'x');
    const all = await Promise.all(Array.from({ length: 40 }, () => open(here.pool, '/', body).got));
    t.same([...new Set(all.map(({ error }) => error?.message ?? null))], [null]);
    t.ok(here.sessions < 5, `${here.sessions} connections`);
  },
);

for (const how of ['leave', 'are refused early'] as const) {
  t.test(`large requests whose clients ${how} spoil no connection for others`, async (t) => {
    const here = await stage(t, (stream, headers) => {
      if (headers[':path'] === '/') stream.resume();
      else if (how === 'leave') return; // nothing of it is read
      stream.respond({ ':status': headers[':path'] === '/' ? 200 : 413 });
      stream.end('ok');
    });
    const body = Buffer.alloc(3_000_000, 'x');
    for (let n = 0; n < 5; n += 1) {
      const { got, sent, exchange } = open(here.pool, '/large', body);
      if (how === 'leave') {
        await sent;
        await beforeNextLook(); // it is on its way
        exchange.destroy();
      } else t.match(await got, { head: { status: 413 }, error: null });
      t.match(await open(here.pool).got, { head: { status: 200 }, body: 'ok', error: null });
    }
    t.ok(here.sessions < 5, `${here.sessions} connections`);
  });
}

t.test('an upstream without HTTP/2 is spoken to in HTTP/1.1, after one more connection', async (t) => {
  let connections = 0;
  const server = createTlsServer({ key, cert, ALPNProtocols: ['http/1.1'] }, (socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pool = new MultiplexedPool(
    `https://localhost:${(server.address() as AddressInfo).port}`,
    null,
    () => 0,
  );
  t.teardown(() => {
    pool.destroy();
    server.close();
  });
  for (const sent of [open(pool), open(pool)]) t.match(await sent.got, { body: 'ok', error: null });
  t.match(await open(pool).got, { body: 'ok', error: null });
  t.ok(connections <= 3, 'the one that offered HTTP/2 may be gone before the server has seen it');
  t.equal(pool.size, 2);
});

t.test(
  'who leaves ends one stream alone, also before it was sent; a pause holds one stream alone',
  async (t) => {
    const big = Buffer.alloc(4_000_000, 'x');
    const here = await stage(t, (stream, headers) => {
      stream.resume();
      if (headers[':path'] === '/never') return;
      stream.respond({ ':status': 200 });
      stream.end(headers[':path'] === '/big' ? big : 'ok');
    });
    const early = open(here.pool, '/never');
    early.exchange.destroy();
    const held = open(here.pool, '/big');
    await held.first;
    held.exchange.pause();
    const never = open(here.pool, '/never');
    t.match(await open(here.pool).got, { body: 'ok' });
    never.exchange.destroy();
    t.match(await open(here.pool).got, { body: 'ok' });
    held.exchange.resume();
    t.equal((await held.got).body.length, big.length);
    t.equal(here.sessions, 1);
    here.pool.close();
    while (here.pool.size > 0) await new Promise(setImmediate);
  },
);

t.test('who leaves at the moment in which the request is sent harms nobody', async (t) => {
  const here = await stage(t, (stream) => {
    stream.resume();
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  t.match(await open(here.pool).got, { body: 'ok' });
  for (const leave of [
    ({ exchange }: Sent) => exchange.destroy(),
    ({ exchange }: Sent) => process.nextTick(() => exchange.destroy()),
    ({ exchange, sent }: Sent) => void sent.then(() => exchange.destroy()),
  ]) {
    for (let n = 0; n < 3; n += 1) leave(open(here.pool));
    t.match(await open(here.pool).got, { body: 'ok', error: null });
  }
  t.equal(here.sessions, 1);
});

t.test('a request that ends while its body is on its way is reset, and harms nobody', async (t) => {
  const large = Buffer.alloc(1_000_000, 'x');
  let streamCame = Promise.withResolvers<ServerHttp2Stream>();
  const here = await stage(t, (stream, headers) => {
    if (headers[':path'] === '/') {
      stream.respond({ ':status': 200 });
      stream.resume().end('ok');
    } else {
      stream.on('readable', () => undefined); // its body is not read
      streamCame.resolve(stream);
    }
  });
  for (const how of ['its client leaves', 'its answer is malformed', 'its answer comes before']) {
    streamCame = Promise.withResolvers();
    const { got, exchange } = open(here.pool, '/large', large);
    const stream = await streamCame.promise;
    const closed = once(stream, 'close');
    if (how === 'its client leaves') exchange.destroy();
    else if (how === 'its answer comes before') {
      stream.respond({ ':status': 413 });
      stream.end('too large');
      t.match(await got, { head: { status: 413 }, body: 'too large', error: null });
    } else {
      for (let n = 0; n < 200; n += 1) stream.additionalHeaders({ ':status': 103 });
      t.match((await got).error, { name: 'BadResponse' });
    }
    await closed;
    t.equal(stream.rstCode, constants.NGHTTP2_CANCEL, how);
    t.match(await open(here.pool).got, { body: 'ok', error: null }, how);
  }
  t.equal(here.sessions, 1);
});

t.test('an upstream that is not there; one pool for each protocol', async (t) => {
  const pools = new Pools(() => 0);
  t.teardown(() => pools.destroy());
  const origin = 'https://127.0.0.1:1';
  const pool = pools.acquire({ origin, allowH2: true });
  t.match(failureOf((await open(pool).got).error, 'BASE'), {
    code: 'upstream_unreachable',
    message: /connection refused/,
  });
  t.not(pools.acquire({ origin, allowH2: false }), pool);
  t.equal(pools.acquire({ origin, allowH2: true }), pool);
  t.equal(pools.size, 2);
  t.equal(
    pools.acquire({ origin: 'http://a', allowH2: true }),
    pools.acquire({ origin: 'http://a', allowH2: false }),
  );
});
