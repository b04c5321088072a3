// What LiteLLM's own black-box tests of its proxy assert beside those of keys, teams and users, by behaviour: access to models, end
// users, organizations, members, fallbacks, health, listings. docs/compatibility-litellm-tests.md says which hold.
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { list, manage, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, send, startRig, type Answer } from '../support/rig.ts';

const config = (demo: DemoGateway): string => {
  const at = `api_base: "${demo.url}", api_key: sk-x`;
  const entry = (name: string, more = ''): string =>
    `  - { model_name: "${name}", litellm_params: { model: "litellm_proxy/demo", ${at}${more} } }\n`;
  return `model_list:
${entry('gpt-4')}${entry('gpt-3.5-turbo', ', allowed_client_parameters: [fallbacks]')}${entry('gpt-instruct')}${entry('openai/*')}${entry('anthropic/*')}${entry('bedrock/*')}
  - { model_name: bad, litellm_params: { model: litellm_proxy/demo-500, ${at}, allowed_client_parameters: [fallbacks], num_retries: 1, timeout: 1 } }
  - { model_name: slow, litellm_params: { model: litellm_proxy/demo-silent, ${at}, timeout: 1, num_retries: 0 } }
general_settings: { master_key: ${KEY} }
litellm_settings: { budget_exceeded_status_code: 400 }
`;
};
const rig = await startRig(t, { config });
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const errorOf = ({ text }: Answer): Json => (JSON.parse(text) as Json)['error'] as Json;
const get = async (path: string, key = KEY): Promise<Json> =>
  JSON.parse((await send(rig.url, 'GET', path, undefined, as(key))).text) as Json;

t.test('patterns in the models of a key', async (t) => {
  for (const [models, model, isAllowed] of [
    [['openai/*'], 'anthropic/claude-2', false],
    [['gpt-4'], 'gpt-4', true],
    [['bedrock/*'], 'bedrock/anthropic.claude-3', true],
    [['bedrock/anthropic.*'], 'bedrock/anthropic.claude-3', true],
    [['bedrock/anthropic.*'], 'bedrock/amazon.titan', false],
    [undefined, 'gpt-4', true],
    [[], 'gpt-4', true],
  ] as const) {
    const key = await newKey(rig, models === undefined ? {} : { models });
    const answer = await chat(rig, model, {}, as(key));
    t.equal(answer.status, isAllowed ? 200 : 403, `${models?.join() ?? 'none'} ${model}`);
    if (isAllowed) continue;
    const said = {
      type: 'key_model_access_denied',
      param: 'model',
      message: /key not allowed to access model/,
    };
    t.match(errorOf(answer), said);
  }
});

t.test('an update of the models of a key, and of a team, counts for the next call', async (t) => {
  const { team_id: team } = await managed(rig, 'POST /team/new', { models: ['openai/gpt-5.5'] });
  const ofTeam = await newKey(rig, { team_id: team });
  const own = await newKey(rig, { models: ['openai/gpt-5.5'] });
  for (const [key, change, type] of [
    [own, { call: 'POST /key/update', body: { key: own, models: ['openai/*'] } }, 'key_model_access_denied'],
    [
      ofTeam,
      { call: 'POST /team/update', body: { team_id: team, models: ['openai/*'] } },
      'team_model_access_denied',
    ],
  ] as const) {
    t.equal((await chat(rig, 'openai/gpt-5.5', {}, as(key))).status, 200);
    t.match(errorOf(await chat(rig, 'openai/gpt-5-mini', {}, as(key))), {
      type,
      message: /eam not allowed|key not allowed/,
    });
    await managed(rig, change.call, change.body);
    for (const model of ['openai/gpt-5.5', 'openai/gpt-5-mini'])
      t.equal((await chat(rig, model, {}, as(key))).status, 200, model);
    t.match(errorOf(await chat(rig, 'anthropic/claude-2', {}, as(key))), { type });
  }
});

t.test('a budget of 0 lets no call through, and a raised one the next', async (t) => {
  const key = await newKey(rig, { max_budget: 0 });
  const over = await chat(rig, 'gpt-4', {}, as(key));
  t.equal(over.status, 400);
  t.match(errorOf(over), {
    type: 'budget_exceeded',
    message: /Budget has been exceeded!.*Current cost:.*Max budget:/s,
  });
  await managed(rig, 'POST /key/update', { key, max_budget: 0.001 });
  for (let n = 0; n < 3; n += 1) t.equal((await chat(rig, 'gpt-4', {}, as(key))).status, 200);
});

t.test('ten end users at once; the limit of tokens of one holds for keys and the master key', async (t) => {
  const ids = Array.from({ length: 10 }, (_, n) => `end-user-${n}`);
  await Promise.all(
    ids.map((user_id) => managed(rig, 'POST /end_user/new', { user_id, allowed_model_region: null })),
  );
  await managed(rig, 'POST /budget/new', { budget_id: 'free-tier', tpm_limit: 2 });
  await managed(rig, 'POST /end_user/new', { user_id: 'limited', budget_id: 'free-tier' });
  for (const key of [await newKey(rig, {}), KEY]) {
    let passed = 0;
    for (let n = 0; n < 10; n += 1)
      passed += Number((await chat(rig, 'gpt-4', { user: 'limited' }, as(key))).status === 200);
    t.ok(passed < 5, `${passed} of ten`);
  }
});

t.test('nineteen organizations at once are listed', async (t) => {
  const body = { organization_alias: 'same for all', models: ['gpt-4'] };
  await Promise.all(Array.from({ length: 19 }, () => managed(rig, 'POST /organization/new', body)));
  t.equal(list(await managed(rig, 'GET /organization/list')).length, 19);
});

t.test('members of a team: added, twice, deleted, twice', async (t) => {
  const made = await managed(rig, 'POST /team/new', {
    team_id: 'members',
    team_alias: 'M',
    models: ['o3-mini'],
  });
  t.equal(made['team_id'], 'members');
  const members = async (): Promise<readonly Json[]> =>
    list(((await get('/team/info?team_id=members'))['team_info'] as Json)['members_with_roles']);
  t.match(await get('/team/info?team_id=members'), { team_info: { team_alias: 'M', models: ['o3-mini'] } });
  const before = (await members()).length;
  const member = { team_id: 'members', member: [{ role: 'user', user_id: 'a@example.com' }] };
  await managed(rig, 'POST /team/member_add', member);
  t.match((await members()).at(-1), { user_id: 'a@example.com', role: 'user' });
  t.ok((await manage(rig, 'POST /team/member_add', member)).status >= 400, 'a second time');
  t.equal((await members()).length, before + 1);
  const gone = { team_id: 'members', user_id: 'a@example.com' };
  await managed(rig, 'POST /team/member_delete', gone);
  for (let n = 0; n < 3; n += 1) t.equal((await manage(rig, 'POST /team/member_delete', gone)).status, 404);
  t.equal((await members()).length, before);
  t.equal((await manage(rig, 'GET /team/info?team_id=invalid')).status, 404);
});

t.test('members of a team make, change and delete no keys of others in it', async (t) => {
  await managed(rig, 'POST /team/new', { team_id: 'permitted' });
  const shared = await newKey(rig, { team_id: 'permitted' });
  await managed(rig, 'POST /user/new', { user_id: 'member', team_id: 'permitted' });
  const own = await newKey(rig, { user_id: 'member' });
  for (const [call, body] of [
    ['POST /key/update', { key: shared, metadata: { updated: true }, team_id: 'another' }],
    ['POST /key/delete', { keys: [shared] }],
    ['POST /key/regenerate', { key: shared }],
  ] as const) {
    const answer = await manage(rig, call, body, own);
    t.ok([401, 403, 404].includes(answer.status), `${call} ${answer.status}`);
  }
  t.equal((await chat(rig, 'gpt-4', {}, as(shared))).status, 200, 'it is as it was');
});

t.test('fallbacks of a client, for keys that may call them', async (t) => {
  for (const [models, isAllowed] of [
    [['bad', 'gpt-instruct'], true],
    [['bad'], false],
  ] as const) {
    const key = await newKey(rig, { models });
    const answer = await chat(rig, 'bad', { fallbacks: ['gpt-instruct'] }, as(key));
    t.equal(answer.status === 200, isAllowed, models.join());
    if (isAllowed) t.equal(answer.headers['x-litellm-attempted-fallbacks'], '1');
  }
});

t.test('retries and timeouts stand in the head, of failures too', async (t) => {
  const failed = await chat(rig, 'bad');
  t.equal(failed.status, 500);
  t.match(failed.headers, {
    'x-litellm-attempted-retries': '1',
    'x-litellm-max-retries': '1',
    'x-litellm-timeout': '1',
  });
});

t.test('health and routes', async (t) => {
  const health = await get('/health');
  t.ok(Number(health['healthy_count']) + Number(health['unhealthy_count']) > 0);
  for (const path of ['/health/readiness', '/health/liveliness', '/routes'])
    t.equal((await send(rig.url, 'GET', path, undefined, { authorization: '' })).status, 200, path);
});

t.test('the listings of a key and of a user show what they may call', async (t) => {
  const key = await newKey(rig, {});
  t.ok(list((await get('/models', key))['data']).length > 0);
  t.same(list((await get('/models?only_model_access_groups=True', key))['data']), [], 'there is no group');
  const narrow = await newKey(rig, { models: ['gpt-4'] });
  const [shown = {}, ...others] = list((await get('/model/info', narrow))['data']);
  t.match(shown, { model_name: 'gpt-4' });
  t.same(others, []);
  const id = (shown['model_info'] as Json)['id'];
  t.same(list((await get(`/model/info?litellm_model_id=${String(id)}`, narrow))['data']), [shown]);
  const user = await managed(rig, 'POST /user/new', { user_id: 'personal', models: ['gpt-3.5-turbo'] });
  const groups = list((await get('/model_group/info', String(user['key'])))['data']);
  t.same(
    groups.map(({ model_group }) => model_group),
    ['gpt-3.5-turbo'],
  );
});

t.test('keys of a key and of a user make each kind of call', async (t) => {
  const models = ['gpt-4'];
  const user = await managed(rig, 'POST /user/new', { models });
  for (const key of [await newKey(rig, { models, duration: null }), String(user['key'])])
    for (const [path, body] of [
      ['/chat/completions', { messages: [{ role: 'user', content: 'Hello!' }] }],
      ['/completions', { prompt: 'Hello!' }],
      ['/embeddings', { input: ['hello world'] }],
      ['/images/generations', { prompt: 'A cute baby sea otter' }],
    ] as const)
      t.equal((await send(rig.url, 'POST', path, { model: 'gpt-4', ...body }, as(key))).status, 200, path);
});
