// Proxies on the way: which origin goes through which one, and that it really does, against a proxy that forwards and
// tunnels. Their credential appears nowhere but on the wire.
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { inspect } from 'node:util';
import t from 'tap';
import type { Test } from 'tap';
import { failureOf } from '../../../proxy/upstream/failures.ts';
import { proxyFor, readProxySettings } from '../../../proxy/upstream/http-proxies.ts';
import { ConnectionPool } from '../../../proxy/upstream/pool.ts';
import { startUpstream } from '../../support/call.ts';
import { KEEPS_IDLE } from '../../support/keeps-idle.ts';

type Environment = Readonly<Record<string, string>>;

const PROXY = 'http://proxy.example:3128';
const route = (origin: string, env: Environment): string | null =>
  proxyFor(origin, readProxySettings(env))?.origin ?? null;

t.test('the variables, in the order in which curl reads them', (t) => {
  const table: readonly [origin: string, env: Environment, proxy: string | null][] = [
    ['http://a', {}, null],
    ['http://a', { http_proxy: PROXY }, PROXY],
    ['https://a', { http_proxy: PROXY }, null],
    ['https://a', { https_proxy: PROXY }, PROXY],
    ['http://a', { http_proxy: PROXY, HTTP_PROXY: 'http://other' }, PROXY],
    ['https://a', { HTTPS_PROXY: PROXY }, PROXY],
    ['http://a', { http_proxy: '', HTTP_PROXY: PROXY }, PROXY],
    ['http://a', { all_proxy: PROXY }, PROXY],
    ['https://a', { ALL_PROXY: PROXY }, PROXY],
    ['https://a', { HTTPS_PROXY: PROXY, all_proxy: 'http://other' }, PROXY],
    ['https://a', { HTTPS_PROXY: 'proxy.example:3128' }, PROXY],
    ['https://a', { HTTPS_PROXY: 'https://proxy.example' }, 'https://proxy.example'],
    ['https://a', { HTTPS_PROXY: PROXY, no_proxy: '', NO_PROXY: 'a' }, null],
    ['https://a', { HTTPS_PROXY: PROXY, no_proxy: 'b', NO_PROXY: 'a' }, PROXY],
  ];
  for (const [origin, env, proxy] of table) t.equal(route(origin, env), proxy, JSON.stringify([origin, env]));
  t.end();
});

t.test('NO_PROXY: names with what is below them, addresses, blocks, ports', (t) => {
  const table: readonly [noProxy: string, straight: readonly string[], proxied: readonly string[]][] = [
    ['*', ['a.example', '10.0.0.1', '[::1]'], []],
    ['none.invalid *', ['a.example'], []],
    ['a.example', ['a.example', 'A.EXAMPLE', 'x.a.example', 'a.example.'], ['ba.example', 'example']],
    ['.a.example', ['a.example', 'x.a.example'], ['ba.example']],
    ['*.a.example', ['x.a.example'], ['a.example']],
    ['A.Example.', ['a.example'], []],
    ['a.example:8443', ['a.example:8443'], ['a.example', 'a.example:8444']],
    ['a.example:443', ['a.example'], ['a.example:8443']],
    ['*:8443', ['a.example:8443'], ['a.example']],
    ['10.0.0.1', ['10.0.0.1', '10.0.0.1:99'], ['10.0.0.10', '110.0.0.1', '10.0.0.1.example']],
    ['10.0.0.1:99', ['10.0.0.1:99'], ['10.0.0.1']],
    ['10.0.0.0/8', ['10.1.2.3', '10.255.255.255:8443'], ['11.0.0.1', 'a10.example', '[::a00:1]']],
    ['192.168.7.0/25', ['192.168.7.127'], ['192.168.7.128']],
    ['fd00::/8', ['[fd12::1]'], ['[fe80::1]', '10.0.0.1']],
    ['[fd00::]/8', ['[fd12::1]'], []],
    ['::1', ['[::1]', '[0:0:0:0:0:0:0:1]'], ['[::2]']],
    ['[::1]:8443', ['[::1]:8443'], ['[::1]']],
    ['x, ,\t10.0.0.0/8 , b.example', ['10.0.0.1', 'b.example'], ['c.example']],
    ['10.0.0.0/33, 10.0.0.0/x, /8, :443, [::1', [], ['10.0.0.1', '[::1]', 'a.example']],
    ['example', ['example', 'a.example'], ['notexample']],
  ];
  for (const [noProxy, straight, proxied] of table) {
    const env = { https_proxy: PROXY, no_proxy: noProxy };
    for (const host of straight) t.equal(route(`https://${host}`, env), null, `${noProxy}: ${host} straight`);
    for (const host of proxied) t.equal(route(`https://${host}`, env), PROXY, `${noProxy}: ${host} proxied`);
  }
  t.end();
});

t.test('what is no HTTP proxy is refused, and its value is not repeated', (t) => {
  for (const [variable, value] of [
    ['HTTPS_PROXY', 'socks5://user:hunter2@proxy'],
    ['https_proxy', 'http://user:hunter2@'],
    ['ALL_PROXY', 'hunter2://x'],
  ] as const) {
    const settings = readProxySettings({ [variable]: value });
    t.throws(() => proxyFor('https://a', settings), {
      name: 'CannotStart',
      message: `${variable} must be the URL of an HTTP proxy, such as http://proxy:3128; to go without one, leave it out or name the hosts in NO_PROXY`,
    });
    t.notMatch(`${inspect(settings, { depth: 9 })} ${JSON.stringify(settings)}`, 'hunter2');
  }
  const settings = readProxySettings({ http_proxy: 'http://user:p%40ss@proxy' });
  const proxy = proxyFor('http://a', settings);
  t.equal(proxy?.authorization?.reveal(), `Basic ${Buffer.from('user:p@ss').toString('base64')}`);
  t.notMatch(inspect([settings, proxy], { depth: 9 }), /p@ss|p%40ss|dXNlcj/);
  const written = proxyFor('http://a', readProxySettings({ http_proxy: 'http://user:50%off%40@proxy' }));
  t.equal(
    written?.authorization?.reveal(),
    `Basic ${Buffer.from('user:50%off@').toString('base64')}`,
    'a lone % stands for itself',
  );
  t.end();
});

interface RealProxy {
  readonly url: string;
  /** The first line of each request, and its credential. */
  readonly asked: readonly (readonly [line: string, credential: string | undefined])[];
}

/** Forwards and tunnels whatever it is asked for, to `port` of this machine. */
async function startProxy(t: Test, port: number): Promise<RealProxy> {
  const asked: [string, string | undefined][] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer(KEEPS_IDLE, (req, res) => {
    asked.push([`${req.method} ${req.url}`, req.headers['proxy-authorization']]);
    const onward = request({
      host: '127.0.0.1',
      port,
      method: req.method,
      path: '/onward',
      headers: { via: 'x' },
    });
    onward.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(res);
    });
    req.pipe(onward);
  });
  server.on('connect', (req, socket: Socket) => {
    asked.push([`CONNECT ${req.url}`, req.headers['proxy-authorization']]);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on('error', () => undefined);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const one of sockets) one.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://user:p%40ss@127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

interface Got {
  readonly body: string;
  readonly error: Error | null;
}

function post(pool: ConnectionPool): Promise<Got> {
  const { promise, resolve } = Promise.withResolvers<Got>();
  let body = '';
  pool.send(
    { method: 'POST', path: '/v1/models?x=y', headers: ['x-a', '1', 'x-a', '2'], body: Buffer.from('{}') },
    {
      onSent: () => undefined,
      onHead: () => undefined,
      onData: (bytes) => (body += bytes.toString()),
      onEnd: () => resolve({ body, error: null }),
      onError: (error) => resolve({ body, error }),
    },
  );
  return promise;
}

const credential = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;

t.test(
  'a plain upstream is asked through the proxy by its whole address, on a connection that stays',
  async (t) => {
    const upstream = await startUpstream(t, ({ res }) => void res.end('{"from":"upstream"}'));
    const proxy = await startProxy(t, Number(new URL(upstream).port));
    const origin = 'http://upstream.example:8080';
    const settings = readProxySettings({ http_proxy: proxy.url });
    const pool = new ConnectionPool(origin, proxyFor(origin, settings), () => 0);
    t.teardown(() => pool.destroy());
    t.same(await post(pool), { body: '{"from":"upstream"}', error: null });
    t.same(await post(pool), { body: '{"from":"upstream"}', error: null });
    t.equal(pool.size, 1);
    t.same(
      proxy.asked,
      Array.from({ length: 2 }, () => [`POST ${origin}/v1/models?x=y`, credential]),
    );
  },
);

t.test(
  'a proxy that refuses, or is not there: the upstream was never reached, and nobody reads the credential',
  async (t) => {
    const refusing = createServer().on('connect', (_, socket: Socket) => {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
    });
    refusing.listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const { port } = refusing.address() as AddressInfo;
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port: nobodys } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    t.teardown(() => {
      refusing.closeAllConnections();
      refusing.close();
    });
    const plain = 'http://upstream.example';
    const unheard = readProxySettings({ http_proxy: `http://127.0.0.1:${nobodys}` });
    const { error } = await post(new ConnectionPool(plain, proxyFor(plain, unheard), () => 0));
    t.match(failureOf(error, 'BASE'), {
      code: 'upstream_unreachable',
      message: 'The upstream BASE cannot be reached: the HTTP proxy failed (connection refused).',
    });
    const origin = 'https://upstream.example';
    const texts: Record<number, string> = {
      [port]:
        'the HTTP proxy answered 407 to CONNECT; it wants credentials: write http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY or HTTP_PROXY',
      [nobodys]: 'the HTTP proxy failed (connection refused)',
    };
    for (const [at, text] of Object.entries(texts)) {
      const settings = readProxySettings({ https_proxy: `http://user:hunter2@127.0.0.1:${at}` });
      const pool = new ConnectionPool(origin, proxyFor(origin, settings), () => 0);
      const { error } = await post(pool);
      const fault = failureOf(error, 'BASE');
      t.match(fault, {
        code: 'upstream_unreachable',
        message: `The upstream BASE cannot be reached: ${text}.`,
      });
      t.notMatch(inspect([error, fault], { depth: 9 }), /hunter2|aHVudGVy|Basic /);
      t.equal(pool.size, 0);
    }
  },
);
