// What LiteLLM's own black-box tests of keys and users assert (tests/test_keys.py, tests/test_users.py), by behaviour:
// docs/litellm-behaviours.md has the list of all of them, and which hold.
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { manage, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const config =
  (general = '') =>
  (demo: DemoGateway): string => `
model_list:
  - model_name: gpt-4
    litellm_params:
      { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-x, input_cost_per_token: 0.00003, output_cost_per_token: 0.00006 }
    model_info: { access_groups: [azure-models] }
  - model_name: dall-e-3
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-x }
    model_info: { mode: image_generation, input_cost_per_image: 0.04, output_cost_per_image: 0.04 }
general_settings: { master_key: ${KEY} ${general} }
`;

/** As the tests make keys. */
const BODY = {
  models: ['azure-models', 'gpt-4', 'dall-e-3'],
  aliases: { 'mistral-7b': 'gpt-3.5-turbo' },
  duration: null,
  max_budget: null,
  budget_duration: null,
};
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const infoOf = async (rig: Rig, key: string): Promise<Json> =>
  (await managed(rig, `GET /key/info?key=${key}`, undefined, key))['info'] as Json;
const rounded = (value: unknown): number => Number(Number(value).toFixed(8));

t.test('ten keys at once', async (t) => {
  const rig = await startRig(t, { config: config() });
  const keys = await Promise.all(Array.from({ length: 10 }, () => newKey(rig, BODY)));
  t.equal(new Set(keys).size, 10);
});

t.test('an updated list of models counts for the next call', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, { ...BODY, models: ['dall-e-3'] });
  t.equal((await chat(rig, 'gpt-4', {}, as(key))).status, 403);
  await managed(rig, 'POST /key/update', { key, models: ['gpt-4'] });
  await managed(rig, 'POST /user/update', { user_id: 'litellm-proxy-budget', spend: 0 });
  t.equal((await chat(rig, 'gpt-4', {}, as(key))).status, 200);
});

t.test('a key is deleted', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, BODY);
  t.same(await managed(rig, 'POST /key/delete', { keys: [key] }), { deleted_keys: [key] });
  t.equal((await chat(rig, 'gpt-4', {}, as(key))).status, 401);
});

t.test('key/info: the admin, the key, the key without a query; not another key', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, BODY);
  const other = await newKey(rig, BODY);
  for (const [path, caller, status] of [
    [`/key/info?key=${key}`, KEY, 200],
    [`/key/info?key=${key}`, key, 200],
    ['/key/info', key, 200],
    [`/key/info?key=${key}`, other, 403],
  ] as const)
    t.equal((await manage(rig, `GET ${path}`, undefined, caller)).status, status);
});

async function costs(rig: Rig, answer: Answer): Promise<number> {
  const row = await rowOf(rig, answer);
  return Number(row['prompt_tokens']) * 0.00003 + Number(row['completion_tokens']) * 0.00006;
}

t.test('spend is the cost of the calls, plain and streamed', async (t) => {
  const rig = await startRig(t, { config: config() });
  for (const stream of [false, true]) {
    const key = await newKey(rig, BODY);
    const answer = await chat(rig, 'gpt-4', { stream }, as(key));
    t.equal(answer.status, 200, answer.text);
    const cost = await costs(rig, answer);
    t.ok(cost > 0);
    t.equal(rounded((await infoOf(rig, key))['spend']), rounded(cost));
  }
});

t.test('the row of a call is found by the id in the head of its answer', async (t) => {
  const rig = await startRig(t, { config: config() });
  const answer = await chat(rig, 'gpt-4');
  const { text } = await send(
    rig.url,
    'GET',
    `/spend/logs?request_id=${String(answer.headers['x-litellm-call-id'])}`,
  );
  t.match(JSON.parse(text), [{ model_group: 'gpt-4' }]);
});

t.test('an image costs something', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, BODY);
  const body = { model: 'dall-e-3', prompt: 'A cute baby sea otter' };
  const answer = await send(rig.url, 'POST', '/v1/images/generations', body, as(key));
  t.equal(answer.status, 200, answer.text);
  t.ok(Number((await infoOf(rig, key))['spend']) > 0);
});

t.test('budget_reset_at moves on', async (t) => {
  const time = { ms: Date.UTC(2026, 10, 18, 10, 0, 1) };
  const rig = await startRig(t, {
    config: config(),
    clock: { now: () => time.ms, mono: () => performance.now() },
  });
  const key = await newKey(rig, { ...BODY, max_budget: 10, budget_duration: '5s' });
  const { key: own } = await managed(rig, 'POST /user/new', {
    user_id: 'krrish_1@berri.ai',
    max_budget: 10,
    budget_duration: '5s',
  });
  const resets = async (): Promise<unknown[]> => [
    (await infoOf(rig, key))['budget_reset_at'],
    (
      (await managed(rig, 'GET /user/info?user_id=krrish_1@berri.ai', undefined, String(own)))[
        'user_info'
      ] as Json
    )['budget_reset_at'],
  ];
  const before = await resets();
  time.ms += 5_000;
  const after = await resets();
  t.not(after[0], before[0]);
  t.not(after[1], before[1]);
});

t.test('a budget that is used up refuses the next call', async (t) => {
  const rig = await startRig(t, { config: config(', budget_reservation: "off"') });
  const key = await newKey(rig, { ...BODY, max_budget: 0.0000001 });
  t.equal((await chat(rig, 'gpt-4', {}, as(key))).status, 200);
  const second = await chat(rig, 'gpt-4', {}, as(key));
  t.ok([400, 422].includes(second.status), `${second.status}`);
  t.match(second.text, /Budget has been exceeded! .*Current cost/);
});

t.test('ten users at once', async (t) => {
  const rig = await startRig(t, { config: config() });
  const { models: _, ...body } = BODY;
  const users = await Promise.all(
    Array.from({ length: 10 }, () => managed(rig, 'POST /user/new', { ...body, models: ['azure-models'] })),
  );
  t.equal(new Set(users.map(({ user_id }) => user_id)).size, 10);
});

t.test('user/info: the admin, the user; not another user', async (t) => {
  const rig = await startRig(t, { config: config() });
  const { key } = await managed(rig, 'POST /user/new', { ...BODY, user_id: 'krrish_1.5@berri.ai' });
  const { key: other } = await managed(rig, 'POST /user/new', BODY);
  for (const [caller, status] of [
    [KEY, 200],
    [String(key), 200],
    [String(other), 403],
  ] as const)
    t.equal(
      (await manage(rig, 'GET /user/info?user_id=krrish_1.5@berri.ai', undefined, caller)).status,
      status,
    );
});

t.test('litellm-proxy-budget has the spend of all calls, those of the master key as well', async (t) => {
  const rig = await startRig(t, { config: config() });
  const spent = async (): Promise<number> =>
    Number(
      ((await managed(rig, 'GET /user/info?user_id=litellm-proxy-budget'))['user_info'] as Json)['spend'],
    );
  const before = await spent();
  await chat(rig, 'gpt-4');
  const plain = await spent();
  t.ok(plain > before);
  await chat(rig, 'gpt-4', { stream: true });
  t.ok((await spent()) > plain);
});
