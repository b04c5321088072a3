// The admin API in the hands of somebody who holds the key and means harm: what it reaches, what it leaves in the log,
// and what becomes of models that were stored before the rules.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { startUpstream } from '../support/call.ts';
import { folder, serveCli } from '../support/cli.ts';
import { chat, defaultConfig, KEY, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const MASTER_HASH = /^[0-9a-f]{12}$/;

const errorOf = (answer: Answer): { readonly code: string; readonly message: string } =>
  (JSON.parse(answer.text) as { error: { code: string; message: string } }).error;

const auditOf = (rig: Rig): readonly Record<string, unknown>[] =>
  rig.log.filter((line) => line['event'] === 'admin_change');

const post = (rig: Rig, path: string, body: unknown, headers = {}): Promise<Answer> =>
  send(rig.url, 'POST', path, body, headers);

const entry = (base: string, params: object = {}, more: object = {}): object => ({
  model_name: 'added',
  litellm_params: { model: 'litellm_proxy/demo', api_base: base, api_key: 'sk-runtime', ...params },
  ...more,
});

/** With a secret in every place that an entry could ask for. */
const config =
  (general = '') =>
  (demo: DemoGateway): string => `
include: []
credential_list:
  - { credential_name: team, credential_values: { api_base: "${demo.url}", api_key: os.environ/TEAM_KEY } }
router_settings:
  default_litellm_params: { extra_headers: { authorization: os.environ/COMMON } }
${defaultConfig(demo, `  database_type: prisma\n${general}`)}`;
const ENV = { TEAM_KEY: 'sk-team-secret', COMMON: 'sk-common-secret', CLOUD: 'sk-cloud-secret' };

t.test('no entry brings a secret of the operator, or calls of others, to a stranger', async (t) => {
  const rig = await startRig(t, { config: config(), env: ENV });
  const seen: string[] = [];
  const stranger = await startUpstream(t, ({ req, res }) => {
    seen.push(JSON.stringify(req.rawHeaders));
    res.setHeader('content-type', 'application/json').end('{"choices":[]}');
  });
  const refused: readonly (readonly [body: object, cause: RegExp])[] = [
    [entry(stranger, { api_key: 'os.environ/CLOUD' }), /^litellm_params\.api_key: refers to the environment/],
    [
      entry(stranger, { extra_headers: { 'x-a': 'os.environ/CLOUD' } }),
      /^litellm_params\.extra_headers\.x-a: refers/,
    ],
    [entry(stranger, { litellm_credential_name: 'team' }), /^litellm_params\.api_base: is not the api_base/],
    [{ ...entry(stranger, { weight: 1e9 }), model_name: 'demo' }, /^model_name: is a model_name in/],
    [{ ...entry(stranger), model_name: 'demo-echo' }, /^model_name: is covered by 'demo-\*'/],
    [{ ...entry(stranger, { model: 'litellm_proxy/*' }), model_name: '*' }, /^model_name: overlaps with/],
    [entry('http://169.254.169.254'), /^litellm_params\.api_base: leads to a link-local/],
    [entry('http://2852039166/'), /^litellm_params\.api_base: leads to a link-local/],
  ];
  for (const [body, cause] of refused) {
    const answer = await post(rig, '/model/new', body);
    t.equal(answer.status, 400, JSON.stringify(body));
    t.equal(errorOf(answer).code, 'invalid_model_entry');
    t.match(errorOf(answer).message, cause);
    t.notMatch(answer.text, /\.yaml|database_type|<model|throughline-|-secret/, 'nothing of the file');
  }
  const plain = await post(
    rig,
    '/model/new',
    entry(stranger, { api_key: undefined }, { model_info: { id: 'a-1' } }),
  );
  t.equal(plain.status, 200, plain.text);
  for (const change of [
    { api_key: 'os.environ/CLOUD' },
    { litellm_credential_name: 'team' },
    { api_base: 'http://[fe80::1]' },
  ]) {
    const update = await post(rig, '/model/update', { model_info: { id: 'a-1' }, litellm_params: change });
    t.equal(update.status, 400, JSON.stringify(change));
  }
  const renamed = await post(rig, '/model/update', { model_info: { id: 'a-1' }, model_name: 'Demo' });
  t.match(errorOf(renamed).message, /^model_name: differs only in spelling from 'demo'/);
  t.equal((await chat(rig, 'added')).status, 200);
  for (let n = 0; n < 20; n += 1)
    t.equal((await chat(rig, 'demo')).headers['x-litellm-model-api-base'], rig.demo.url);
  t.equal(seen.length, 1, 'its own call alone');
  t.notMatch(seen.join(), /secret|authorization/i, 'and with nothing of the operator');
});

t.test('null takes a member of a model away, and what may not be missing stays', async (t) => {
  const rig = await startRig(t, { config: config(), env: ENV });
  const made = entry(rig.demo.url, { timeout: 7 }, { model_info: { id: 'a-1', mode: 'chat' } });
  t.equal((await post(rig, '/model/new', made)).status, 200);
  const update = (params: object, info: object = {}): ReturnType<typeof post> =>
    post(rig, '/model/update', { model_info: { id: 'a-1', ...info }, litellm_params: params });
  t.equal((await update({ timeout: null, rpm: null }, { mode: null })).status, 200);
  const { data } = JSON.parse((await send(rig.url, 'GET', '/model/info')).text) as {
    readonly data: readonly {
      readonly litellm_params: object;
      readonly model_info: { readonly id: string };
    }[];
  };
  const saved = data.find(({ model_info: { id } }) => id === 'a-1');
  t.notOk('timeout' in (saved?.litellm_params ?? { timeout: 7 }), 'it is gone');
  const refused = await update({ api_base: null });
  t.equal(refused.status, 400);
  t.match(errorOf(refused).message, /api_base/);
  t.equal((await chat(rig, 'added')).status, 200, 'the model is as it was');
});

t.test('a refusal lists the mistakes of the entry and no other', async (t) => {
  const rig = await startRig(t, { config: config(), env: ENV });
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`key_${n}`, n]));
  const { message } = errorOf(await post(rig, '/model/new', entry(rig.demo.url, many)));
  t.match(message, /^litellm_params\.key_\d+: unknown key/);
  t.match(message, /; and 80 more$/);
  t.match(
    errorOf(await post(rig, '/model/new', { model_name: 'x' })).message,
    /^litellm_params: is missing - send an object with model$/,
  );
  const nested = Buffer.from(
    `{"model_name":"x","litellm_params":${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}}`,
  );
  const deep = await post(rig, '/model/new', nested, { 'content-type': 'application/json' });
  t.equal(deep.status, 400, deep.text);
  t.equal((await chat(rig, 'demo')).status, 200);
});

t.test('a name that turns to a metadata address after it was added is not called', async (t) => {
  let address = '127.0.0.1';
  const lookup: LookupFunction = (_, options, callback) =>
    options.all === true ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4);
  const rig = await startRig(t, { lookup });
  const upstream = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
    res.end('{"choices":[]}');
  });
  const base = `http://gateway.test:${new URL(upstream).port}`;
  t.equal((await post(rig, '/model/new', entry(base))).status, 200);
  t.equal((await chat(rig, 'added')).status, 200);
  address = '169.254.169.254';
  const answer = await chat(rig, 'added');
  t.equal(answer.status, 503, answer.text);
  t.match(errorOf(answer), { code: 'upstream_unreachable', message: /link-local or metadata address/ });
  t.notMatch(answer.text, /169\.254/);
  const health = await send(rig.url, 'GET', '/health?model=added');
  t.match(JSON.parse(health.text), { unhealthy_count: 1 }, 'probes are checked as well');
});

t.test('every attempt leaves an audit line without secrets', async (t) => {
  const rig = await startRig(t, { config: config(), env: ENV });
  const params = { extra_headers: { 'x-team': 'sk-header' }, timeout: 7, api_keey: undefined };
  await post(rig, '/model/new', entry(rig.demo.url, params, { model_info: { id: 'a-1', mode: 'chat' } }));
  await post(rig, '/model/update', {
    model_info: { id: 'a-1' },
    litellm_params: { timeout: 9, api_key: 'sk-2' },
  });
  await post(rig, '/model/new', entry('http://user:sk-in-url@h/?key=sk-q', { api_keey: 'sk-typo' }));
  await post(rig, '/model/new', entry(rig.demo.url, { api_key: 'os.environ/CLOUD' }));
  await post(rig, '/model/delete', { id: 'nobody' });
  await post(rig, '/model/delete', { id: 'a-1' });
  await post(rig, '/model/delete', { id: 'a-1' }, { authorization: 'Bearer sk-guess' });
  await post(rig, '/model/new', {}, { authorization: '' });
  await post(rig, '/model/new', Buffer.from('{'), { 'content-type': 'application/json' });
  const lines = auditOf(rig);
  const view = (timeout: number): object => ({
    model_name: 'added',
    litellm_params: {
      model: 'litellm_proxy/demo',
      api_base: `${rig.demo.url}/`,
      api_key: '[secret]',
      extra_headers: { 'x-team': '[secret]' },
      timeout,
    },
    model_info: { id: 'a-1', mode: 'chat' },
  });
  const by = { address: '127.0.0.1', key: MASTER_HASH, call_id: /^[0-9a-f-]{36}$/, msg: 'admin change' };
  const expected: readonly object[] = [
    {
      ...by,
      level: 30,
      action: 'model_new',
      outcome: 'applied',
      model_id: 'a-1',
      before: null,
      after: view(7),
      persisted: false,
    },
    { ...by, action: 'model_update', outcome: 'applied', model_id: 'a-1', before: view(7), after: view(9) },
    {
      ...by,
      level: 40,
      action: 'model_new',
      outcome: 'refused',
      error: 'invalid_model_entry',
      after: { litellm_params: { api_base: 'http://h/', api_keey: '[not shown]' } },
    },
    { ...by, outcome: 'refused', after: { litellm_params: { api_key: 'os.environ/CLOUD' } } },
    { ...by, action: 'model_delete', outcome: 'refused', error: 'model_id_not_found', model_id: 'nobody' },
    { ...by, action: 'model_delete', outcome: 'applied', model_id: 'a-1', before: view(9), after: null },
    {
      action: 'model_delete',
      outcome: 'refused',
      error: 'invalid_api_key',
      key: 'unknown',
      before: null,
      after: null,
    },
    { action: 'model_new', outcome: 'refused', error: 'missing_api_key', key: 'none' },
    { ...by, action: 'model_new', outcome: 'refused', error: 'body_not_json', model_id: null },
  ];
  t.equal(lines.length, expected.length);
  expected.forEach((line, n) => t.match(lines[n], line, `line ${n}`));
  t.notMatch(JSON.stringify(lines), new RegExp(`sk-|${KEY}`));
});

t.test('a key that makes calls only is named where it tried more', async (t) => {
  const rig = await startRig(t, { config: config('  inference_keys: [sk-agent]\n'), env: ENV });
  const answer = await post(rig, '/model/delete', { id: 'x' }, { authorization: 'Bearer sk-agent' });
  t.equal(answer.status, 403, answer.text);
  const key = hash('sha256', 'sk-agent', 'hex').slice(0, 12);
  t.match(auditOf(rig), [{ action: 'model_delete', outcome: 'refused', error: 'admin_key_required', key }]);
});

t.test('a quiet log still has them', async (t) => {
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, `model_list: []\ngeneral_settings: { master_key: ${KEY} }\n`);
  const served = await serveCli(t, config, join(dir, 'data'), ['--log-level', 'error']);
  const answer = await send(served.url, 'POST', '/model/new', entry('http://127.0.0.1:9'));
  t.equal(answer.status, 200);
  await served.said(/"level":30,.*"event":"admin_change","action":"model_new","outcome":"applied"/);
});

t.test('lines stay short, whatever is sent', async (t) => {
  const rig = await startRig(t);
  const long = 'x'.repeat(100_000);
  const tags = Array.from({ length: 5000 }, () => long.slice(0, 50));
  const headers = Object.fromEntries(
    Array.from({ length: 500 }, (_, n) => [`x-${n}-${long.slice(0, 200)}`, long.slice(0, 2_000)]),
  );
  await post(
    rig,
    '/model/new',
    entry(
      rig.demo.url,
      { extra_headers: headers, [long]: long },
      { model_name: long, model_info: { id: long, tags } },
    ),
  );
  const [line] = auditOf(rig);
  t.match(line, { outcome: 'refused', after: { shortened: true } });
  t.ok(JSON.stringify(line).length < 4096, `${JSON.stringify(line).length} characters`);
});

t.test('models that were stored before are disabled, told and kept', async (t) => {
  const kept = folder(t);
  const stored = config('  store_model_in_db: true\n');
  const open = config(
    '  store_model_in_db: true\n  runtime_models: { allow_references: true, allow_join: true, allow_link_local: true }\n',
  );
  const ids = ['by-reference', 'by-credential', 'by-name', 'by-address', 'harmless'];
  const upstream = await startUpstream(t, ({ res }) => {
    res.setHeader('content-type', 'application/json').end('{"choices":[]}');
  });
  const before = await startRig(t, { folder: kept, env: ENV, config: open });
  const bodies = [
    entry(upstream, { api_key: 'os.environ/CLOUD' }),
    entry('http://127.0.0.1:9', { litellm_credential_name: 'team', api_key: undefined }),
    { ...entry('http://127.0.0.1:9'), model_name: 'demo' },
    entry('http://169.254.169.254'),
    { ...entry(upstream), model_name: 'fine' },
  ];
  for (const [n, body] of bodies.entries()) {
    const answer = await post(before, '/model/new', { ...body, model_info: { id: ids[n] } });
    t.match(JSON.parse(answer.text), { model_id: ids[n], persisted: true }, answer.text);
  }
  await before.stop();

  const rig = await startRig(t, { folder: kept, env: ENV, config: stored });
  const { data } = JSON.parse((await send(rig.url, 'GET', '/model/info')).text) as {
    data: { model_name: string; model_info: Record<string, unknown> }[];
  };
  const shown = data.filter(({ model_info: info }) => ids.includes(String(info['id'])));
  t.strictSame(
    shown.map(({ model_info: info }) => [info['id'], info['disabled'] === true]).toSorted(),
    ids.map((id) => [id, id !== 'harmless']).toSorted(),
  );
  t.match(
    shown.find(({ model_info: info }) => info['id'] === 'by-reference'),
    {
      model_name: 'added',
      model_info: { disabled_reason: /api_key: refers to the environment.*allow_references/ },
    },
  );
  t.match(JSON.parse((await send(rig.url, 'GET', '/model/info?litellm_model_id=by-name')).text), {
    data: [{ model_info: { id: 'by-name', disabled: true } }],
  });
  for (const id of ids.slice(0, 4))
    t.ok(
      rig.log.some((line) => line['level'] === 40 && String(line['issue']).includes(`'${id}' is disabled`)),
      `the log tells of ${id}`,
    );
  t.equal((await chat(rig, 'added')).status, 404);
  t.equal((await chat(rig, 'fine')).status, 200);
  t.notMatch((await send(rig.url, 'GET', '/v1/models')).text, /"added"/);

  const mended = { model_info: { id: 'by-reference' }, litellm_params: { api_key: 'sk-own' } };
  t.equal((await post(rig, '/model/update', mended)).status, 200, 'an update that mends it enables it');
  t.equal((await chat(rig, 'added')).status, 200);
  t.equal((await post(rig, '/model/delete', { id: 'by-credential' })).status, 200, 'it can be deleted');
  await rig.reconfigure(open(rig.demo));
  const later = await send(rig.url, 'GET', '/model/info');
  t.notMatch(later.text, /"disabled"/, 'what the operator allows serves again');
  t.notMatch(later.text, /by-credential/);
});

t.test('the file may turn against a model that was there first', async (t) => {
  const rig = await startRig(t, { config: config(), env: ENV });
  t.equal((await post(rig, '/model/new', entry(rig.demo.url))).status, 200);
  await rig.reconfigure(config()(rig.demo).replace('model_name: compat\n', 'model_name: added\n'));
  t.match((await send(rig.url, 'GET', '/model/info')).text, /"disabled":true/);
  t.equal((await chat(rig, 'added')).headers['x-litellm-model-api-base'], `${rig.demo.url}/compat/v1`);
});
