// Pools against real upstreams: sharing, keeping, closing.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import type { Pool } from '../../../proxy/upstream/pool.ts';
import { Pools, type PoolKey } from '../../../proxy/upstream/pools.ts';
import { startUpstream } from '../../support/call.ts';

interface Got {
  readonly status: number;
  readonly body: string;
}

/** One request, to its end. */
function call(pool: Pool, model = 'demo', headers: readonly string[] = []): Promise<Got> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let body = '';
    pool.send(
      {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: ['content-type', 'application/json', ...headers],
        body: Buffer.from(JSON.stringify({ model, messages: [] })),
      },
      {
        onSent: () => undefined,
        onHead: (head) => (status = head.status),
        onData: (bytes) => (body += bytes.toString()),
        onEnd: () => resolve({ status, body }),
        onError: reject,
      },
    );
  });
}

const http1 = (origin: string): PoolKey => ({ origin, allowH2: false });

const pools = (t: Test): Pools => {
  const made = new Pools(systemClock.mono);
  t.teardown(() => made.destroy());
  return made;
};

t.test('there is one pool per origin, however many entries share it', async (t) => {
  const all = pools(t);
  const one = all.acquire(http1('http://127.0.0.1:1'));
  t.equal(all.acquire(http1('http://127.0.0.1:1')), one);
  t.equal(all.size, 1);
  t.not(all.acquire(http1('http://127.0.0.1:2')), one);
  t.equal(all.size, 2);
});

t.test('a pool stays while it has a user; the last one out lets its running request end', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const all = pools(t);
  const pool = all.acquire(http1(demo.url));
  all.acquire(http1(demo.url));
  all.release(http1(demo.url));
  t.equal(all.size, 1);
  t.equal((await call(pool)).status, 200);
  const running = call(pool, 'demo-hold');
  await demo.waitFor(2);
  all.release(http1(demo.url));
  t.equal(all.size, 0);
  demo.release();
  const { status, body } = await running;
  t.equal(status, 200);
  t.match(JSON.parse(body), { object: 'chat.completion' });
  t.equal(pool.size, 0, 'its connection closed behind it');
  t.not(all.acquire(http1(demo.url)), pool, 'the next user gets a new one');
  all.release(http1('http://nobody'));
  t.equal(all.size, 1, 'a share that was never taken is not given back');
});

t.test('connections are kept between requests, and none is shared by two at a time', async (t) => {
  const sockets = new Set<unknown>();
  const url = await startUpstream(t, ({ req, res }) => {
    sockets.add(req.socket);
    res.end('{}');
  });
  const pool = pools(t).acquire(http1(url));
  for (let n = 0; n < 10; n++) await call(pool);
  t.equal(sockets.size, 1);
  await Promise.all(Array.from({ length: 8 }, () => call(pool)));
  t.equal(sockets.size, 8);
});

t.test('destroy cuts what runs', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const all = pools(t);
  const cut = t.rejects(call(all.acquire(http1(demo.url)), 'demo-hold'), { code: 'UND_ERR_DESTROYED' });
  await demo.waitFor(1);
  all.destroy();
  await cut;
  t.equal(all.size, 0);
  t.equal(await demo.seen[0]?.finished, 'aborted');
});

t.test('a header value that would break the request is never sent', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const pool = pools(t).acquire(http1(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  for (const value of ['a\r\nx-evil: 1', 'a\nb', '\u010d\u010a', '\0']) {
    await t.rejects(async () => call(pool, 'demo', ['x-a', value]), { message: /invalid x-a header/ });
  }
  t.ok(connections <= 4, 'at most the connections were opened');
});
