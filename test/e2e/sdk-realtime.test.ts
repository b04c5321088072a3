// The realtime client of OpenAI's SDK over TLS, which it insists on, through the proxy, with the demo gateway behind it.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import t from 'tap';
import { selfSigned } from '../support/certificate.ts';
import { folder } from '../support/cli.ts';
import { KEY, startRig } from '../support/rig.ts';

t.test('a session of the official client', async (t) => {
  const dir = folder(t);
  const { key, cert } = selfSigned();
  writeFileSync(join(dir, 'key.pem'), key, { mode: 0o600 });
  writeFileSync(join(dir, 'cert.pem'), cert);
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: rt
    litellm_params: { model: openai/demo-realtime, api_base: "${demo.url}/v1", api_key: sk-upstream-secret }
general_settings: { master_key: ${KEY}, tls: { cert_file: "${dir}/cert.pem", key_file: "${dir}/key.pem" } }
`,
  });
  const client = new OpenAI({ baseURL: `https://localhost:${rig.port}/v1`, apiKey: KEY });
  const session = new OpenAIRealtimeWS({ model: 'rt', options: { ca: cert, family: 4 } }, client);
  const text: string[] = [];
  const done = new Promise<unknown>((resolve, reject) => {
    session.on('error', reject);
    session.on('session.created', () => {
      session.send({ type: 'session.update', session: { type: 'realtime', instructions: 'short' } });
      session.send({ type: 'response.create' });
    });
    session.on('response.output_text.delta', ({ delta }) => text.push(delta));
    session.on('response.done', resolve);
  });
  t.match(await done, { response: { status: 'completed', usage: { total_tokens: 16 } } });
  t.equal(text.join(''), 'This is the demo gateway. ');
  session.close();
  const line = await rig.logged(({ call_type: type }) => type === 'realtime');
  t.match(line, { end: 'complete', status: 101, tokens: 16, model: 'rt' });
});

t.test('the examples of docs/realtime.md, as they are written', async (t) => {
  const dir = folder(t);
  const { key, cert } = selfSigned(['IP:127.0.0.1']);
  const [keyFile, certFile] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  writeFileSync(keyFile, key, { mode: 0o600 });
  writeFileSync(certFile, cert);
  const page = readFileSync(new URL('../../docs/realtime.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```js\n([^]*?)^```/gm)].map(([, code = '']) => code);
  t.equal(examples.length, 2);
  for (const [code, tls] of [
    [examples[0] ?? '', ''],
    [examples[1] ?? '', `, tls: { cert_file: "${certFile}", key_file: "${keyFile}" }`],
  ] as const) {
    const rig = await startRig(t, {
      config: (demo) => `
model_list:
  - model_name: rt
    litellm_params: { model: openai/demo-realtime, api_base: "${demo.url}/v1", api_key: sk-any }
general_settings: { master_key: ${KEY}${tls} }
`,
    });
    const program = code.replaceAll('127.0.0.1:4000', `127.0.0.1:${rig.port}`);
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', program],
      { timeout: 60_000, env: { ...process.env, MASTER_KEY: KEY, NODE_EXTRA_CA_CERTS: certFile } },
    );
    t.equal(stdout, 'This is the demo gateway. ', stderr);
    t.match(await rig.logged(({ call_type: type }) => type === 'realtime'), { end: 'complete' });
  }
});
