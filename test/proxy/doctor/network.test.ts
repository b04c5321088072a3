// TLS faults, each with a certificate that really has it. Trusted authorities are those of the process, so the command
// runs in one of its own where there are any.
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Report } from '../../../proxy/doctor/report.ts';
import { startUpstream } from '../../support/call.ts';
import { certificateOf, selfSigned, type Certificate } from '../../support/certificate.ts';
import { folder, runCli, runWithin } from '../../support/cli.ts';
import { codesOf, entry } from './fixture/diagnose.ts';

const LIST = JSON.stringify({ object: 'list', data: [{ id: 'm' }] });

async function secureGateway(t: Test, certificate: Certificate): Promise<string> {
  const server: Server = createServer(certificate, (_, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(LIST);
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}/v1`;
}

async function reportOn(t: Test, base: string, trusted: readonly Certificate[]): Promise<Report> {
  const cwd = folder(t);
  writeFileSync(join(cwd, 'gateway.yaml'), `model_list:\n${entry('a', 'openai/m', base)}`);
  writeFileSync(join(cwd, 'authorities.pem'), trusted.map(({ cert }) => cert).join(''));
  const args = ['doctor', '--config', 'gateway.yaml', '--json', '--only', 'gateway', '--timeout', '60'];
  const env = { GW_KEY: 'sk-gateway-secret-1' };
  const extra = { NODE_EXTRA_CA_CERTS: join(cwd, 'authorities.pem') };
  const ended = await (trusted.length === 0
    ? runWithin(args, { cwd, env })
    : runCli(t, args, { cwd, env: { ...env, ...extra } }));
  return JSON.parse(ended.out) as Report;
}

const day = (offset: number): string =>
  `${new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}000000Z`;

t.test('an authority that is not known here', async (t) => {
  const report = await reportOn(t, await secureGateway(t, selfSigned()), []);
  t.same(codesOf(report), ['TL-1405 gateway.yaml:5']);
  t.equal(report.hop, 'network');
  t.match(report.findings[0], { seen: /comes from "localhost"/, fix: /NODE_EXTRA_CA_CERTS/ });
  t.ok(report.skipped.some(({ because }) => because === 'there is no connection'));
});

t.test('a certificate that has expired, and one that soon will', async (t) => {
  const old = certificateOf({ name: 'localhost', from: '20200101000000Z', until: '20200201000000Z' });
  const expired = await reportOn(t, await secureGateway(t, old), [old]);
  t.same(codesOf(expired), ['TL-1406 gateway.yaml:5']);
  t.equal(expired.hop, 'gateway');
  t.match(expired.findings[0]?.seen, /valid until 2020-02-01/);
  const short = certificateOf({ name: 'localhost', from: '20200101000000Z', until: day(6) });
  const soon = await reportOn(t, await secureGateway(t, short), [short]);
  t.same(codesOf(soon), ['TL-1409 gateway.yaml:5']);
  t.match(soon.findings[0]?.seen, /5 days left|6 days left/);
});

t.test('a certificate for another name', async (t) => {
  const other = certificateOf({ name: 'gateway.example.com', from: '20200101000000Z', until: day(90) });
  const report = await reportOn(t, await secureGateway(t, other), [other]);
  t.same(codesOf(report), ['TL-1407 gateway.yaml:5']);
  t.match(report.findings[0], {
    seen: 'the certificate is for gateway.example.com, api_base says localhost',
    fix: /https:\/\/gateway\.example\.com/,
  });
});

t.test('a certificate in order, and https:// to a port without TLS', async (t) => {
  const good = certificateOf({ name: 'localhost', from: '20200101000000Z', until: day(90) });
  const report = await reportOn(t, await secureGateway(t, good), [good]);
  t.same(codesOf(report), []);
  t.ok(report.passed.some(({ check }) => check === 'TLS'));
  const plain = await startUpstream(t, ({ res }) => void res.end(LIST));
  const odd = await reportOn(t, `${plain.replace('http:', 'https:')}/v1`, []);
  t.same(codesOf(odd), ['TL-1408 gateway.yaml:5']);
  t.match(odd.findings[0]?.fix, /write http:\/\//);
});
