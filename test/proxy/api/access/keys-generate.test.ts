// New keys: their value is shown once and stored nowhere, and every member of the dialect is read as its clients send it.
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { manage, managed, newKey, type Json, type Managed } from '../../../support/manage.ts';
import { chat, defaultConfig, KEY, send, startRig, type Rig } from '../../../support/rig.ts';

const ASKED = { model: 'demo', messages: [{ role: 'user', content: 'x' }] };
const digest = (text: string): string => hash('sha256', text, 'hex');
const infoOf = async (rig: Rig, key: string): Promise<Json> =>
  (await managed(rig, `GET /key/info?key=${encodeURIComponent(key)}`))['info'] as Json;

t.test(
  'a member of a team makes keys of it for themselves, its admin also keys of the team alone',
  async (t) => {
    const rig = await startRig(t);
    const members_with_roles = [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ];
    await managed(rig, 'POST /team/new', { team_id: 'core', members_with_roles });
    const [lead, dev] = [await newKey(rig, { user_id: 'lead' }), await newKey(rig, { user_id: 'dev' })];
    const made = (key: string, body: Json): Promise<Managed> => manage(rig, 'POST /key/generate', body, key);
    const team_id = 'core';
    t.match(await made(dev, { team_id }), { status: 200, json: { user_id: 'dev', team_id } });
    t.match(await made(lead, { team_id }), { status: 200, json: { user_id: null, team_id } });
    t.match(await made(dev, { team_id, user_id: 'lead' }), {
      status: 403,
      text: /not allowed to make this key/,
    });
    const service = await manage(rig, 'POST /key/service-account/generate', { team_id }, dev);
    t.match(service, { status: 403, text: /not allowed to make this key/ });
    t.match(
      (await managed(rig, 'POST /key/generate', { team_id }))['user_id'],
      null,
      'of the master key as before',
    );
  },
);

t.test('a key is made with the members of the dialect, null and empty ones as well', async (t) => {
  const rig = await startRig(t);
  const row = await managed(rig, 'POST /key/generate', {
    duration: null,
    max_budget: null,
    aliases: { 'mistral-7b': 'gpt-3.5-turbo' },
    models: ['demo'],
    no_member_of_the_dialect: [1],
  });
  const key = String(row['key']);
  t.match(key, /^sk-[A-Za-z0-9]{48}$/, 'the form that secret scanners know');
  t.match(row, {
    key_name: `sk-...${key.slice(-4)}`,
    token: digest(key),
    token_id: digest(key),
    expires: null,
    max_budget: null,
    soft_budget: null,
    budget_duration: null,
    budget_reset_at: null,
    tpm_limit: null,
    rpm_limit: null,
    max_parallel_requests: null,
    models: ['demo'],
    aliases: { 'mistral-7b': 'gpt-3.5-turbo' },
    config: {},
    permissions: {},
    metadata: {},
    spend: 0,
    user_id: null,
    team_id: null,
    key_alias: null,
    duration: null,
    litellm_budget_table: null,
    created_by: null,
  });
  t.equal(Date.parse(String(row['created_at'])), Date.parse(String(row['updated_at'])));
  t.notOk(Object.hasOwn(row, 'no_member_of_the_dialect'));
  const info = await infoOf(rig, key);
  t.notOk(Object.hasOwn(info, 'token'));
  t.notMatch(JSON.stringify(info), key, 'the value is shown once');
  const answer = await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` });
  t.equal(answer.status, 200, answer.text);
});

t.test('ten keys at once', async (t) => {
  const rig = await startRig(t);
  const body = { models: [], aliases: { 'mistral-7b': 'gpt-3.5-turbo' }, duration: null, max_budget: null };
  const rows = await Promise.all(Array.from({ length: 10 }, () => newKey(rig, body)));
  t.equal(new Set(rows).size, 10);
});

t.test('the value of a key is in no log and in no file', async (t) => {
  const rig = await startRig(t);
  const row = await managed(rig, 'POST /key/generate', { key_alias: 'kept' });
  const key = String(row['key']);
  await manage(rig, `GET /key/info?key=${key}`);
  await manage(rig, `GET /key/info?key=${key}x`);
  await manage(rig, `POST /key/${key}/regenerate`, { max_budget: -1 });
  await manage(rig, `GET /key/${key}/regenerate`);
  await manage(rig, `POST /key/${key}`, {});
  await manage(rig, `POST /key/${encodeURIComponent(`%${key}`)}/nothing`, {});
  await manage(rig, 'POST /key/update', { key, metadata: { a: 1 }, models: ['demo'] });
  await manage(rig, 'POST /key/block', { key });
  await manage(rig, 'POST /key/delete', { keys: [key] });
  const random = key.slice(3);
  t.notMatch(JSON.stringify(rig.log), random);
  await rig.stop();
  const data = join(rig.folder, 'data');
  const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  t.same(
    files
      .filter((file) => readFileSync(join(file.parentPath, file.name)).includes(random))
      .map(({ name }) => name),
    [],
  );
});

t.test("a caller's own value is taken; the same again is answered and changes nothing", async (t) => {
  const rig = await startRig(t);
  const key = 'sk-own-value-of-the-platform-1';
  const first = await managed(rig, 'POST /key/generate', { key, key_alias: 'first', max_budget: 3 });
  t.match(first, { key, key_name: 'sk-...rm-1', token: digest(key) });
  const again = await manage(rig, 'POST /key/generate', { key, key_alias: 'second', max_budget: 9 });
  t.equal(again.status, 200);
  t.match(again.json, { key, key_alias: 'second', max_budget: 9 });
  t.match(await infoOf(rig, key), { key_alias: 'first', max_budget: 3 });
  t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status, 200);
});

t.test('a value that can be no key is refused, and not repeated', async (t) => {
  const rig = await startRig(t);
  for (const key of [
    'pk-1234567890123456',
    'sk-short',
    'sk-with space 1234567',
    'sk-ünïcode-123456789',
    KEY,
  ]) {
    const { status, text } = await manage(rig, 'POST /key/generate', { key });
    t.equal(status, 400, key);
    t.match(text, /Invalid key format|a key of the configuration/);
    t.notMatch(text, key);
  }
});

t.test('an alias is unique; spaces and commas are part of it', async (t) => {
  const rig = await startRig(t);
  const key_alias = 'OpenHands Cloud - user u-1 - org o-1, and more';
  await managed(rig, 'POST /key/generate', { key_alias });
  const again = await manage(rig, 'POST /key/generate', { key_alias });
  t.equal(again.status, 400);
  t.match(again.json, {
    error: {
      message: `Key with alias '${key_alias}' already exists. Unique key aliases across all keys are required.`,
      type: 'bad_request_error',
      param: 'key_alias',
      code: '400',
    },
  });
  const at_once = await Promise.all(
    Array.from({ length: 8 }, () => manage(rig, 'POST /key/generate', { key_alias: 'raced' })),
  );
  t.same(at_once.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400, 400, 400]);
  const { deleted_keys } = await managed(rig, 'POST /key/delete', { key_aliases: [key_alias] });
  t.same(deleted_keys, [key_alias]);
  await managed(rig, 'POST /key/generate', { key_alias });
});

t.test('amounts that cannot be are refused: negative, infinite, of another type', async (t) => {
  const rig = await startRig(t);
  const refused = async (body: string): Promise<{ status: number; text: string }> =>
    send(rig.url, 'POST', '/key/generate', Buffer.from(body));
  for (const name of ['max_budget', 'soft_budget', 'spend']) {
    for (const value of ['-1', '"-1"', '1e999', '-1e999', '-0.01']) {
      const { status, text } = await refused(`{"${name}": ${value}}`);
      t.equal(status, 400, `${name} ${value}`);
      t.match(text, `${name} must be a non-negative finite number`);
    }
    for (const value of ['"x"', '"0x5"', 'true', '[]', '{}']) {
      const { status, text } = await refused(`{"${name}": ${value}}`);
      t.equal(status, 422, `${name} ${value}`);
      t.match(JSON.parse(text), { detail: [{ type: 'float_type', loc: ['body', name], msg: /number/ }] });
    }
    t.equal((await refused(`{"${name}": NaN}`)).status, 400, 'NaN is no JSON');
    t.equal((await refused(`{"${name}": ""}`)).status, 200, 'an empty text is nothing');
  }
  for (const name of ['tpm_limit', 'rpm_limit', 'max_parallel_requests']) {
    for (const value of ['-1', '"-1"', '1e999'])
      t.equal((await refused(`{"${name}": ${value}}`)).status, 400, `${name} ${value}`);
    for (const value of ['1.5', '"1.5"', '"x"', 'true'])
      t.equal((await refused(`{"${name}": ${value}}`)).status, 422, `${name} ${value}`);
    t.equal((await refused(`{"${name}": 5}`)).status, 200);
  }
  for (const [body, at] of [
    ['{"budget_limits": [{"budget_duration": "1d", "max_budget": -1}]}', 'budget_limits.0.max_budget'],
    [
      '{"model_max_budget": {"demo": {"budget_limit": -1, "time_period": "1d"}}}',
      'model_max_budget.demo.budget_limit',
    ],
    ['{"model_max_budget": {"demo": -1}}', 'model_max_budget.demo'],
  ] as const) {
    const { status, text } = await refused(body);
    t.equal(status, 400, text);
    t.match(text, `${at} must be a non-negative finite number`);
  }
  for (const body of ['{"budget_limits": [{"max_budget": 1}]}', '{"model_max_budget": {"demo": {}}}'])
    t.match((await refused(body)).text, /"type":"missing".*required/);
  const many = await refused(
    '{"models": "demo", "aliases": [], "metadata": 1, "blocked": "no", "key_alias": 5}',
  );
  t.equal(many.status, 422);
  t.same(
    (JSON.parse(many.text) as { detail: { loc: string[] }[] }).detail.map(({ loc }) => loc[1]).sort(),
    ['aliases', 'blocked', 'key_alias', 'metadata', 'models'],
    'all of them are named',
  );
});

t.test('durations and other values are checked', async (t) => {
  const rig = await startRig(t);
  const refused = async (body: Json): Promise<string> => {
    const { status, text } = await manage(rig, 'POST /key/generate', body);
    t.equal(status, 400, JSON.stringify(body));
    return text;
  };
  t.match(await refused({ budget_duration: '1hr' }), "Invalid budget_duration '1hr'");
  t.match(await refused({ budget_duration: '0d', max_budget: 1 }), "Invalid budget_duration '0d'");
  t.match(await refused({ duration: 'soon' }), "Invalid duration 'soon'");
  t.match(await refused({ budget_id: 'nowhere' }), 'Budget not found for budget_id=nowhere');
  t.match(await refused({ organization_id: 'nowhere' }), 'Organization not found');
  t.match(await refused({ key_alias: 'a\u0000b' }), 'control characters');
  t.match(await refused({ key_alias: 'x'.repeat(1_001) }), 'at most 1000');
  const deep = `{"metadata":${'{"a":'.repeat(90)}1${'}'.repeat(90)}}`;
  t.equal((await send(rig.url, 'POST', '/key/generate', Buffer.from(deep))).status, 400, 'too deep');
  const one = await manage(rig, 'POST /key/generate', { temp_budget_increase: 5 });
  t.equal(one.status, 422, 'an increase without its end');
  t.equal((await manage(rig, 'POST /key/generate', { key_type: 'root' })).status, 422);
});

t.test('expiry, budget window and limits by model are in the row', async (t) => {
  const clock = { now: () => Date.UTC(2026, 10, 18, 10, 20, 30), mono: () => performance.now() };
  const rig = await startRig(t, { clock });
  const row = await managed(rig, 'POST /key/generate', {
    duration: '36h',
    max_budget: 1_000_000_000.0,
    budget_duration: '30d',
    soft_budget: 5,
    model_max_budget: { demo: { budget_limit: 0.5, time_period: '1d' } },
    model_rpm_limit: { demo: 3 },
    budget_limits: [{ budget_duration: '1h', max_budget: 1 }],
    tags: ['a', 'b'],
    metadata: { team: 'core', nested: { deep: [1, null, 'x'] } },
    allowed_routes: ['llm_api_routes'],
    temp_budget_increase: 2.5,
    temp_budget_expiry: '2026-12-01T00:00:00Z',
  });
  t.match(row, {
    expires: '2026-11-19T22:20:30.000+00:00',
    max_budget: 1_000_000_000,
    budget_reset_at: '2026-12-01T00:00:00.000+00:00',
    soft_budget: 5,
    model_max_budget: { demo: { budget_limit: 0.5, time_period: '1d' } },
    budget_limits: [{ budget_duration: '1h', max_budget: 1 }],
    metadata: { team: 'core', tags: ['a', 'b'], model_rpm_limit: { demo: 3 } },
    tags: ['a', 'b'],
    allowed_routes: ['llm_api_routes'],
    temp_budget_increase: 2.5,
    temp_budget_expiry: '2026-12-01T00:00:00.000+00:00',
    litellm_budget_table: { soft_budget: 5 },
  });
});

t.test('a key that has expired is refused from that moment on', async (t) => {
  const time = { ms: Date.UTC(2026, 10, 18, 10, 20, 30) };
  const rig = await startRig(t, { clock: { now: () => time.ms, mono: () => performance.now() } });
  const key = await newKey(rig, { duration: '30s' });
  const headers = { authorization: `Bearer ${key}` };
  time.ms += 29_999;
  t.equal((await chat(rig, 'demo', {}, headers)).status, 200);
  t.match(await infoOf(rig, key), { status: 'active' });
  time.ms += 1;
  t.equal((await chat(rig, 'demo', {}, headers)).status, 401);
  t.match(await infoOf(rig, key), { status: 'expired' });
});

t.test('a key of a service belongs to a team and to no user', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'svc' });
  const path = 'POST /key/service-account/generate';
  t.match(await managed(rig, path, { team_id: 'svc', key_alias: 'bot' }), { team_id: 'svc', user_id: null });
  const { key } = await managed(rig, path, { team_id: 'svc', key_alias: 'cron', metadata: { a: 1 } });
  t.match(
    await infoOf(rig, String(key)),
    { metadata: { a: 1, service_account_id: 'cron' } },
    'clients tell keys of services by it',
  );
  t.match(await managed(rig, path, { team_id: 'svc' }), {
    metadata: { service_account_id: /^[0-9a-f-]{36}$/ },
  });
  t.match(await managed(rig, path, { team_id: 'svc', metadata: { service_account_id: 'own' } }), {
    metadata: { service_account_id: 'own' },
  });
  t.match((await manage(rig, path, {})).json, { error: { message: /team_id is required/, code: '400' } });
  t.match((await manage(rig, path, { team_id: 'no' })).json, { error: { message: /does not exist/ } });
});

t.test('every attempt leaves its line in the audit, refused ones too', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo) });
  const key = await newKey(rig, {
    key_alias: 'sk-secret-looking-alias',
    max_budget: 0,
    metadata: { a: 'v' },
  });
  await manage(rig, 'POST /key/generate', { max_budget: -1 });
  await manage(rig, 'POST /key/generate', { user_id: 'somebody' }, key);
  await managed(rig, 'POST /user/new', { user_id: 'maker', user_role: 'internal_user' });
  const own = await newKey(rig, { user_id: 'maker', key_alias: 'own' });
  await manage(rig, 'POST /key/generate', { user_id: 'somebody' }, own);
  await manage(rig, 'POST /key/generate', {}, 'sk-unknown-key-000000');
  const lines = rig.log.filter(
    (line) => line['action'] === 'key_generate' && !JSON.stringify(line).includes('"alias":"own"'),
  );
  t.match(lines, [
    {
      outcome: 'applied',
      object: 'key',
      object_id: digest(key).slice(0, 12),
      before: null,
      after: { alias: '[secret]', budget: { maxBudget: 0 }, metadata: ['a'] },
    },
    { outcome: 'refused', object: null, error: 'invalid_object' },
    { outcome: 'refused', object: null, error: 'management_denied' }, // a key of nobody makes none: its body was not read
    { outcome: 'refused', object: 'key', error: 'management_denied', after: { userId: 'somebody' } },
    { outcome: 'refused', error: 'invalid_api_key' },
  ]);
  t.equal(lines.length, 5);
});

t.test('numbers may be texts, as operators of Kubernetes send them', async (t) => {
  const rig = await startRig(t);
  const made = await managed(rig, 'POST /key/generate', {
    max_budget: '5.5',
    rpm_limit: '7',
    model_max_budget: { demo: { budget_limit: '0.0000001', time_period: '1d' } },
  });
  t.match(made, {
    max_budget: 5.5,
    rpm_limit: 7,
    model_max_budget: { demo: { budget_limit: 0.0000001, time_period: '1d' } },
  });
});

t.test('a list of models has names by the thousand, few patterns, and is not repeated whole', async (t) => {
  const rig = await startRig(t);
  const names = Array.from({ length: 10_000 }, (_, i) => `model-${i}`);
  for (const [models, why] of [
    [names.map((name) => `${name}*`), /models has 10000 patterns; at most 500/],
    [['*a'.repeat(11)], /models holds a pattern of more than 10 \*/],
  ] as const)
    for (const call of ['POST /key/generate', 'POST /team/new', 'POST /user/new'])
      t.match(await manage(rig, call, { models }), { status: 400, json: { error: { message: why } } }, call);
  const wide = names.slice(0, 500).map((name) => `${'*a'.repeat(9)}${name}*`);
  t.match(await managed(rig, 'POST /key/generate', { models: wide }), { models: wide });

  const key = await newKey(rig, { models: [...names.slice(1), 'x'.repeat(900)].toReversed() });
  const refused = await send(rig.url, 'POST', '/v1/chat/completions', ASKED, {
    authorization: `Bearer ${key}`,
  });
  t.equal(refused.status, 403, refused.text);
  t.match(refused.text, /models=\[x{100}, model-9999, .*model-9991, and 9990 more\]/);
});
