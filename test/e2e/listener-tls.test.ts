// TLS of the proxy's own ports: which versions, certificates that change while connections and streams are open, client
// certificates, workers, and what a start says about files that are wrong.
import { writeFileSync } from 'node:fs';
import { request, Agent, type RequestOptions } from 'node:https';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect as connectPlain, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { certificateOf, selfSigned, type Certificate } from '../support/certificate.ts';
import { folder, runWithin, serveCli } from '../support/cli.ts';
import { KEY, startRig, type Rig } from '../support/rig.ts';

function put(dir: string, name: string, { cert, key }: Certificate): void {
  writeFileSync(join(dir, `${name}.key`), key, { mode: 0o600 });
  writeFileSync(join(dir, `${name}.pem`), cert);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly socket: TLSSocket;
}

/** @param more of the TLS client */
function call(port: number, path: string, more: RequestOptions, body: object | null = null): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const method = body === null ? 'GET' : 'POST';
    const sent = request(
      { host: '127.0.0.1', servername: 'localhost', port, path, method, headers, agent: false, ...more },
      (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        const socket = res.socket as TLSSocket;
        res.on('end', () => resolve({ status: res.statusCode ?? 0, text, socket }));
        res.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === null ? undefined : JSON.stringify(body));
  });
}

const CHAT = { model: 'demo', messages: [{ role: 'user', content: 'x' }] };

function secureRig(t: Test, dir: string, tls: string, more = ''): Promise<Rig> {
  return startRig(t, {
    config: (demo) =>
      `model_list:\n  - model_name: demo\n    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-upstream-secret }\n` +
      `general_settings:\n  master_key: ${KEY}\n  tls: { cert_file: "${dir}/own.pem", key_file: "${dir}/own.key"${tls} }\n${more}`,
  });
}

const shownBy = (port: number, ca: readonly string[], version?: SecureVersion): Promise<string> =>
  new Promise((resolve, reject) => {
    const versions = version === undefined ? {} : { minVersion: version, maxVersion: version };
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: [...ca], ...versions });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });

t.test('both ports speak TLS 1.2 and 1.3 and nothing else', async (t) => {
  const dir = folder(t);
  const own = selfSigned();
  put(dir, 'own', own);
  const rig = await secureRig(t, dir, '', '  admin_port: 0\n');
  t.match(rig.url, /^https:/);
  t.match(rig.gateway.adminUrl, /^https:/);
  const ca = own.cert;
  t.match(await call(rig.port, '/v1/chat/completions', { ca }, CHAT), { status: 200 });
  const stream = await call(rig.port, '/v1/chat/completions', { ca }, { ...CHAT, stream: true });
  t.match(stream.text, /data: \[DONE\]/);
  const adminPort = Number(new URL(rig.gateway.adminUrl ?? '').port);
  t.match(await call(adminPort, '/metrics', { ca }), { status: 200 });
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) t.ok(await shownBy(rig.port, [ca], version));
  await t.rejects(
    call(rig.port, '/health/liveness', {
      ca,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    }),
  );
  const plain = connectPlain(rig.port, '127.0.0.1');
  plain.on('error', () => undefined).resume();
  plain.write('GET /health/liveness HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await once(plain, 'close');
  await rig.logged(({ why }) => String(why).startsWith('The client sent HTTP without TLS'));
  await rig.logged(
    ({ why }) => why === 'The client and the proxy did not agree (ERR_SSL_UNSUPPORTED_PROTOCOL).',
  );
  t.match(await call(rig.port, '/health/liveness', { ca }), { status: 200 }, 'it serves on');
  t.equal(rig.log.filter(({ msg }) => msg === 'a TLS handshake failed').length, 2);
  const silent = connectPlain(rig.port, '127.0.0.1');
  await once(silent, 'connect');
  silent.on('error', () => undefined).resume();
  const closed = once(silent, 'close');
  await rig.stop();
  await closed; // a handshake that never began does not outlive the proxy
});

t.test('a new certificate serves new connections; open ones and their streams go on', async (t) => {
  const dir = folder(t);
  const [own, next] = [selfSigned(), selfSigned()];
  put(dir, 'own', own);
  const rig = await secureRig(t, dir, '');
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: own.cert });
  t.teardown(() => agent.destroy());
  const first = await call(rig.port, '/health/liveness', { agent });
  const before = await shownBy(rig.port, [own.cert]);
  const held = call(
    rig.port,
    '/v1/chat/completions',
    { ca: own.cert },
    { ...CHAT, model: 'demo', stream: true },
  );
  writeFileSync(join(dir, 'own.pem'), next.cert);
  await rig.logged(({ msg }) => String(msg).includes('configuration refused')); // the key is still the old one
  t.equal(await shownBy(rig.port, [own.cert]), before);
  put(dir, 'own', next);
  await rig.logged(({ msg }) => String(msg).includes('configuration applied'));
  t.not(await shownBy(rig.port, [next.cert]), before);
  const again = await call(rig.port, '/health/liveness', { agent });
  t.equal(again.status, 200);
  t.equal(again.socket, first.socket, 'the same connection');
  t.match((await held).text, /data: \[DONE\]/);
});

t.test('with client_ca_file only clients with a certificate of it are served', async (t) => {
  const dir = folder(t);
  const [own, client, other] = [selfSigned(), selfSigned(), selfSigned()];
  put(dir, 'own', own);
  put(dir, 'client', client);
  const rig = await secureRig(t, dir, `, client_ca_file: "${dir}/client.pem"`);
  const ca = own.cert;
  t.match(await call(rig.port, '/health/liveness', { ca, ...client }), { status: 200 });
  const told = (why: RegExp): Promise<unknown> => rig.logged((line) => why.test(String(line['why'])));
  await t.rejects(call(rig.port, '/health/liveness', { ca, ...other }));
  await told(
    /^The certificate of the client is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\); client_ca_file/,
  );
  await t.rejects(call(rig.port, '/health/liveness', { ca }));
  await told(/^The client showed no certificate, and client_ca_file asks for one/);
});

t.test('workers share a certificate, and take a new one together', async (t) => {
  const dir = folder(t);
  const [own, next] = [selfSigned(), selfSigned()];
  put(dir, 'own', own);
  const upstream = createServer((req, res) =>
    req.resume().on('end', () => res.end('{"choices":[],"usage":{}}')),
  );
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.teardown(() => upstream.close());
  const config = join(dir, 'gateway.yaml');
  const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  writeFileSync(
    config,
    `model_list:\n  - model_name: demo\n    litellm_params: { model: openai/m, api_base: "${base}" }\ngeneral_settings: { master_key: ${KEY} }\n`,
  );
  const env = { SSL_CERTFILE_PATH: join(dir, 'own.pem'), SSL_KEYFILE_PATH: join(dir, 'own.key') };
  const cli = await serveCli(t, config, join(dir, 'data'), ['--workers', '2'], { env });
  t.match(cli.url, /^https:/);
  for (let n = 0; n < 4; n += 1)
    t.match(await call(cli.port, '/v1/chat/completions', { ca: own.cert }, CHAT), { status: 200 });
  writeFileSync(join(dir, 'own.key'), next.key);
  writeFileSync(join(dir, 'own.pem'), next.cert);
  await cli.said(/configuration applied/);
  for (let n = 0; n < 4; n += 1)
    t.match(await call(cli.port, '/v1/chat/completions', { ca: next.cert }, CHAT), { status: 200 });
});

t.test('a start says what is wrong with the files', async (t) => {
  const dir = folder(t);
  const [own, other] = [selfSigned(), selfSigned()];
  put(dir, 'own', own);
  put(dir, 'other', other);
  const old = certificateOf({ name: 'localhost', from: '20200101000000Z', until: '20200201000000Z' });
  put(dir, 'old', old);
  writeFileSync(join(dir, 'text.pem'), 'no certificate\n');
  const check = (tls: string, env = {}): ReturnType<typeof runWithin> => {
    const general = tls === '' ? '' : `general_settings: { tls: { ${tls} } }\n`;
    writeFileSync(
      join(dir, 'gateway.yaml'),
      `model_list:\n  - model_name: a\n    litellm_params: { model: openai/m, api_base: "https://gateway.example.com/v1" }\n${general}`,
    );
    return runWithin(['check', '--config', 'gateway.yaml'], { cwd: dir, env });
  };
  const texts: Record<string, RegExp> = {
    'cert_file: own.pem, key_file: other.key':
      /general_settings\.tls\.cert_file: 'own\.pem' does not belong to the key of 'other\.key' - name the key/,
    'cert_file: gone.pem, key_file: own.key': /cert_file: 'gone\.pem' does not exist - check the path/,
    'cert_file: text.pem, key_file: own.key': /'text\.pem' holds no certificate in PEM/,
    'cert_file: own.pem, key_file: own.pem': /'own\.pem' has no key: 'own\.pem' holds no private key/,
    'cert_file: own.pem, key_file: own.key, client_ca_file: text.pem':
      /client_ca_file: 'text\.pem' holds no certificate/,
  };
  for (const [tls, text] of Object.entries(texts)) {
    const { code, out, err } = await check(tls);
    t.equal(code, 1, tls);
    t.match(out + err, text);
    t.notMatch(out + err, /PRIVATE|\n\s+at /);
  }
  const expired = await check('cert_file: old.pem, key_file: old.key');
  t.equal(expired.code, 0);
  t.match(expired.out + expired.err, /'old\.pem' expired on 2020-02-01 - renew it/);
  const half = await check('', { SSL_KEYFILE_PATH: 'own.key' });
  t.match(half.out + half.err, /SSL_KEYFILE_PATH is set without SSL_CERTFILE_PATH/);
});
