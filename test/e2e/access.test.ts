// Who reaches what, from outside: a stranger, an agent's key and the master key on every route of the table, with one port
// and with an admin port; what rows say of the key; what a reload changes.
import t from 'tap';
import type { Test } from 'tap';
import type { RouteRow } from '../../proxy/api/route-row.ts';
import { RouteTable, type PortRole } from '../../proxy/api/route-table.ts';
import { chat, defaultConfig, KEY, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const AGENT = 'sk-agent-key-for-tests';
const CI = 'sk-ci-key-for-tests';
const SETTINGS = `  inference_keys: [${AGENT}, { key: os.environ/CI_KEY, name: ci }]\n`;
const as = (key: string): Record<string, string> => ({ authorization: key === '' ? '' : `Bearer ${key}` });

const start = (t: Test, settings: string, more = ''): Promise<Rig> =>
  startRig(t, { config: (demo) => defaultConfig(demo, `${settings}${more}`), env: { CI_KEY: CI } });

const tableOf = (rig: Rig, role: PortRole): readonly RouteRow[] =>
  new RouteTable(
    {
      reloader: rig.gateway.reloader,
      state: { draining: false, ownUrl: null },
      hasSessions: false,
      consoleFolder: null,
    },
    null,
    role,
  ).rows;

/** Calls about keys, users and teams state the status in `code`, as LiteLLM does, and ours in `reason`. */
const codeOf = ({ text }: Answer): unknown => {
  const { error } = text === '' ? {} : (JSON.parse(text) as { error?: { code?: unknown; reason?: unknown } });
  return error?.reason ?? error?.code ?? null; // Gemini's `code` is the status
};

/** A call of a row; its bodies are empty, so an LLM call that gets in ends with a complaint about the body. */
const ask = (url: string, { method, path }: RouteRow, key: string): Promise<Answer> =>
  send(
    url,
    method,
    path === LIVE ? `${LIVE}?status=neither` : path.replace('{param}', 'demo'),
    method === 'POST' ? {} : undefined,
    as(key),
  );

/** Does not end by itself. */
const LIVE = '/spend/rows/live';

/** They answer in a shape of their own, which has no code of ours. */
const GEMINI =
  /^(?:|\/v1|\/v1beta|\/v1alpha|\/gemini\/v1|\/gemini\/v1beta|\/gemini\/v1alpha)\/models\/\{param\}:(?:streamGenerateContent|generateContent|countTokens)$/;

t.test('every route of the table, as a stranger, as an agent, as an admin', async (t) => {
  const rig = await start(t, SETTINGS);
  const rows = tableOf(rig, 'all');
  t.ok(rows.length > 150, `${rows.length} rows`);
  for (const row of rows) {
    const name = `${row.method} ${row.path} (${row.access})`;
    const isHead = row.method === 'HEAD';
    const refused = async (key: string, status: number, code: string): Promise<void> => {
      const answer = await ask(rig.url, row, key);
      t.equal(answer.status, status, `${name} with ${key}`);
      if (!isHead) t.equal(codeOf(answer), GEMINI.test(row.path) ? status : code, name);
    };
    const served = async (key: string): Promise<void> => {
      const answer = await ask(rig.url, row, key);
      t.notOk([401, 403].includes(answer.status), `${name} with ${key} is let in, got ${answer.status}`);
    };
    if (row.access === 'open' || row.access === 'public') await served('');
    else {
      await refused('', 401, 'missing_api_key');
      await refused('sk-wrong', 401, 'invalid_api_key');
      await refused(`${AGENT}x`, 401, 'invalid_api_key');
      if (row.access === 'inference' || row.access === 'listing') await served(AGENT);
      else await refused(AGENT, 403, 'admin_key_required');
    }
    if (row.path !== '/model/delete') await served(KEY);
  }
});

/** Said again here, so that a row of the table cannot open what it should not by a slip. */
const OPEN = ['/health/liveness', '/health/liveliness', '/health/readiness', '/robots.txt'];
/** They describe the interface, and nothing of the installation. */
const PUBLIC = ['/', '/docs', '/openapi.json', '/routes'];
/** Shows a key its own conversations alone. */
const OWN_BRAKE = '/conversations/{param}/brake';
/** Five events and the names of the caller's own headers: what an agent's connection does to a stream. */
const EVENTS = '/doctor/stream';
const LLM =
  /^(?:\/|\/v1\/|\/\/v1\/|\/v1\/v1\/|\/(?:openai|anthropic)\/v1\/|\/v2\/|\/(?:v1\/)?engines\/\{param\}\/|\/openai\/deployments\/\{param\}\/)(?:chat\/completions|completions|embeddings|responses|responses\/(?:input_tokens|compact)|messages|messages\/count_tokens|images\/(?:generations|edits|variations)|audio\/(?:speech|transcriptions|translations)|moderations|rerank|realtime)$/;
const BY_ID = /^(?:|\/v1|\/\/v1|\/v1\/v1|\/openai\/v1)\/responses\/\{param\}(?:|\/cancel|\/input_items)$/;
const LISTING =
  /^(?:|\/v1|\/\/v1|\/v1\/v1)\/(?:models|models\/\{param\}|model\/info|model_group\/info)$|^\/v2\/model\/info$|^\/utils\/token_counter$|^\/(?:v1beta|v1alpha|gemini\/(?:v1|v1beta|v1alpha))\/models(?:|\/\{param\})$/;
/** Each of them asks about the object. */
/** Everybody sees their own part. */
const OWN_PART = ['/spend/rows', LIVE, '/spend/sums'];
const CONSOLE = /^\/ui(?:|\/|\/\{param\}|\/session|\/oidc\/login|\/oidc\/callback)$/;
/** With its session alone. */
const TRIED = /^\/ui\/v1\/(?:chat\/completions|completions|embeddings|responses|messages)$/;
const MANAGEMENT = /^(?:\/v2)?\/(?:key|team|user|customer|end_user|budget|organization|access_group|tag)\//;

t.test('what is open, and what agents reach, are lists that nothing joins unseen', async (t) => {
  const rig = await start(t, SETTINGS);
  for (const { path, access, port } of tableOf(rig, 'all')) {
    if (OPEN.includes(path)) t.match({ access, port }, { access: 'open', port: 'both' }, path);
    else if (PUBLIC.includes(path)) t.match({ access, port }, { access: 'public', port: 'both' }, path);
    else if (path === '/metrics') t.match({ access, port }, { access: 'metrics', port: 'admin' });
    else if (LISTING.test(path) || path === OWN_BRAKE || path === EVENTS)
      t.match({ access, port }, { access: 'listing', port: 'both' }, path);
    else if (LLM.test(path) || BY_ID.test(path) || GEMINI.test(path))
      t.match({ access, port }, { access: 'inference', port: 'main' }, path);
    else if (OWN_PART.includes(path))
      t.match({ access, port }, { access: 'management', port: 'admin' }, path);
    else if (CONSOLE.test(path)) t.match({ access, port }, { access: 'public', port: 'admin' }, path);
    else if (TRIED.test(path)) t.match({ access, port }, { access: 'inference', port: 'admin' }, path);
    else if (MANAGEMENT.test(path)) t.match({ access, port }, { access: 'management', port: 'admin' }, path);
    else t.match({ access, port }, { access: 'admin', port: 'admin' }, path);
  }
});

t.test('an agent calls a model; its row names the key by hash and name', async (t) => {
  const rig = await start(t, SETTINGS);
  const call = await chat(rig, 'demo', {}, as(CI));
  t.equal(call.status, 200);
  const row = await rowOf(rig, call);
  const { createHash } = await import('node:crypto');
  const sha = (key: string): string => createHash('sha256').update(key).digest('hex');
  t.match(row, { api_key: sha(CI), metadata: { user_api_key: sha(CI), user_api_key_alias: 'ci' } });
  const unnamed = await rowOf(rig, await chat(rig, 'demo', {}, as(AGENT)));
  t.match(unnamed, { api_key: sha(AGENT), metadata: { user_api_key_alias: null } });
  t.match(await rowOf(rig, await chat(rig, 'demo')), {
    api_key: sha(KEY),
    metadata: { user_api_key_alias: null },
  });
  for (const name of ['x-api-key', 'api-key', 'x-goog-api-key', 'x-litellm-api-key']) {
    const headers = { authorization: '', [name]: AGENT };
    t.equal((await send(rig.url, 'GET', '/v1/models', undefined, headers)).status, 200, name);
    t.equal((await send(rig.url, 'GET', '/spend/logs', undefined, headers)).status, 403, name);
  }
  const refusal = await send(rig.url, 'GET', '/spend/logs', undefined, as(CI));
  t.match(refusal.text, /general_settings\.inference_keys .* needs the master key/);
  t.notMatch(
    JSON.stringify([rig.log, await rig.rows()]),
    /sk-(agent|ci)-key/,
    'no log line and no row holds a key',
  );
});

t.test('other spellings of an admin path do not open it to an agent', async (t) => {
  const rig = await start(t, SETTINGS);
  const spellings = [
    '/SPEND/logs',
    '/spend/logs/',
    '/v1/spend/logs',
    '//spend/logs',
    '/spend%2Flogs',
    '/spend/./logs',
    '/%73pend/logs',
    '/v1/models/../../spend/logs',
    '/models/%2e%2e%2fspend%2flogs',
    '/metrics/',
    '/model/new/',
    '/v1/model/new',
  ];
  for (const path of spellings) {
    const answer = await send(rig.url, 'GET', path, undefined, as(AGENT));
    t.ok([400, 403, 404, 405].includes(answer.status), `${path} ${answer.status}`);
    t.notMatch(answer.text, /request_id|throughline_/, path);
  }
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
    t.equal((await send(rig.url, method, '/spend/logs', undefined, as(AGENT))).status, 405, method);
});

t.test('a reload adds and removes keys, and a refused one leaves them', async (t) => {
  const rig = await start(t, SETTINGS);
  const status = async (key: string): Promise<number> =>
    (await send(rig.url, 'GET', '/v1/models', undefined, as(key))).status;
  t.same([await status(AGENT), await status(CI), await status('sk-new')], [200, 200, 401]);
  await rig.reconfigure(defaultConfig(rig.demo, `  inference_keys: [sk-new, ${AGENT}]\n`));
  t.same([await status(AGENT), await status(CI), await status('sk-new')], [200, 401, 200]);
  await rig.reconfigure(defaultConfig(rig.demo, `  inference_keys: [${KEY}]\n`));
  t.equal(rig.gateway.reloader.state.result, 'refused');
  t.same([await status(AGENT), await status('sk-new')], [200, 200]);
});

t.test('with an admin port each port has its own routes and nothing else', async (t) => {
  const rig = await start(t, `${SETTINGS}  admin_port: 0\n`);
  const own = String(rig.gateway.adminUrl);
  t.not(own, rig.url);
  const here = tableOf(rig, 'main');
  const there = tableOf(rig, 'admin');
  const keyOf = ({ method, path }: RouteRow): string => `${method} ${path}`;
  const onAdmin = new Set(there.map(keyOf));
  const onBoth = new Set(here.map(keyOf).filter((name) => onAdmin.has(name)));
  for (const row of tableOf(rig, 'all')) {
    const name = keyOf(row);
    if (row.path === '/model/delete') continue;
    // A 404 without a body says not whether the route or the object is missing.
    const mayMiss = row.access === 'management' || row.path.startsWith('/ui');
    const asked = mayMiss && row.method === 'HEAD' ? { ...row, method: 'GET' } : row;
    const [main, admin] = [await ask(rig.url, asked, KEY), await ask(own, asked, KEY)];
    const isMissing = (answer: Answer): boolean =>
      GEMINI.test(row.path)
        ? answer.status === 405 // the path of a listing
        : answer.status === 404 && (asked.method === 'HEAD' || codeOf(answer) === 'route_not_found');
    t.equal(isMissing(main), row.port === 'admin', `${name} on the port of the proxy`);
    t.equal(isMissing(admin), row.port === 'main', `${name} on the admin port`);
    t.equal(onBoth.has(name), row.port === 'both', name);
  }
  t.match((await send(rig.url, 'GET', '/metrics')).text, /general_settings\.admin_port/);
  t.equal(
    (await send(own, 'GET', '/metrics', undefined, as(''))).status,
    200,
    'a scraper needs no key there',
  );
  t.equal((await send(own, 'GET', '/spend/logs', undefined, as(''))).status, 401);
  t.equal((await send(own, 'GET', '/spend/logs', undefined, as(AGENT))).status, 403);
  t.equal((await chat(rig, 'demo', {}, as(AGENT))).status, 200);
  await rig.reconfigure(defaultConfig(rig.demo, `${SETTINGS}  admin_port: 1\n`));
  await rig.logged(({ msg }) => /admin_port or admin_host was changed .* after a restart$/.test(String(msg)));
  t.equal((await send(own, 'GET', '/metrics', undefined, as(''))).status, 200, 'the old port serves on');
});

t.test('metrics: a key on the port of the proxy, unless the operator says otherwise', async (t) => {
  const rig = await start(t, SETTINGS);
  const status = async (key: string): Promise<number> =>
    (await send(rig.url, 'GET', '/metrics', undefined, as(key))).status;
  t.same([await status(''), await status(AGENT), await status(KEY)], [401, 403, 200]);
  const told = await send(rig.url, 'GET', '/metrics', undefined, as(''));
  t.match(told.text, /admin_port.*require_auth_for_metrics_endpoint: false/);
  await rig.reconfigure(
    `${defaultConfig(rig.demo, SETTINGS)}litellm_settings: { require_auth_for_metrics_endpoint: false }\n`,
  );
  t.same([await status(''), await status(AGENT), await status(KEY)], [200, 200, 200]);
  const ported = await start(
    t,
    `${SETTINGS}  admin_port: 0\n`,
    'litellm_settings: { require_auth_for_metrics_endpoint: true }\n',
  );
  const own = String(ported.gateway.adminUrl);
  t.equal((await send(own, 'GET', '/metrics', undefined, as(''))).status, 401, 'true means everywhere');
  t.equal((await send(own, 'GET', '/metrics')).status, 200);
});

t.test('addresses that are not allowed get 403 everywhere but from the probes', async (t) => {
  const rig = await start(t, `  allowed_ips: [203.0.113.0/24]\n`);
  for (const row of tableOf(rig, 'all')) {
    const { status } = await ask(rig.url, row, KEY);
    if (row.access === 'open') t.equal(status, 200, row.path);
    else t.equal(status, 403, `${row.method} ${row.path}`);
  }
  const told = await send(rig.url, 'GET', '/v1/models');
  t.equal(codeOf(told), 'address_not_allowed');
  const spoofed = {
    'x-forwarded-for': '203.0.113.7',
    'x-real-ip': '203.0.113.7',
    forwarded: 'for=203.0.113.7',
  };
  t.equal(
    (await send(rig.url, 'GET', '/v1/models', undefined, spoofed)).status,
    403,
    'nobody may state an address',
  );
  const trusted = '  use_x_forwarded_for: true\n  trusted_proxies: [127.0.0.0/8]\n';
  await rig.reconfigure(defaultConfig(rig.demo, `  allowed_ips: [203.0.113.0/24]\n${trusted}`));
  const from = async (address: string): Promise<number> =>
    (await send(rig.url, 'GET', '/v1/models', undefined, { 'x-forwarded-for': address })).status;
  t.equal(await from('203.0.113.7'), 200);
  t.equal(await from('203.0.113.7, 198.51.100.1'), 403, 'the last one that a proxy appended counts');
  t.equal(await from('198.51.100.1, 203.0.113.7'), 200);
  t.equal((await send(rig.url, 'GET', '/v1/models')).status, 403, 'the proxy itself is not allowed');
  const answer = await chat(rig, 'demo', {}, { 'x-forwarded-for': '203.0.113.7' });
  const forAdmin = { 'x-forwarded-for': '203.0.113.7' };
  const rows = await send(
    rig.url,
    'GET',
    `/spend/logs?request_id=${String(answer.headers['x-litellm-call-id'])}`,
    undefined,
    forAdmin,
  );
  t.match(JSON.parse(rows.text), [{ requester_ip_address: '203.0.113.7' }]);
});

t.test('an end user must be stated, may be blocked, and need not be recorded', async (t) => {
  const rig = await start(
    t,
    '  enforce_user_param: true\n',
    'litellm_settings: { blocked_user_list: [mallory] }\n',
  );
  const none = await chat(rig, 'demo');
  t.match({ status: none.status, code: codeOf(none) }, { status: 400, code: 'missing_end_user' });
  t.equal((await rowOf(rig, none))['http_status'], 400, 'the refusal has a row');
  for (const user of ['', '  ', null]) t.equal((await chat(rig, 'demo', { user })).status, 400);
  t.equal((await chat(rig, 'demo', { user: 'alice' })).status, 200);
  for (const members of [{ user: 'mallory' }, { user: ' mallory ' }, { user: '\u006dallory' }]) {
    const blocked = await chat(rig, 'demo', members);
    t.match({ status: blocked.status, code: codeOf(blocked) }, { status: 400, code: 'blocked_end_user' });
  }
  t.equal(rig.demo.seen.length, 1, 'nothing else went upstream');
  await rig.reconfigure(
    `${defaultConfig(rig.demo)}litellm_settings: { disable_end_user_cost_tracking: true }\n`,
  );
  t.equal((await rowOf(rig, await chat(rig, 'demo', { user: 'alice' })))['end_user'], null);
});

t.test('tags of clients are refused where the operator says so, in any place and shape', async (t) => {
  const rig = await start(t, '  reject_clientside_metadata_tags: true\n');
  const cases: readonly (readonly [more: object, headers: Record<string, string>, place: string])[] = [
    [{ metadata: { tags: ['a'] } }, {}, 'metadata.tags'],
    [{ metadata: { tags: 'a' } }, {}, 'metadata.tags'],
    [{ metadata: { tags: [{ a: 1 }] } }, {}, 'metadata.tags'],
    [{ metadata: '{"tags":["a"]}' }, {}, 'metadata.tags'],
    [{ litellm_metadata: { tags: ['a'] } }, {}, 'litellm_metadata.tags'],
    [{ tags: ['a'] }, {}, 'tags'],
    [{}, { 'x-litellm-tags': 'a' }, 'x-litellm-tags'],
    [{}, { 'X-LiteLLM-Tags': 'a' }, 'x-litellm-tags'],
  ];
  for (const [more, headers, place] of cases) {
    const answer = await chat(rig, 'demo', more, headers);
    t.equal(answer.status, 400, place);
    t.match(JSON.parse(answer.text), { error: { code: 'client_tags_refused', param: place } });
  }
  t.equal(rig.demo.seen.length, 0);
  t.equal((await chat(rig, 'demo', { metadata: { session_id: 's', tags: [] } })).status, 200);
});

t.test('rows name the master key without its hash where the operator says so', async (t) => {
  const rig = await start(t, '  disable_adding_master_key_hash_to_db: true\n');
  t.match(await rowOf(rig, await chat(rig, 'demo')), { api_key: 'litellm_proxy_master_key' });
});
