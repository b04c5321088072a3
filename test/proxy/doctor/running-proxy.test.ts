// The doctor and a running proxy: what clients reach, through what stands in front of it, and the same calls with and
// without the proxy.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { Report } from '../../../proxy/doctor/report.ts';
import { startUpstream } from '../../support/call.ts';
import { folder, runWithin } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { defaultConfig, KEY, send, startRig, type Rig } from '../../support/rig.ts';
import { codesOf, errorOf } from './fixture/diagnose.ts';
import { noNginx, startNginx } from './fixture/nginx.ts';

async function doctorOf(
  rig: Pick<Rig, 'configPath' | 'folder'>,
  url: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly report: Report; readonly out: string }> {
  const command = [
    'doctor',
    '--config',
    rig.configPath,
    '--data-dir',
    join(rig.folder, 'data'),
    '--url',
    url,
  ];
  const { code, out } = await runWithin([...command, '--json', '--timeout', '60', ...args], { env });
  return { code, report: JSON.parse(out) as Report, out };
}

/** On a busy machine the answer may come late and at once, which the doctor takes for collected: it asks for a longer one. */
const isFor = (calls: number, { length }: readonly unknown[]): boolean =>
  length === calls || length === calls + 1;

t.test('a proxy in order, called once for each entry, with tagged rows', async (t) => {
  const config = (demo: { readonly url: string }): string => `
model_list:
  - model_name: tools
    litellm_params: { model: litellm_proxy/demo-tools, api_base: "${demo.url}", api_key: os.environ/GW_KEY }
general_settings:
  master_key: os.environ/MK
`;
  const env = { GW_KEY: 'sk-upstream-secret', MK: KEY };
  const rig = await startRig(t, { config, env });
  const { code, report } = await doctorOf(rig, rig.url, ['--send'], env);
  t.same(codesOf(report), []);
  t.equal(code, 0);
  const proxy = report.passed.filter(({ area }) => area === 'proxy').map(({ check }) => check);
  t.same(proxy, ['answer', 'ready', 'workers', 'reload', 'key', 'headers', 'buffering', 'metrics']);
  t.match(report.passed.find(({ check }) => check === 'tool call')?.seen, /^through the proxy/);
  t.match(report.passed.find(({ check }) => check === 'lock')?.seen, /^in use by pid/);
  const rows = await rig.rows();
  t.ok(isFor(1, rows), `${rows.length} rows`);
  t.match(JSON.stringify(rows[0]?.['request_tags']), /doctor/);
});

t.test('stored keys that could not be loaded, and are once the file is back', async (t) => {
  const cwd = folder(t);
  const before = await startRig(t, { folder: cwd });
  t.equal((await send(before.url, 'POST', '/key/generate', { key_alias: 'first' })).status, 200);
  await before.stop();
  const file = join(cwd, 'data', 'access.db');
  const backup = readFileSync(file);
  writeFileSync(file, 'this is no database');
  const rig = await startRig(t, { folder: cwd });
  const state = async (): Promise<unknown> => [
    (JSON.parse((await send(rig.url, 'GET', '/health/readiness')).text) as { keys_loaded: unknown })
      .keys_loaded,
    /^throughline_keys_loaded (\d)$/m.exec((await send(rig.url, 'GET', '/metrics')).text)?.[1],
  ];
  t.same(await state(), [false, '0']);
  const { report } = await doctorOf(rig, rig.url, ['--only', 'proxy']);
  t.match(errorOf(report), { code: 'TL-1207', hop: 'machine', seen: 'readiness says keys_loaded: false' });
  const chain = await send(rig.url, 'GET', '/chain');
  t.match(chain.text, /Keys, teams and users have not been loaded since the start/);
  writeFileSync(file, backup);
  await rig.logged(({ msg }) => msg === 'keys, teams and users are loaded');
  t.same(await state(), [true, '1']);
});

t.test('a store that cannot be reached: what helps is that of the store in use', async (t) => {
  const cwd = folder(t);
  mkdirSync(join(cwd, 'data', 'throughline.db'), { recursive: true });
  const sqlite = await startRig(t, { folder: cwd });
  await sqlite.logged(({ event }) => event === 'store_unreachable');
  const ofFile = await doctorOf(sqlite, sqlite.url, ['--only', 'proxy,data']);
  const database = '  database_url: postgresql://name:word@127.0.0.1:1/spend\n';
  const postgres = await startRig(t, { config: (demo) => defaultConfig(demo, database) });
  await postgres.logged(({ event }) => event === 'store_unreachable');
  const ofDatabase = await doctorOf(postgres, postgres.url, ['--only', 'proxy,data']);
  for (const [{ report }, fix] of [
    [ofFile, /^Free space on the disk of the data directory, .* throughline\.db /],
    [ofDatabase, /^See database_url, /],
  ] as const) {
    const found = report.findings.filter(({ code }) => code === 'TL-1206');
    t.match(found, [
      { area: 'data', fix },
      { area: 'proxy', seen: 'readiness says db: Not connected', fix },
    ]);
    t.equal(found.length, 2);
  }
});

t.test('an idle timeout in front of the proxy, and none', async (t) => {
  const rig = await startRig(t);
  const probe = ['--only', 'proxy', '--idle-probe', '0.3'];
  const fine = await doctorOf(rig, rig.url, probe);
  t.same(codesOf(fine.report), []);
  t.match(fine.report.passed.find(({ check }) => check === 'idle timeout')?.seen, /may be silent for 0\.3 s/);
  // Cuts a stream when it has got its first event, as one does after so many seconds of silence.
  const { hostname, port } = new URL(rig.url);
  const between = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream);
    upstream.on('data', (piece: Buffer) => {
      client.write(piece);
      if (!piece.includes('"of":2')) return;
      client.destroySoon();
      upstream.destroy();
    });
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((listening) => between.listen(0, '127.0.0.1', listening));
  t.teardown(() => between.close());
  const cutting = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
  const { report } = await doctorOf(rig, cutting, probe);
  t.same(codesOf(report), ['TL-1310']);
  t.match(report.findings[0], { hop: 'network', seen: /silent for 0\.3 s is cut after \d/ });
});

t.test('what the proxy adds to a call: by turns, and by what it states', async (t) => {
  const config = (demo: { readonly url: string }): string => `
model_list:
  - model_name: tools
    litellm_params: { model: litellm_proxy/demo-tools, api_base: "${demo.url}", api_key: os.environ/GW_KEY }
general_settings:
  master_key: os.environ/MK
`;
  const env = { GW_KEY: 'sk-upstream-secret', MK: KEY };
  const rig = await startRig(t, { config, env });
  const { report } = await doctorOf(rig, rig.url, ['--send', '--latency'], env);
  // A busy machine may well add 50 ms; what is said is the same then.
  const said = [...report.passed, ...report.findings].find(({ check }) => check === 'latency')?.seen;
  t.match(
    said,
    /^first byte directly after \d+ ms, through the proxy after \d+ ms: .* \(medians of 5 calls each; it states [\d.]+ ms of its own\)$/,
  );
  t.ok(isFor(6, await rig.rows()), 'each call through the proxy has its row');
});

t.test('without a key for the proxy, with a wrong one, and where no proxy is', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo) });
  const keyFile = join(rig.folder, 'key');
  writeFileSync(keyFile, 'sk-somebody-elses-key\n');
  const wrong = await doctorOf(rig, rig.url, ['--key-file', keyFile, '--only', 'proxy']);
  t.match(errorOf(wrong.report), { code: 'TL-1303', hop: 'client' });
  t.notMatch(wrong.out, /somebody-elses/);
  const port = await freePort();
  const nobody = await doctorOf(rig, `http://127.0.0.1:${port}`, ['--only', 'proxy']);
  t.match(errorOf(nobody.report), { code: 'TL-1301', seen: /connection refused/ });
  const page = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>');
  });
  t.match(errorOf((await doctorOf(rig, page, ['--only', 'proxy'])).report), {
    code: 'TL-1307',
    hop: 'network',
  });
});

t.test('what collects the events of a stream in front of the proxy', { skip: noNginx }, async (t) => {
  const rig = await startRig(t);
  const good = await startNginx(t, rig.url, 'proxy_http_version 1.1;');
  const fine = await doctorOf(rig, good, ['--only', 'proxy']);
  t.same(codesOf(fine.report), [], 'nginx as it is installed minds x-accel-buffering');
  const bad = await startNginx(t, rig.url, 'proxy_ignore_headers X-Accel-Buffering;');
  const { report } = await doctorOf(rig, bad, ['--only', 'proxy']);
  t.match(errorOf(report), { code: 'TL-1305', hop: 'network', seen: /5 events were sent over/ });
});

t.test('what removes headers in front of the proxy', { skip: noNginx }, async (t) => {
  const rig = await startRig(t);
  const url = await startNginx(
    t,
    rig.url,
    'proxy_http_version 1.1; proxy_set_header X-Litellm-Session-Id "";',
  );
  const { report } = await doctorOf(rig, url, ['--only', 'proxy']);
  t.match(errorOf(report), { code: 'TL-1309', hop: 'network', seen: /^x-litellm-session-id did not arrive/ });
});

t.test('a call that works at the gateway, and not through what stands in front of the proxy', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: tools
    litellm_params: { model: litellm_proxy/demo-tools, api_base: "${demo.url}", api_key: sk-upstream-secret }
general_settings:
  master_key: ${KEY}
`,
  });
  const ingress = await startUpstream(t, ({ req, res }) => {
    if (req.method === 'POST')
      return void res.writeHead(413, { 'content-type': 'text/html' }).end('<html>413</html>');
    const pass = async (): Promise<void> => {
      const headers = { ...req.headers } as Record<string, string>;
      const answer = await fetch(`${rig.url}${req.url}`, { headers });
      res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      const reader = answer.body?.getReader();
      for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
        res.write(next.value);
      res.end();
    };
    void pass();
  });
  const { report } = await doctorOf(rig, ingress, ['--send', '--only', 'gateway,call']);
  t.match(errorOf(report), { code: 'TL-1609', hop: 'network', seen: /through the proxy: answered 413/ });
});

t.test('by the URL alone, the proxy is asked what it sees', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: a
    litellm_params: { model: openai/demo-model, api_base: "${demo.url}/v1/v1", api_key: sk-upstream-secret }
general_settings:
  master_key: ${KEY}
`,
  });
  const { code, out } = await runWithin(['doctor', '--url', rig.url, '--json', '--timeout', '60'], {
    env: { THROUGHLINE_MASTER_KEY: KEY },
  });
  t.equal(code, 1);
  t.match(errorOf(JSON.parse(out) as Report), { code: 'TL-1502', place: 'gateway.yaml:4' });
});

t.test('a fallback hides no fault: what another entry answered is asked again at the gateway', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: broken
    litellm_params: { model: litellm_proxy/demo-500, api_base: "${demo.url}", api_key: sk-upstream-secret, num_retries: 0 }
  - model_name: good
    litellm_params: { model: litellm_proxy/demo-tools, api_base: "${demo.url}", api_key: sk-upstream-secret }
router_settings: { fallbacks: [{ broken: [good] }] }
general_settings:
  master_key: ${KEY}
`,
  });
  const { report } = await doctorOf(rig, rig.url, ['--send', '--only', 'gateway,call']);
  t.match(errorOf(report), {
    code: 'TL-1508',
    place: 'gateway.yaml:3',
    seen: /^at the gateway: answered 500/,
  });
});
