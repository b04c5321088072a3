import { once } from 'node:events';
import t from 'tap';
import { request, type Dispatcher } from 'undici';
import { startDemoGateway } from '../../../proxy/demo/gateway.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import { startUpstream } from '../../support/call.ts';

const call = (dispatcher: Dispatcher, url: string, model = 'demo'): Promise<Dispatcher.ResponseData> =>
  request(`${url}/v1/chat/completions`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [] }),
  });

t.test('there is one pool per origin and connect timeout, however many entries share it', async (t) => {
  const pools = new Pools();
  t.teardown(() => pools.destroy());
  const one = pools.acquire('http://127.0.0.1:1', 1_000);
  t.equal(pools.acquire('http://127.0.0.1:1', 1_000), one);
  t.equal(pools.size, 1);
  t.not(pools.acquire('http://127.0.0.1:2', 1_000), one);
  t.not(pools.acquire('http://127.0.0.1:1', 2_000), one);
  t.equal(pools.size, 3);
});

t.test(
  'a pool stays while it has a user; the last one out lets its running request end, then it closes',
  async (t) => {
    const demo = await startDemoGateway();
    const pools = new Pools();
    t.teardown(async () => {
      await pools.destroy();
      await demo.close();
    });
    const pool = pools.acquire(demo.url, 1_000);
    pools.acquire(demo.url, 1_000);
    pools.release(demo.url, 1_000);
    t.equal(pools.size, 1);
    t.equal((await call(pool, demo.url)).statusCode, 200);
    const running = call(pool, demo.url, 'demo-hold');
    await demo.waitFor(2);
    pools.release(demo.url, 1_000);
    t.equal(pools.size, 0);
    await t.rejects(call(pool, demo.url), { name: 'ClientClosedError' }, 'nothing new is begun');
    demo.release();
    const { statusCode, body } = await running;
    t.equal(statusCode, 200);
    t.match(await body.json(), { object: 'chat.completion' });
    t.not(pools.acquire(demo.url, 1_000), pool, 'the next user gets a new one');
    pools.release('http://nobody', 1);
    t.equal(pools.size, 1, 'a share that was never taken is not given back');
  },
);

t.test('connections are kept between requests, and none is shared by two at a time', async (t) => {
  const sockets = new Set<unknown>();
  const url = await startUpstream(t, ({ req, res }) => {
    sockets.add(req.socket);
    res.end('{}');
  });
  const pools = new Pools();
  t.teardown(() => pools.destroy());
  const pool = pools.acquire(url, 1_000);
  for (let n = 0; n < 10; n++) await (await call(pool, url)).body.dump();
  t.ok(sockets.size <= 2, 'a body may be read to its end before its socket is free again');
  const answers = await Promise.all(Array.from({ length: 8 }, () => call(pool, url)));
  await Promise.all(answers.map(({ body }) => body.dump()));
  t.ok(sockets.size > 2, `${sockets.size} connections`);
});

t.test('destroy cuts what runs', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const pools = new Pools();
  const running = call(pools.acquire(demo.url, 1_000), demo.url, 'demo-hold');
  await demo.waitFor(1);
  const cut = t.rejects(running);
  await pools.destroy();
  await cut;
  t.equal(pools.size, 0);
  t.equal(await demo.seen[0]?.finished, 'aborted');
});

t.test('an HTTP proxy of the environment is used, but not for the hosts that are excepted', async (t) => {
  const demo = await startDemoGateway();
  const { createServer } = await import('node:http');
  const { connect } = await import('node:net');
  const asked: string[] = [];
  const forward = createServer().on('connect', (req, client, head) => {
    asked.push(`CONNECT ${req.url}`);
    const socket = connect(demo.port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.end(head);
      client.pipe(socket);
      socket.pipe(client);
    });
    for (const end of [client, socket]) end.on('error', () => undefined);
  });
  forward.listen(0, '127.0.0.1');
  await once(forward, 'listening');
  const { port } = forward.address() as { port: number };
  const pools = new Pools({ httpProxy: `http://127.0.0.1:${port}`, noProxy: '127.0.0.1' });
  t.teardown(async () => {
    await pools.destroy();
    forward.closeAllConnections();
    forward.close();
    await demo.close();
  });
  t.equal((await call(pools.acquire(demo.url, 1_000), demo.url)).statusCode, 200);
  t.same(asked, []);
});
