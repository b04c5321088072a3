// Pools against real upstreams: sharing, keeping, closing, and HTTP proxies on the way.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import { startDemoGateway } from '../../../proxy/demo/gateway.ts';
import type { Pool } from '../../../proxy/upstream/pool.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
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

const pools = (t: Test, proxies = {}): Pools => {
  const made = new Pools(systemClock.mono, proxies);
  t.teardown(() => made.destroy());
  return made;
};

t.test('there is one pool per origin, however many entries share it', async (t) => {
  const all = pools(t);
  const one = all.acquire('http://127.0.0.1:1');
  t.equal(all.acquire('http://127.0.0.1:1'), one);
  t.equal(all.size, 1);
  t.not(all.acquire('http://127.0.0.1:2'), one);
  t.equal(all.size, 2);
});

t.test('a pool stays while it has a user; the last one out lets its running request end', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const all = pools(t);
  const pool = all.acquire(demo.url);
  all.acquire(demo.url);
  all.release(demo.url);
  t.equal(all.size, 1);
  t.equal((await call(pool)).status, 200);
  const running = call(pool, 'demo-hold');
  await demo.waitFor(2);
  all.release(demo.url);
  t.equal(all.size, 0);
  demo.release();
  const { status, body } = await running;
  t.equal(status, 200);
  t.match(JSON.parse(body), { object: 'chat.completion' });
  t.equal(pool.size, 0, 'its connection closed behind it');
  t.not(all.acquire(demo.url), pool, 'the next user gets a new one');
  all.release('http://nobody');
  t.equal(all.size, 1, 'a share that was never taken is not given back');
});

t.test('connections are kept between requests, and none is shared by two at a time', async (t) => {
  const sockets = new Set<unknown>();
  const url = await startUpstream(t, ({ req, res }) => {
    sockets.add(req.socket);
    res.end('{}');
  });
  const pool = pools(t).acquire(url);
  for (let n = 0; n < 10; n++) await call(pool);
  t.equal(sockets.size, 1);
  await Promise.all(Array.from({ length: 8 }, () => call(pool)));
  t.equal(sockets.size, 8);
});

t.test('destroy cuts what runs', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const all = pools(t);
  const cut = t.rejects(call(all.acquire(demo.url), 'demo-hold'), { code: 'ECONNRESET' });
  await demo.waitFor(1);
  all.destroy();
  await cut;
  t.equal(all.size, 0);
  t.equal(await demo.seen[0]?.finished, 'aborted');
});

t.test(
  'a plain upstream is asked through the HTTP proxy by its whole address, with its credential',
  async (t) => {
    const demo = await startDemoGateway();
    const asked: { url: string | undefined; authorization: string | undefined }[] = [];
    const forward = createHttpServer((req, res) => {
      asked.push({ url: req.url, authorization: req.headers['proxy-authorization'] });
      req.resume().on('end', () => res.end('{"via":"proxy"}'));
    }).listen(0, '127.0.0.1');
    await once(forward, 'listening');
    t.teardown(async () => {
      forward.closeAllConnections();
      forward.close();
      await demo.close();
    });
    const { port } = forward.address() as AddressInfo;
    const httpProxy = `http://user:p%40ss@127.0.0.1:${port}`;
    t.same(await call(pools(t, { httpProxy }).acquire(demo.url)), { status: 200, body: '{"via":"proxy"}' });
    const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    t.same(asked, [{ url: `${demo.url}/v1/chat/completions`, authorization }]);
    const excepted = pools(t, { httpProxy, noProxy: 'other.example, 127.0.0.1' });
    t.match(await call(excepted.acquire(demo.url)), { status: 200, body: /chat\.completion/ });
    t.equal(asked.length, 1, 'NO_PROXY goes straight');
  },
);

t.test('a TLS upstream is reached by CONNECT; a proxy that refuses ends the request', async (t) => {
  const lines: string[] = [];
  const proxy = createServer((socket) => {
    socket.once('data', (bytes) => {
      lines.push(bytes.toString().split('\r\n')[0] ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const all = pools(t, { httpsProxy: `http://127.0.0.1:${port}` });
  await t.rejects(call(all.acquire('https://upstream.example')), { message: /answered 403 to CONNECT/ });
  t.same(lines, ['CONNECT upstream.example:443 HTTP/1.1']);
  t.throws(() => pools(t, { httpsProxy: 'socks5://user:secret@x' }).acquire('https://upstream.example'), {
    message: /^HTTPS_PROXY must be the URL of an HTTP proxy/,
  });
});

t.test('a header value that would break the request is never sent', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const pool = pools(t).acquire(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (const value of ['a\r\nx-evil: 1', 'a\nb', '\u010d\u010a', '\0']) {
    await t.rejects(async () => call(pool, 'demo', ['x-a', value]), { message: /x-a cannot be sent/ });
  }
  t.ok(connections <= 4, 'at most the connections were opened');
});
