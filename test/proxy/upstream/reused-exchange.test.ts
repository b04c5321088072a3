// Connections that an upstream closes between two requests, against real sockets: what is sent again on a fresh one, and
// what never is. Each upstream counts the requests that it has read in full: a POST that stands there is not repeated.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import type { HttpRequest, UpstreamExchange } from '../../../proxy/upstream/exchange.ts';
import { ConnectionPool } from '../../../proxy/upstream/pool.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const post = (body: string | Buffer): HttpRequest => ({
  method: 'POST',
  path: '/',
  headers: ['content-type', 'application/json'],
  body: Buffer.from(body),
});
const SMALL = post('{"model":"m"}');
/** More than the buffers of two sockets take. */
const LARGE = post(Buffer.alloc(30_000_000, 'x'));
const GET: HttpRequest = { method: 'GET', path: '/', headers: [], body: null };

interface Stage {
  readonly pool: ConnectionPool;
  readonly sockets: Socket[];
  readonly clock: { now: number };
  /** Requests that were read in full. */
  read: number;
  /** Called with each request that was read in full. */
  play: (socket: Socket) => void;
  /** Called with each piece that is read. */
  onPiece: (socket: Socket) => void;
}

async function stage(t: Test): Promise<Stage> {
  const server = createServer({ noDelay: true }, (socket) => {
    here.sockets.push(socket);
    socket.on('error', () => undefined);
    let [head, missing] = ['', -1];
    socket.on('data', (bytes) => {
      here.onPiece(socket);
      if (missing < 0) {
        head += bytes.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        missing = length - (head.length - end - 4);
      } else missing -= bytes.length;
      if (missing > 0) return;
      [head, missing] = ['', -1];
      here.read += 1;
      here.play(socket);
    });
    t.teardown(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const clock = { now: 0 };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new ConnectionPool(url, null, () => clock.now);
  t.teardown(() => pool.destroy());
  const here: Stage = {
    pool,
    sockets: [],
    clock,
    read: 0,
    play: (socket) => socket.write(OK),
    onPiece: () => undefined,
  };
  return here;
}

interface Got {
  readonly status: number | null;
  readonly error: Error | null;
  /** Calls of `onSent` and `onResend`, in their order. */
  readonly steps: string;
}

function open(pool: ConnectionPool, request: HttpRequest): { got: Promise<Got>; exchange: UpstreamExchange } {
  const { promise, resolve } = Promise.withResolvers<Got>();
  const steps: string[] = [];
  let status: number | null = null;
  const end = (error: Error | null): void => resolve({ status, error, steps: steps.join(' ') });
  const exchange = pool.send(request, {
    onSent: () => steps.push('sent'),
    onResend: () => steps.push('again'),
    onHead: (head) => (status = head.status),
    onData: () => undefined,
    onEnd: () => end(null),
    onError: end,
  });
  return { got: promise, exchange };
}
const call = (pool: ConnectionPool, request = SMALL): Promise<Got> => open(pool, request).got;
const reset = (socket: Socket | undefined): unknown => socket?.resetAndDestroy();
const close = (socket: Socket | undefined): unknown => socket?.destroy();

for (const [name, idleMs, end] of [
  ['a reset that has come when the request is written', 0, reset],
  ['a reset that has come while the connection was idle', 500, reset],
  ['a close that has come while the connection was idle', 500, close],
] as const) {
  t.test(`${name}: the request goes out on a fresh connection`, async (t) => {
    const here = await stage(t);
    t.match(await call(here.pool), { status: 200 });
    here.clock.now += idleMs;
    end(here.sockets[0]);
    t.match(await call(here.pool), { status: 200, error: null });
    t.same([here.read, here.sockets.length], [2, 2], 'it was read once');
  });
}

t.test('a POST of which the upstream read a part is sent again, once', async (t) => {
  const here = await stage(t);
  await call(here.pool);
  here.onPiece = (socket) => void (socket === here.sockets[0] && reset(socket));
  const got = await call(here.pool, LARGE);
  t.match(got, { status: 200, error: null, steps: 'sent again sent' });
  t.same([here.read, here.sockets.length], [2, 2]);

  here.onPiece = reset;
  t.match(await call(here.pool, LARGE), { status: null, error: Error, steps: 'sent again sent' });
  t.same([here.read, here.sockets.length], [2, 3], 'a fresh connection that breaks is not replaced');
});

for (const [name, end] of [
  ['reset', reset],
  ['closed', close],
] as const) {
  t.test(`a POST that was read in full is never sent again when its connection is ${name}`, async (t) => {
    const here = await stage(t);
    await call(here.pool);
    here.play = end;
    t.match(await call(here.pool), { status: null, error: Error, steps: 'sent' });
    t.same([here.read, here.sockets.length], [2, 1]);
  });

  t.test(`a GET may be repeated: its connection is ${name}`, async (t) => {
    const here = await stage(t);
    await call(here.pool);
    here.play = (socket) => void (socket === here.sockets[0] ? end(socket) : socket.write(OK));
    t.match(await call(here.pool, GET), { status: 200, error: null, steps: 'sent again sent' });
    t.same([here.read, here.sockets.length], [3, 2]);
  });
}

t.test('a GET of which an answer has begun is not repeated, nor one on a fresh connection', async (t) => {
  const here = await stage(t);
  here.play = close;
  t.match(await call(here.pool, GET), { error: Error, steps: 'sent' });
  here.play = (socket) => socket.write(OK);
  await call(here.pool);
  for (const begin of ['HTTP/1.1 2', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab']) {
    await call(here.pool);
    here.play = (socket) => void socket.write(begin, () => socket.destroy());
    const before = here.read;
    t.match(await call(here.pool, GET), { error: Error, steps: 'sent' }, begin);
    t.equal(here.read, before + 1);
    here.play = (socket) => socket.write(OK);
  }
});

t.test('who leaves while the idle connection is read sends nothing', async (t) => {
  const here = await stage(t);
  await call(here.pool);
  const closed = once(here.sockets[0] as Socket, 'close');
  here.clock.now += 500;
  const { exchange } = open(here.pool, SMALL);
  exchange.pause();
  exchange.resume();
  exchange.destroy();
  await closed;
  t.same([here.read, here.pool.size], [1, 0]);
  t.match(await call(here.pool), { status: 200 }, 'the next one is served');
});
