// What a web page asks in a day beside settings and conversations: who the user is, the models, agent profiles.
import t from 'tap';
import { at, SESSION_KEY, startPlatform, type PlatformRig } from '../fixture/rig.ts';

const USERS = `
    - { key: key-of-alice, user_id: alice }
    - { key: key-of-bob, user_id: bob }`;

async function orgOf(rig: PlatformRig, key: string): Promise<string> {
  return String(at(await rig.api('GET', '/api/keys/current', undefined, key), 'org_id'));
}

t.test('each user has one organization of their own and is its owner', async (t) => {
  const rig = await startPlatform(t, { users: USERS });
  const [alice, bob] = [await orgOf(rig, 'key-of-alice'), await orgOf(rig, 'key-of-bob')];
  t.not(alice, bob);
  const get = (path: string, key = 'key-of-alice') => rig.api('GET', path, undefined, key);
  t.match((await get('/api/organizations')).json, {
    items: [{ id: alice, name: 'alice', is_personal: true, search_api_key: null }],
    current_org_id: alice,
    next_page_id: null,
  });
  t.match((await get(`/api/organizations/${alice}`)).json, { id: alice, name: 'alice' });
  t.match((await get(`/api/organizations/${alice}/me`)).json, {
    org_id: alice,
    user_id: alice,
    role: 'owner',
    llm_api_key: '',
  });
  t.match((await get(`/api/organizations/${alice}/members`)).json, {
    items: [{ user_id: alice, role: 'owner' }],
    current_page: 1,
    per_page: 10,
  });
  t.same((await get(`/api/organizations/${alice}/members/count`)).json, 1);
  t.same((await get(`/api/organizations/${alice}/members/count?email=nobody`)).json, 0);
  t.match((await get(`/api/organizations/${alice}/members/${alice}`)).json, { user_id: alice });
  t.same((await get(`/api/organizations/${alice}/provider-connections`)).json, { connections: [] });
  const others = [
    '',
    '/me',
    '/members',
    '/members/count',
    `/members/${bob}`,
    '/profiles',
    '/provider-connections',
  ];
  for (const path of others)
    t.equal(
      (await get(`/api/organizations/${bob}${path}`)).status,
      404,
      `bob's ${path} does not exist for alice`,
    );
  t.equal((await get('/api/organizations/not-a-uuid/me')).status, 422);
  t.match((await get(`/api/organizations/${alice.toUpperCase()}/me`)).json, { org_id: alice });
});

t.test('users/me shows the settings with the organization, and no secret', async (t) => {
  const rig = await startPlatform(t);
  t.match((await rig.api('GET', '/api/v1/users/me')).json, { role: 'owner', agent_settings: {} });
  await rig.api('POST', '/api/v1/settings', {
    language: 'de',
    git_user_name: 'Ada',
    agent_settings_diff: { llm: { model: 'demo', api_key: 'sk-very-secret' } },
  });
  const me = await rig.api('GET', '/api/v1/users/me');
  t.match(me.json, { language: 'de', org_name: 'user', agent_settings: { llm: { model: 'demo' } } });
  t.notMatch(me.text, /sk-very-secret/);
  t.equal((await rig.api('GET', '/api/v1/users/me?expose_secrets=true')).status, 403);
  t.same((await rig.api('GET', '/api/v1/users/git-info')).json, {
    id: 'none',
    login: 'none',
    avatar_url: '',
    company: null,
    name: 'Ada',
    email: null,
  });
});

const MODELS = `
  - model_name: anthropic/claude-haiku
    litellm_params: { model: litellm_proxy/demo, api_base: 'http://127.0.0.1:1', api_key: x }
  - model_name: openai/hidden-alias
    litellm_params: { model: litellm_proxy/demo, api_base: 'http://127.0.0.1:1', api_key: x }
    model_info: { openhands_hidden: true, openhands_canonical: claude-haiku }`;

t.test('models and providers are those of /v1/models, in pages and by filter', async (t) => {
  const rig = await startPlatform(t, { models: MODELS });
  const models = async (query: string): Promise<unknown> =>
    (await rig.api('GET', `/api/v1/config/models/search${query}`)).json;
  t.match(await models(''), {
    items: [
      { provider: 'litellm_proxy', name: 'demo', verified: true, hidden: false, canonical: null },
      { provider: 'litellm_proxy', name: 'compat', verified: true },
      { provider: 'anthropic', name: 'claude-haiku', verified: true, hidden: false },
      { provider: 'openai', name: 'hidden-alias', verified: true, hidden: true, canonical: 'claude-haiku' },
    ],
    next_page_id: null,
  });
  const first = await models('?limit=1');
  t.match(first, { items: [{ name: 'demo' }], next_page_id: '1' });
  t.match(await models('?limit=1&page_id=2'), { items: [{ name: 'claude-haiku' }], next_page_id: '3' });
  t.match(await models('?query=HAIKU'), { items: [{ name: 'claude-haiku' }] });
  t.same(await models('?provider__eq=openhands'), { items: [], next_page_id: null });
  t.match(await models('?provider__eq=anthropic'), { items: [{ name: 'claude-haiku' }] });
  t.same(await models('?verified__eq=false'), { items: [], next_page_id: null });
  for (const wrong of ['?limit=0', '?limit=101', '?limit=x', '?verified__eq=perhaps', '?page_id=zzz'])
    t.equal((await rig.api('GET', `/api/v1/config/models/search${wrong}`)).status, 422, wrong);
  t.same((await rig.api('GET', '/api/v1/config/providers/search')).json, {
    items: [
      { name: 'litellm_proxy', verified: true },
      { name: 'anthropic', verified: true },
    ],
    next_page_id: null,
  });
  t.match((await rig.api('GET', '/api/v1/config/providers/search?query=anth')).json, {
    items: [{ name: 'anthropic' }],
  });
  t.same((await rig.api('GET', '/api/options/models')).json, ['demo', 'compat', 'anthropic/claude-haiku']);
});

t.test('what a wildcard brings along is listed, and is not verified', async (t) => {
  const rig = await startPlatform(t, {
    models: `
  - model_name: '*'
    litellm_params: { model: 'openai/*', api_base: 'http://127.0.0.1:1/v1', api_key: x }`,
  });
  const search = '/api/v1/config/models/search';
  const { json } = await rig.api('GET', `${search}?limit=3&verified__eq=false`);
  t.match(json, { items: [{ verified: false }], next_page_id: '3' });
  t.match((await rig.api('GET', `${search}?verified__eq=true`)).json, {
    items: [{ name: 'demo' }, { name: 'compat' }],
  });
  t.notMatch((await rig.api('GET', '/api/options/models')).text, /\*/);
});

t.test('a page learns what this server is, with the session key alone', async (t) => {
  const rig = await startPlatform(t);
  t.match((await rig.api('GET', '/api/v1/web-client/config')).json, {
    kind: 'WebClientConfig',
    posthog_client_key: null,
    providers_configured: [],
    feature_flags: { enable_billing: false, enable_automations: false },
  });
  t.same((await rig.api('GET', '/api/options/agents')).json, ['CodeActAgent']);
  t.same((await rig.api('GET', '/api/options/security-analyzers')).json, ['llm', 'none']);
  t.match((await rig.api('GET', '/api/options/config')).json, { FEATURE_FLAGS: { ENABLE_BILLING: false } });
  t.same((await rig.api('GET', '/api/v1/skills/search?limit=100')).json, { items: [], next_page_id: null });
  t.equal((await rig.api('GET', '/api/v1/skills/search?limit=500')).status, 422);
  t.match((await rig.api('GET', '/api/automation/health')).json, { status: 'error', message: /not served/ });
  t.equal((await rig.api('GET', '/api/v1/web-client/config', undefined, null)).status, 401);
});

t.test('the LLM counts as set up once a model is chosen', async (t) => {
  const rig = await startPlatform(t);
  const isSet = async (): Promise<unknown> => at(await rig.api('GET', '/api/v1/settings'), 'llm_api_key_set');
  await rig.api('POST', '/api/v1/settings', { language: 'en' });
  t.equal(await isSet(), false);
  await rig.api('POST', '/api/v1/settings/profiles/Default', { llm: { model: 'demo' } });
  await rig.api('POST', '/api/v1/settings/profiles/Default/activate', {});
  t.equal(await isSet(), true, 'the proxy provides the key');
});

t.test('profiles of the organization are those of the user', async (t) => {
  const rig = await startPlatform(t);
  const base = `/api/organizations/${await orgOf(rig, SESSION_KEY)}/profiles`;
  const saved = await rig.api('POST', `${base}/Fast`, { llm: { model: 'demo', api_key: 'sk-own' } });
  t.equal(saved.status, 200);
  t.same(saved.json, { name: 'Fast', message: "Profile 'Fast' saved" });
  t.match((await rig.api('GET', '/api/v1/settings/profiles')).json, { profiles: [{ name: 'Fast' }] });
  t.match((await rig.api('GET', base)).json, {
    profiles: [{ name: 'Fast', model: 'demo', api_key_set: true }],
    active_profile: null,
  });
  const detail = await rig.api('GET', `${base}/Fast`);
  t.match(detail.json, { name: 'Fast', llm: { model: 'demo', api_key: null } });
  t.match((await rig.api('POST', `${base}/Fast/activate`, {})).json, {
    name: 'Fast',
    llm: { model: 'demo' },
  });
  t.match((await rig.api('POST', `${base}/Fast/rename`, { new_name: 'Quick' })).json, { name: 'Quick' });
  t.equal((await rig.api('DELETE', `${base}/Quick`)).status, 200);
  t.equal((await rig.api('GET', `${base}/Quick`)).status, 404);
  t.equal((await rig.api('POST', `${base}/bad%20name`, {})).status, 422);
});

t.test('agent profiles are saved, activated by id, renamed, checked and deleted', async (t) => {
  const rig = await startPlatform(t, { users: USERS });
  const api = (method: string, path: string, body?: unknown, key = 'key-of-alice') =>
    rig.api(method, `/api/agent-profiles${path}`, body, key);
  t.same((await api('GET', '')).json, { profiles: [], active_agent_profile_id: null });
  const saved = await api('POST', '/Coder', {
    llm_profile_ref: 'Fast',
    mcp_server_refs: ['search'],
    id: 'x',
  });
  t.equal(saved.status, 201);
  t.same(saved.json, { name: 'Coder', message: "Agent profile 'Coder' saved" });
  await api('POST', '/Coder', {
    llm_profile_ref: 'Fast',
    mcp_server_refs: ['search'],
    disabled_skills: ['s'],
  });
  const [info] = at(await api('GET', ''), 'profiles') as { id: string }[];
  t.match(info, { name: 'Coder', revision: 1, agent_kind: 'openhands', llm_profile_ref: 'Fast' });
  const id = info?.id ?? '';
  t.match(id, /^[0-9a-f-]{36}$/, 'the id is given out here');
  t.match((await api('GET', '/Coder')).json, {
    name: 'Coder',
    profile: { name: 'Coder', agent: 'CodeActAgent', disabled_skills: ['s'], tool_concurrency_limit: 1 },
  });
  t.match((await api('POST', '/Coder/materialize', {})).json, {
    valid: false,
    errors: ["LLM profile 'Fast' not found", 'MCP server(s) not configured: search'],
    dangling_mcp_server_refs: ['search'],
  });
  t.equal((await api('POST', '/nothing/materialize', {})).status, 404);
  t.match((await api('POST', `/${id}/activate`, {})).json, { id, agent_settings_applied: false });
  t.equal((await api('POST', '/nothing/activate', {})).status, 404);
  t.equal((await api('POST', '/Coder/rename', { new_name: 'Writer' })).status, 200);
  await api('POST', '/Other', { llm_profile_ref: 'Fast' });
  t.equal((await api('POST', '/Other/rename', { new_name: 'Writer' })).status, 409);
  t.equal(at(await api('GET', ''), 'active_agent_profile_id'), id, 'a rename keeps the id');
  t.same((await api('GET', '', undefined, 'key-of-bob')).json, {
    profiles: [],
    active_agent_profile_id: null,
  });
  t.equal((await api('GET', '/Writer', undefined, 'key-of-bob')).status, 404);
  t.equal((await api('DELETE', '/Writer')).status, 200);
  t.equal((await api('DELETE', '/Writer')).status, 200, 'again');
  t.equal(at(await api('GET', ''), 'active_agent_profile_id'), null);
  for (const [body, place] of [
    [{}, 'llm_profile_ref'],
    [{ llm_profile_ref: 'F', tool_concurrency_limit: 0 }, 'tool_concurrency_limit'],
    [{ llm_profile_ref: 'F', unknown_member: 1 }, 'unknown_member'],
    [{ llm_profile_ref: 'F', agent_kind: 'acp' }, 'agent_kind'],
    [{ llm_profile_ref: 'F', enable_sub_agents: true }, 'enable_sub_agents'],
  ] as const) {
    const wrong = await api('POST', '/Wrong', body);
    t.equal(wrong.status, 422, place);
    t.match(wrong.json, { detail: [{ loc: ['body', place] }] });
  }
  t.equal((await api('POST', '/-bad', { llm_profile_ref: 'F' })).status, 422);
  for (let n = 0; n < 49; n += 1) await api('POST', `/p${n}`, { llm_profile_ref: 'F' });
  t.equal((await api('POST', '/one-too-many', { llm_profile_ref: 'F' })).status, 409);
});

t.test('a conversation starts with what its agent profile says', async (t) => {
  const rig = await startPlatform(t);
  await rig.api('POST', '/api/v1/settings/profiles/Fast', { llm: { model: 'demo' } });
  await rig.api('POST', '/api/agent-profiles/Coder', { llm_profile_ref: 'Fast' });
  const [{ id = '' } = {}] = at(await rig.api('GET', '/api/agent-profiles'), 'profiles') as { id?: string }[];
  const begun = await rig.api('POST', '/api/v1/app-conversations', { agent_profile_id: id });
  t.equal(begun.status, 200, begun.text);
  const conversation = await rig.api(
    'GET',
    `/api/v1/app-conversations?ids=${String(at(begun, 'app_conversation_id'))}`,
  );
  t.match(conversation.json, [
    { llm_profile: 'Fast', launched_agent_profile: { agent_profile_id: id, revision: 0 } },
  ]);
  const unknown = '00000000-0000-4000-8000-000000000000';
  t.equal((await rig.api('POST', '/api/v1/app-conversations', { agent_profile_id: unknown })).status, 404);
});
