// Authorities and client certificates per entry, against a gateway that asks for them: who gets through, that no
// connection is shared between identities, and that files are read again while the proxy serves.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { selfSigned, type Certificate } from '../support/certificate.ts';
import { folder } from '../support/cli.ts';
import { chat, KEY, startRig } from '../support/rig.ts';

interface Gateway {
  readonly base: string;
  /** SHA-256 of the client certificate of each call; '' = none. */
  readonly shown: readonly string[];
  readonly connections: () => number;
  renew(certificate: Certificate): void;
}

async function startGateway(t: Test, own: Certificate, clients: readonly Certificate[]): Promise<Gateway> {
  const shown: string[] = [];
  let connections = 0;
  const ca = clients.map(({ cert }) => cert);
  const asks = clients.length > 0;
  const server = createServer({ ...own, requestCert: asks, rejectUnauthorized: asks, ca }, (req, res) => {
    shown.push((req.socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? '');
    req.resume().on('end', () => {
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[],"usage":{}}');
    });
  });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', () => (connections += 1));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    base: `https://localhost:${(server.address() as AddressInfo).port}/v1`,
    shown,
    connections: () => connections,
    renew: (certificate) => {
      server.setSecureContext(certificate);
      server.closeAllConnections();
    },
  };
}

function entry(name: string, base: string, more = ''): string {
  return `  - model_name: ${name}\n    litellm_params: { model: openai/m, api_base: "${base}"${more} }\n`;
}

const END = `general_settings: { master_key: ${KEY} }\nrouter_settings: { num_retries: 0, allowed_fails: 1000 }\n`;

/** Writes certificates of these names into a folder: `NAME.pem`, `NAME.key`. */
function written<N extends string>(dir: string, names: readonly N[]): Record<N, Certificate> {
  const pairs = names.map((name) => {
    const made = selfSigned();
    writeFileSync(join(dir, `${name}.pem`), made.cert);
    writeFileSync(join(dir, `${name}.key`), made.key, { mode: 0o600 });
    return [name, made] as const;
  });
  return Object.fromEntries(pairs) as Record<N, Certificate>;
}

t.test('each entry has its own authorities and client certificate, and shares no connection', async (t) => {
  const dir = folder(t);
  const made = written(dir, ['gateway', 'other', 'red', 'blue', 'foreign']);
  writeFileSync(join(dir, 'both.pem'), `${made.red.cert}${made.red.key}`, { mode: 0o600 });
  const gateway = await startGateway(t, made.gateway, [made.red, made.blue]);
  const ca = `, ssl_verify: "${dir}/gateway.pem"`;
  const as = (name: string): string =>
    `${ca}, ssl_certificate: "${dir}/${name}.pem", ssl_certificate_key: "${dir}/${name}.key"`;
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('red', gateway.base, as('red'))}${entry('red-h2', gateway.base, `${as('red')}, allow_h2: true`)}` +
      entry('both', gateway.base, `${ca}, ssl_certificate: "${dir}/both.pem"`) +
      entry('blue', gateway.base, as('blue')) +
      entry('foreign', gateway.base, as('foreign')) +
      entry('none', gateway.base, ca) +
      entry('other', gateway.base, `, ssl_verify: "${dir}/other.pem"`) +
      entry('unknown', gateway.base) +
      END,
  });
  for (const name of ['red', 'red', 'blue', 'red', 'blue', 'both', 'red-h2'])
    t.match(await chat(rig, name), { status: 200 }, name);
  const of = (numbers: readonly number[]): readonly string[] => numbers.map((n) => gateway.shown[n] ?? '');
  t.equal(new Set(of([0, 1, 3, 5, 6])).size, 1, 'red');
  t.equal(new Set(of([2, 4])).size, 1, 'blue');
  t.not(gateway.shown[0], gateway.shown[2]);
  const before = gateway.shown.length;
  const texts: Record<string, RegExp> = {
    none: /closed the connection before its answer was complete. If it asks for a client certificate, set ssl_certificate/,
    other: /the authority of its certificate is not in .*other\.pem \(DEPTH_ZERO_SELF_SIGNED_CERT\); add it/,
    unknown:
      /the authority of its certificate is not known .*ssl_verify, SSL_CERT_FILE or NODE_EXTRA_CA_CERTS/,
    foreign: /Check that it accepts the client certificate of .*foreign\.pem/,
  };
  for (const [name, text] of Object.entries(texts)) {
    const answer = await chat(rig, name);
    t.not(answer.status, 200, name);
    t.match(answer.text, text, name);
  }
  t.equal(gateway.shown.length, before, 'no call came over the connection of another entry');
});

t.test('a file that changes is read again; what is broken leaves the old one in place', async (t) => {
  const dir = folder(t);
  const made = written(dir, ['gateway', 'next']);
  const gateway = await startGateway(t, made.gateway, []);
  const rig = await startRig(t, {
    config: () => `model_list:\n${entry('a', gateway.base, `, ssl_verify: "${dir}/gateway.pem"`)}${END}`,
  });
  t.match(await chat(rig, 'a'), { status: 200 });
  writeFileSync(join(dir, 'gateway.pem'), 'not a certificate');
  await rig.logged(({ msg }) => String(msg).includes('configuration refused'));
  t.match(await chat(rig, 'a'), { status: 200 });
  gateway.renew(made.next);
  t.match(await chat(rig, 'a'), { text: /not in .*gateway\.pem/ });
  writeFileSync(join(dir, 'gateway.pem'), made.next.cert);
  await rig.logged(({ msg }) => String(msg).includes('configuration applied'));
  t.match(await chat(rig, 'a'), { status: 200 });
});

t.test('for all entries: by default_litellm_params, litellm_settings, and by variables', async (t) => {
  const dir = folder(t);
  const made = written(dir, ['gateway', 'red', 'other']);
  const gateway = await startGateway(t, made.gateway, [made.red]);
  const [ca, cert, key] = ['gateway.pem', 'red.pem', 'red.key'].map((name) => join(dir, name));
  const shared = `{ ssl_verify: "${ca}", ssl_certificate: "${cert}", ssl_certificate_key: "${key}" }`;
  const variables = { SSL_CERTIFICATE: cert, SSL_CERTIFICATE_KEY: key };
  const cases = [
    { more: `litellm_settings: ${shared}\n`, env: { SSL_VERIFY: join(dir, 'other.pem') } },
    { more: '', env: { ...variables, SSL_VERIFY: ca } },
    { more: '', env: { ...variables, SSL_VERIFY: 'True', SSL_CERT_FILE: ca } },
    { more: '', env: { ...variables, SSL_VERIFY: 'false', REQUESTS_CA_BUNDLE: ca } },
  ];
  for (const { more, env } of cases) {
    const config = `model_list:\n${entry('a', gateway.base)}${END}${more}`;
    const rig = await startRig(t, { config: () => config, env });
    t.match(await chat(rig, 'a'), { status: 200 }, `${more} ${JSON.stringify(env)}`);
    if (env.SSL_VERIFY === 'false')
      t.match(rig.gateway.reloader.active.snapshot.warnings, [
        { message: /SSL_VERIFY: has no effect: certificates are always checked/ },
      ]);
    await rig.stop();
  }
  const params = `default_litellm_params: ${shared}, num_retries: 0`;
  const config = `model_list:\n${entry('a', gateway.base)}general_settings: { master_key: ${KEY} }\nrouter_settings: { ${params} }\n`;
  t.match(await chat(await startRig(t, { config: () => config }), 'a'), { status: 200 });
});

t.test('a model of POST /model/new names no file, and does not show the certificate of all', async (t) => {
  const dir = folder(t);
  const made = written(dir, ['gateway', 'red']);
  const gateway = await startGateway(t, made.gateway, [made.red]);
  const rig = await startRig(t, {
    config: () =>
      `model_list: []\n${END}litellm_settings: { ssl_verify: "${dir}/gateway.pem", ssl_certificate: "${dir}/red.pem", ssl_certificate_key: "${dir}/red.key" }\n`,
  });
  const add = async (more: object): Promise<Response> =>
    fetch(`${rig.url}/model/new`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model_name: 'new',
        litellm_params: { model: 'openai/m', api_base: gateway.base, ...more },
      }),
    });
  for (const key of ['ssl_verify', 'ssl_certificate', 'ssl_certificate_key']) {
    const refused = await add({ [key]: join(dir, 'red.pem') });
    t.equal(refused.status, 400, key);
    t.match(await refused.text(), /names a file of the proxy/);
  }
  const added = await add({ ssl_verify: true });
  await added.text();
  t.equal(added.status, 200);
  t.match(await chat(rig, 'new'), { text: /not known/ }, 'its own ssl_verify wins');
});
