// What a web page asks of an agent server through its own origin: the key in the envelope says which sandbox is meant, and
// nothing else is reached.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { at, startPlatform } from '../fixture/rig.ts';
import { startRuntime } from '../fixture/agent-server.ts';
import { beforeNextLook } from '../../support/patience.ts';

const json = (value: unknown, status = 200): object => ({
  status,
  text: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
});

t.test('a call goes to the sandbox whose key is in the envelope, and to no other place', async (t) => {
  const rig = await startRuntime(t);
  const [conversation] = (await rig.api('GET', `/api/v1/app-conversations?ids=${rig.id}`)).json as [
    { conversation_url: string },
  ];
  const host = new URL(conversation.conversation_url).origin;
  const headers = { 'X-Session-API-Key': rig.sandboxKey };
  // A page has no key of its own to send with the envelope.
  const relay = (envelope: object, key: string | null = null) =>
    rig.api('POST', '/api/cloud-proxy', envelope, key);

  await rig.tell('GET /api/conversations/a/events/count', json(7));
  const count = await relay({ host, method: 'GET', path: '/api/conversations/a/events/count?x=1', headers });
  t.same([count.status, count.json], [200, 7]);
  const seen = (await rig.seen()).at(-1);
  t.equal(seen?.url, '/api/conversations/a/events/count?x=1');
  t.equal(seen?.headers['x-session-api-key'], rig.sandboxKey);

  await rig.tell('POST /api/x', json({ detail: 'no such thing' }, 404));
  const refused = await relay({ host: `${host}/`, method: 'POST', path: '/api/x', headers, body: { a: 1 } });
  t.same([refused.status, refused.json], [404, { detail: 'no such thing' }]);
  t.same((await rig.seen()).at(-1)?.body, { a: 1 });

  await rig.tell('GET /api/page', { text: '<script>1</script>', headers: { 'content-type': 'text/html' } });
  const page = await relay({ host, method: 'GET', path: '/api/page', headers });
  t.equal(page.headers['content-type'], 'application/octet-stream', 'nothing of a sandbox is rendered here');
  t.equal(page.headers['x-content-type-options'], 'nosniff');

  // Below the API only what would leave it is refused.
  await rig.tell('GET /api/a..b/', json(1));
  const dotted = await relay({ host, method: 'GET', path: '/api/a..b/?path=../x', headers });
  t.same([dotted.status, dotted.json], [200, 1]);

  const before = (await rig.seen()).length;
  const other = createServer((_req, res) => {
    t.fail('another place was called');
    res.end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  t.teardown(() => other.close());
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const { port } = new URL(host);
  for (const [envelope, status] of [
    [{ host: elsewhere, method: 'GET', path: '/api/x', headers }, 403],
    [{ host: `http://localhost:${port}`, method: 'GET', path: '/api/x', headers }, 403],
    [{ host: 'no url', method: 'GET', path: '/api/x', headers }, 403],
    [{ host, method: 'GET', path: '/api/x', headers: { 'x-session-api-key': 'another' } }, 401],
    [{ host, method: 'GET', path: '/api/x' }, 401],
    [{}, 401],
    [{ host, method: 'GET', path: '/environment', headers }, 422],
    [{ host, method: 'GET', path: '/api/../environment', headers }, 422],
    [{ host, method: 'GET', path: '/api/x/.%2E/%2e./environment?a', headers }, 422],
    [{ host, method: 'GET', path: '/api/..\\environment', headers }, 422],
    [{ host, method: 'GET', path: '/api/..%2Fenvironment', headers }, 422],
    [{ host, method: 'GET', path: `${elsewhere}/api/x`, headers }, 422],
    [{ host, method: 'GET', path: '/api/x\r\nx-evil: 1', headers }, 422],
    [{ host, method: 'TRACE', path: '/api/x', headers }, 422],
    [{ host, method: 'GET', path: '/api/x', headers, timeout_seconds: 0 }, 422],
  ] as const)
    t.equal((await relay(envelope)).status, status, JSON.stringify(envelope));
  t.equal((await relay({ host, method: 'GET', path: '/api/x' }, 'session-key-of-the-tests')).status, 401);
  t.equal((await rig.seen()).length, before, 'none of these reached it');
});

t.test('the files of a conversation are listed by its agent server', async (t) => {
  const rig = await startRuntime(t);
  await rig.tell(
    'POST /api/bash/execute_bash_command',
    json({ exit_code: 0, stdout: 'a.txt\nsrc/b c.ts\n' }),
  );
  const path = `/api/v1/app-conversations/${rig.id}/files`;
  t.same((await rig.api('GET', `${path}?path=%2Fworkspace%2Fproject`)).json, ['a.txt', 'src/b c.ts']);
  const seen = (await rig.seen()).at(-1);
  t.equal(at({ status: 200, headers: {}, text: '', json: seen?.body }, 'cwd'), rig.workingDir);
  await rig.api('GET', `${path}?path=${encodeURIComponent("$(touch x)'; rm -rf .")}`);
  t.notMatch(
    JSON.stringify(
      at({ status: 200, headers: {}, text: '', json: (await rig.seen()).at(-1)?.body }, 'command'),
    ),
    /touch/,
  );
});

t.test('who has no key cannot fill the memory with envelopes', async (t) => {
  const rig = await startPlatform(t);
  const { hostname, port, host } = new URL(rig.url);
  const begin = (headers: string): Socket => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    socket.write(
      `POST /api/cloud-proxy HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${headers}\r\n`,
    );
    return socket;
  };
  const first = async (sockets: readonly Socket[]): Promise<string> => {
    const [chunk] = (await Promise.race(sockets.map((one) => once(one, 'data')))) as [Buffer];
    return chunk.toString().split('\r\n', 1)[0] ?? '';
  };
  t.match(await first([begin('Transfer-Encoding: chunked\r\n')]), / 411 /);
  t.match(
    await first([begin('Content-Encoding: gzip\r\nContent-Length: 20\r\n')]),
    / 415 /,
    'it may become large',
  );
  const large = Array.from({ length: 5 }, () => begin(`Content-Length: ${16 * 1024 * 1024}\r\n`));
  t.match(await first(large), / 503 /, 'four of them fit');
  const small = await rig.api('POST', '/api/cloud-proxy', { host: 'x' }, null);
  t.equal(small.status, 401, 'small ones are read all the same');
  for (const socket of large) socket.destroy();
  const envelope = { host: 'x', body: 'x'.repeat(1024 * 1024) };
  let status: number;
  for (;;) {
    ({ status } = await rig.api('POST', '/api/cloud-proxy', envelope, null));
    if (status !== 503) break;
    await beforeNextLook();
  }
  t.equal(status, 401, 'and large ones again, once there is room');
});
