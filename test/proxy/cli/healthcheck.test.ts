// `throughline healthcheck`: what HEALTHCHECK of an image asks. Real sockets, and a real proxy for the answer that counts.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { UsageError } from '../../../proxy/cli/terminal.ts';
import { runCli, runWithin } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { startRig } from '../../support/rig.ts';

t.test('a proxy that serves is ready: by PORT, --port and --url, without a key', async (t) => {
  const { port, url } = await startRig(t);
  const ready = { code: 0, out: 'ready\n', err: '' };
  t.strictSame(await runWithin(['healthcheck', '--url', url]), ready);
  t.strictSame(await runWithin(['healthcheck', '--port', String(port)], { env: { PORT: '1' } }), ready);
  for (const HOST of ['', '0.0.0.0', '127.0.0.1', '::'])
    t.strictSame(await runWithin(['healthcheck'], { env: { HOST, PORT: String(port) } }), ready, HOST);
  t.match(await runCli(t, ['healthcheck'], { env: { PORT: String(port) } }), ready, 'the program itself');
});

t.test('nobody answers, 503, silence: exit code 1 and one line', async (t) => {
  const port = String(await freePort());
  const closed = await runWithin(['healthcheck', '--port', port]);
  t.match(closed, {
    code: 1,
    out: '',
    err: /^not ready: http:\/\/127\.0\.0\.1:\d+\/health\/readiness \([^\n]*ECONNREFUSED[^\n]*\)\n$/,
  });

  const server = createServer((request, response) => {
    t.equal(request.url, '/health/readiness');
    t.equal(request.headers.authorization, undefined);
    response.writeHead(503).end(`{"reason":\n"the proxy is stopping"}${'x'.repeat(100_000)}`);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const stopping = await runWithin(['healthcheck', '--port', String((server.address() as AddressInfo).port)]);
  t.equal(stopping.code, 1);
  t.match(stopping.err, /^not ready: \S+ answers 503 \{"reason": "the proxy is stopping"\}x+\n$/);
  t.ok(stopping.err.length < 500);

  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  t.teardown(() => {
    silent.close();
    silent.closeAllConnections();
  });
  await once(silent, 'listening');
  const args = ['--port', String((silent.address() as AddressInfo).port), '--timeout', '0.2'];
  t.match(await runWithin(['healthcheck', ...args]), { code: 1, err: /\(no answer within 0\.2 s\)\n$/ });
});

t.test('https:// to a port without TLS is said in one line', async (t) => {
  const { url } = await startRig(t);
  const secure = url.replace('http:', 'https:');
  t.strictSame(await runWithin(['healthcheck', '--url', secure]), {
    code: 1,
    out: '',
    err: `not ready: ${secure}/health/readiness (the port speaks no TLS: write ${url})\n`,
  });
});

t.test('a wrong command line is exit code 2', async (t) => {
  for (const args of [
    ['--port', 'x'],
    ['--port', '70000'],
    ['--url', 'ftp://a'],
    ['--url', '4000'],
    ['--timeout', '0'],
    ['--timeout', 'soon'],
  ])
    await t.rejects(runWithin(['healthcheck', ...args]), UsageError, args.join(' '));
  await t.rejects(runWithin(['healthcheck'], { env: { HOST: 'a b' } }), /HOST a b is no host name/);
});
