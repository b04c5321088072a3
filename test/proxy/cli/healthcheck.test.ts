// `throughline healthcheck`: what HEALTHCHECK of an image asks. Real sockets, and a real proxy for the answer that counts.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { UsageError } from '../../../proxy/cli/terminal.ts';
import { selfSigned } from '../../support/certificate.ts';
import { folder, runCli, runWithin, serveCli } from '../../support/cli.ts';
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

t.test(
  'with the certificate of the environment it is asked by TLS, whatever name and authority',
  async (t) => {
    const dir = folder(t);
    const [authority, other] = [selfSigned(), selfSigned()];
    const path = (name: string): string => join(dir, name);
    writeFileSync(path('ca.pem'), authority.cert);
    writeFileSync(path('ca.key'), authority.key);
    writeFileSync(path('other.pem'), other.cert);
    const openssl = (text: string): void => void execFileSync('openssl', text.split(' '), { stdio: 'pipe' });
    openssl(
      `req -new -newkey rsa:2048 -nodes -subj /CN=llm -keyout ${path('own.key')} -out ${path('own.csr')}`,
    );
    openssl(
      `x509 -req -in ${path('own.csr')} -CA ${path('ca.pem')} -CAkey ${path('ca.key')} -set_serial 7 -days 2 -out ${path('own.pem')}`,
    );
    const server = createSecureServer(
      { cert: readFileSync(path('own.pem')), key: readFileSync(path('own.key')) },
      (_, response) => response.end(),
    ).listen(0, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    const PORT = String((server.address() as AddressInfo).port);
    const ask = (file: string) =>
      runWithin(['healthcheck'], { env: { PORT, SSL_CERTFILE_PATH: file && path(file) } });
    t.strictSame(await ask('own.pem'), { code: 0, out: 'ready\n', err: '' });
    t.match(await ask('other.pem'), {
      code: 1,
      err: /^not ready: https:\/\/127\.0\.0\.1:\d+\/\S+ \(.*certificate/,
    });
    t.match(await ask('none.pem'), { code: 1, err: /^not ready: https:\S+ \(ENOENT.*none\.pem/ });
    t.match(await ask(''), { code: 1, err: /^not ready: http:/ });
  },
);

t.test('a configuration that states TLS is asked by TLS, without a further setting', async (t) => {
  const dir = folder(t);
  const { cert, key } = selfSigned();
  const path = (name: string): string => join(dir, name);
  writeFileSync(path('own.pem'), cert);
  writeFileSync(path('own.key'), key, { mode: 0o600 });
  const tls = '{ cert_file: os.environ/CERT, key_file: own.key }';
  writeFileSync(path('tls.yaml'), `model_list: []\ngeneral_settings: { master_key: sk-m, tls: ${tls} }\n`);
  writeFileSync(path('including.yaml'), 'include: [tls.yaml]\n');
  writeFileSync(
    path('variables.yaml'),
    'environment_variables: { SSL_CERTFILE_PATH: own.pem, SSL_KEYFILE_PATH: own.key }\nmodel_list: []\n',
  );
  writeFileSync(path('plain.yaml'), '# no tls here\nmodel_list: []\n');
  writeFileSync(path('broken.yaml'), 'tls: [');
  writeFileSync(path('empty.yaml'), 'model_list: []\ngeneral_settings: { tls: }\n');
  writeFileSync(path('unset.yaml'), 'environment_variables: { SSL_CERTFILE_PATH: "" }\nmodel_list: []\n');
  const env = { CERT: 'own.pem' };
  const proxy = await serveCli(t, path('including.yaml'), path('data'), [], { env });
  const ready = { code: 0, out: 'ready\n', err: '' };
  const PORT = String(proxy.port);
  for (const name of ['tls.yaml', 'including.yaml', 'variables.yaml']) {
    const CONFIG_FILE_PATH = path(name);
    t.strictSame(await runWithin(['healthcheck'], { env: { PORT, CONFIG_FILE_PATH } }), ready, name);
    t.strictSame(await runWithin(['healthcheck', '--config', name], { cwd: dir, env: { PORT } }), ready);
  }
  const plain = await startRig(t);
  for (const name of ['plain.yaml', 'broken.yaml', 'none.yaml', 'empty.yaml', 'unset.yaml'])
    t.strictSame(
      await runWithin(['healthcheck', '--config', path(name)], { env: { PORT: String(plain.port) } }),
      ready,
      name,
    );
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
