// What clients of LiteLLM ask for beside the calls themselves: models by other names than their own, paths and headers that they
// know, and routes that tell what there is.
import t, { type Test } from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, lastSeen, rowOf, send, startRig, type Answer } from '../support/rig.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: one
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-x, timeout: 30, tags: [a] }
    model_info: { id: id-one, access_groups: [group-a] }
  - model_name: two
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-x }
    model_info: { id: id-two }
  - model_name: two
    litellm_params: { model: litellm_proxy/demo-x, api_base: "${demo.url}", api_key: sk-x }
    model_info: { id: id-three }
  - model_name: fails
    litellm_params: { model: litellm_proxy/demo-500, api_base: "${demo.url}", api_key: sk-x, allowed_client_parameters: [fallbacks] }
    model_info: { id: id-fails }
  - model_name: "wild/*"
    litellm_params: { model: "litellm_proxy/demo-*", api_base: "${demo.url}", api_key: sk-x }
    model_info: { id: id-wild }
  - model_name: hidden
    litellm_params: { model: litellm_proxy/demo-y, api_base: "${demo.url}", api_key: sk-x }
    model_info: { id: id-hidden }
router_settings: { num_retries: 0, fallbacks: [{ one: [two] }] }
general_settings: { master_key: ${KEY}, dialect_metrics: true, store_model_in_db: false }
`;
const rig = await startRig(t, { config });
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const json = ({ text }: Answer): Json => JSON.parse(text) as Json;
const codeOf = (answer: Answer): unknown => (json(answer)['error'] as Json)['code'];
const seenModel = (): unknown => (JSON.parse(lastSeen(rig).body.toString()) as Json)['model'];
const calls = (): number => rig.demo.seen.length;

t.test('a call by the id of a deployment goes to it alone, under the name of its entry', async (t) => {
  for (const [asked, upstream, group] of [
    ['id-two', 'demo', 'two'],
    ['id-three', 'demo-x', 'two'],
    ['litellm_proxy/demo-x', 'demo-x', 'two'],
    ['openai/acme/demo', 'acme/demo', 'one'],
  ] as const) {
    const answer = await chat(rig, asked);
    t.equal(answer.status, 200, asked);
    t.equal(seenModel(), upstream, asked);
    t.equal(answer.headers['x-litellm-model-group'], group, asked);
    t.match(await rowOf(rig, answer), { model_group: group, model: upstream }, asked);
  }
  const before = calls();
  t.equal((await chat(rig, 'id-fails')).status, 500);
  t.equal(calls(), before + 1, 'nothing else is tried');
  for (const unknown of ['ID-TWO', 'id-two ', 'id-wild', 'litellm_proxy/demo-*', 'id_two', 'demo'])
    t.equal(codeOf(await chat(rig, unknown)), 'model_not_found', unknown);
  await chat(rig, 'wild/litellm_proxy/demo-x');
  t.equal(seenModel(), 'demo-litellm_proxy/demo-x', 'a wildcard wins over an upstream name');
});

t.test('an id opens no more than the name does', async (t) => {
  const key = await newKey(rig, { models: ['one', 'id-*', 'litellm_proxy/*'] });
  const before = calls();
  for (const id of ['id-two', 'id-hidden', 'litellm_proxy/demo-x', 'litellm_proxy/demo-y'])
    t.equal((await chat(rig, id, {}, as(key))).status, 403, id);
  t.equal(calls(), before);
  t.equal((await chat(rig, 'id-one', {}, as(key))).status, 200);
});

t.test(
  'fallbacks of a client: names of this proxy, where the operator lets clients state them',
  async (t) => {
    const served = await chat(rig, 'fails', { fallbacks: ['two'] });
    t.equal(served.status, 200);
    t.equal(served.headers['x-litellm-attempted-fallbacks'], '1');
    t.equal(served.headers['x-litellm-model-group'], 'two');
    t.notOk('fallbacks' in (JSON.parse(lastSeen(rig).body.toString()) as Json), 'it does not go on');
    t.equal((await chat(rig, 'fails', { fallbacks: [{ fails: ['nowhere-2', 'two'] }] })).status, 500);
    t.ok(
      'fallbacks' in (JSON.parse(lastSeen(rig).body.toString()) as Json),
      'a name that is not ours goes on',
    );
    t.equal((await chat(rig, 'fails', { fallbacks: [{ fails: ['two'] }] })).status, 200);
    t.equal(codeOf(await chat(rig, 'two', { fallbacks: ['one'] })), 'parameter_not_allowed');
    const key = await newKey(rig, { models: ['fails'] });
    t.equal(
      (await chat(rig, 'fails', { fallbacks: ['hidden'] }, as(key))).status,
      500,
      'a name that the key may not call',
    );
  },
);

t.test('what clients read of the head', async (t) => {
  const plain = await chat(rig, 'one');
  t.match(plain.headers, {
    'x-litellm-model-group': 'one',
    'x-litellm-timeout': '30',
    'x-litellm-max-retries': '0',
    'x-litellm-response-duration-ms': /^\d+\.\d{3}$/,
  });
  t.notOk('x-litellm-request-id' in plain.headers);
  t.equal((await chat(rig, 'one', {}, { 'x-litellm-timeout': '7.5' })).headers['x-litellm-timeout'], '7.5');
  t.equal((await chat(rig, 'wild/x')).headers['x-litellm-model-group'], 'wild/x');
  t.notOk('x-litellm-model-group' in (await chat(rig, 'wild/ü')).headers, 'no header can hold it');
});

t.test('x-litellm-timeout is that of the deployment that answers', async (t) => {
  const fresh = await startRig(t, { config }); // where nothing cools down
  t.match((await chat(fresh, 'fails', { fallbacks: ['one'] })).headers, {
    'x-litellm-attempted-fallbacks': '1',
    'x-litellm-timeout': '30',
  });
});

t.test('the call id of a client is taken over where it is a UUID; the row has our own', async (t) => {
  const theirs = '3F2504E0-4F89-41D3-9A0C-0305E82C3301';
  for (let time = 0; time < 2; time += 1) {
    const answer = await chat(rig, 'one', {}, { 'x-litellm-call-id': theirs });
    t.equal(answer.headers['x-litellm-call-id'], theirs);
    const own = String(answer.headers['x-litellm-request-id']);
    const { text } = await send(rig.url, 'GET', `/spend/logs?request_id=${own}`);
    t.match(JSON.parse(text), [{ request_id: own, client_call_id: theirs }], 'each has a row of its own');
  }
  for (const other of [
    'x',
    '3F2504E0-4F89-41D3-9A0C-0305E82C330',
    `${theirs}0`,
    '00000000-0000-0000-0000-000000000000',
  ]) {
    const { headers } = await chat(rig, 'one', {}, { 'x-litellm-call-id': other });
    t.not(headers['x-litellm-call-id'], other);
    t.notOk('x-litellm-request-id' in headers);
  }
  const refused = await chat(rig, 'nothing', {}, { 'x-litellm-call-id': theirs });
  t.equal(refused.headers['x-litellm-call-id'], theirs, 'refusals too');
});

t.test('one slash at the end of a path', async (t) => {
  const body = { model: 'one', messages: [{ role: 'user', content: 'hi' }] };
  for (const path of ['/v1/chat/completions/', '/chat/completions/', '/openai/v1/chat/completions/'])
    t.equal((await send(rig.url, 'POST', path, body)).status, 200, path);
  t.equal(lastSeen(rig).path, '/compat/v1/chat/completions');
  for (const path of ['/v1/models/', '/health/liveness/', '/model/info/'])
    t.equal((await send(rig.url, 'GET', path)).status, 200, path);
  for (const path of ['/v1/chat/completions//', '/v1/chat/completions/%2f'])
    t.equal((await send(rig.url, 'POST', path, body)).status, 404, path);
  const narrow = await newKey(rig, { allowed_routes: ['/chat/completions'] });
  t.equal((await send(rig.url, 'POST', '/v1/chat/completions/', body, as(narrow))).status, 200);
  t.equal((await send(rig.url, 'GET', '/v1/models/', undefined, as(narrow))).status, 403);
  t.equal((await send(rig.url, 'POST', '/key/generate/', {}, as(narrow))).status, 403);
});

t.test('OPTIONS on probes, for whoever asks', async (t) => {
  for (const path of ['/health/liveness', '/health/liveliness', '/health/readiness']) {
    const answer = await send(rig.url, 'OPTIONS', path, undefined, { authorization: '' });
    t.match(answer, { status: 200, text: '', headers: { allow: 'GET, HEAD, OPTIONS' } }, path);
  }
  t.equal((await send(rig.url, 'OPTIONS', '/v1/models')).status, 405, 'without CORS nothing else takes it');
});

t.test('routes that tell what there is', async (t) => {
  const { routes } = json(await send(rig.url, 'GET', '/routes', undefined, { authorization: '' })) as {
    routes: readonly Json[];
  };
  t.match(
    routes.find(({ path }) => path === '/v1/chat/completions'),
    { methods: ['POST'] },
  );
  t.ok(routes.length > 150);
  const page = json(await send(rig.url, 'GET', '/v2/model/info?size=2&page=2'));
  t.match(page, { total_count: 6, current_page: 2, total_pages: 3, size: 2 });
  t.same(
    (page['data'] as Json[]).map((one) => (one['model_info'] as Json)['id']),
    ['id-three', 'id-fails'],
  );
  for (const [query, ids] of [
    ['model=two', ['id-two', 'id-three']],
    ['modelId=id-one', ['id-one']],
    ['search=WI', ['id-wild']],
    ['access_group=group-a', ['id-one']],
    ['wildcard_only=true', ['id-wild']],
    ['sortBy=model_name&sortOrder=desc&size=1', ['id-wild']],
    ['page=9', []],
  ] as const) {
    const { data } = json(await send(rig.url, 'GET', `/v2/model/info?${query}`)) as { data: readonly Json[] };
    t.same(
      data.map((one) => (one['model_info'] as Json)['id']),
      ids,
      query,
    );
  }
  for (const query of ['page=0', 'size=x', 'sortBy=api_key', 'sortBy=costs&sortOrder=up'])
    t.equal((await send(rig.url, 'GET', `/v2/model/info?${query}`)).status, 400, query);
  const key = await newKey(rig, { models: ['one'] });
  t.match(json(await send(rig.url, 'GET', '/v2/model/info', undefined, as(key))), { total_count: 1 });
  t.notMatch((await send(rig.url, 'GET', '/v2/model/info')).text, 'sk-x');
});

t.test('a listing with the fallbacks of each name', async (t) => {
  const { data } = json(await send(rig.url, 'GET', '/v1/models?include_metadata=true')) as {
    data: readonly Json[];
  };
  t.match(
    data.find(({ id }) => id === 'one'),
    { metadata: { fallbacks: ['two'] } },
  );
  t.match(
    data.find(({ id }) => id === 'two'),
    { metadata: { fallbacks: [] } },
  );
  t.equal((await send(rig.url, 'GET', '/v1/models?include_metadata=true&fallback_type=x')).status, 400);
  const groups = json(await send(rig.url, 'GET', '/v1/models?only_model_access_groups=True')) as {
    data: readonly Json[];
  };
  t.same(
    groups.data.map(({ id }) => id),
    ['group-a'],
  );
});

t.test('tokens are counted here', async (t) => {
  const before = calls();
  const count = async (body: Json): Promise<Json> =>
    json(await send(rig.url, 'POST', '/utils/token_counter', body));
  const one = await count({ model: 'one', messages: [{ role: 'user', content: 'one two three four' }] });
  t.match(one, {
    request_model: 'one',
    model_used: 'acme/demo',
    tokenizer_type: 'openai_tokenizer',
    error: false,
  });
  t.ok(Number(one['total_tokens']) >= 4 && Number(one['total_tokens']) < 16);
  t.equal((await count({ model: 'x', prompt: 'one two three four' }))['total_tokens'], 4);
  const more = await count({
    model: 'one',
    messages: [{ role: 'user', content: 'a' }],
    tools: [{ name: 'a long one here' }],
  });
  t.ok(Number(more['total_tokens']) > Number(one['total_tokens']) - 4);
  t.ok(
    Number((await count({ model: 'g', contents: [{ parts: [{ text: 'one two' }] }] }))['total_tokens']) >= 2,
  );
  t.equal((await send(rig.url, 'POST', '/utils/token_counter', { model: 'one' })).status, 400);
  t.equal((await send(rig.url, 'POST', '/utils/token_counter', { prompt: 'x' })).status, 400);
  const key = await newKey(rig, { models: ['two'] });
  const hidden = json(
    await send(rig.url, 'POST', '/utils/token_counter', { model: 'one', prompt: 'x' }, as(key)),
  );
  t.equal(hidden['model_used'], 'one', 'what a name stands for is told to those who may call it');
  t.equal(calls(), before);
});

t.test('PATCH changes a model by the id in its path', async (t) => {
  const made = await managed(rig, 'POST /model/new', {
    model_name: 'made',
    litellm_params: { model: 'litellm_proxy/demo', api_base: rig.demo.url, api_key: 'sk-y' },
    model_info: { id: 'id-made' },
  });
  t.equal(made['model_id'], 'id-made');
  const path = '/model/id-made/update';
  const changed = await send(rig.url, 'PATCH', path, { litellm_params: { model: 'litellm_proxy/demo-z' } });
  t.match(json(changed), { model_name: 'made', litellm_params: { model: 'litellm_proxy/demo-z' } });
  await chat(rig, 'made');
  t.equal(seenModel(), 'demo-z');
  for (const [at, body, code] of [
    ['/model/id-one/update', {}, 'model_in_config'],
    ['/model/nowhere/update', {}, 'model_id_not_found'],
    [path, { model_info: { id: 'id-two' } }, 'invalid_model_entry'],
    [path, { litellm_params: { api_base: 'no url' } }, 'invalid_model_entry'],
  ] as const)
    t.equal(codeOf(await send(rig.url, 'PATCH', at, body)), code, at);
  const key = await newKey(rig, {});
  t.equal((await send(rig.url, 'PATCH', path, {}, as(key))).status, 403);
});

t.test('messages below /anthropic: with a row, to the models of this proxy', async (t) => {
  const body = { model: 'two', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
  const answer = await send(rig.url, 'POST', '/anthropic/v1/messages', body, {
    authorization: '',
    'x-api-key': KEY,
  });
  t.equal(answer.status, 200);
  t.equal(lastSeen(rig).path, '/v1/messages');
  t.match(await rowOf(rig, answer), { call_type: 'anthropic_messages', model_group: 'two' });
  t.equal((await send(rig.url, 'POST', '/anthropic/v1/messages', body, { authorization: '' })).status, 401);
  const narrow = await newKey(rig, { allowed_routes: ['openai_routes'] });
  t.equal((await send(rig.url, 'POST', '/anthropic/v1/messages', body, as(narrow))).status, 403);
  t.equal((await send(rig.url, 'POST', '/anthropic/v1/chat/completions', body)).status, 404);
});

t.test('a call without what its endpoint works on costs nothing', async (t) => {
  const before = calls();
  for (const [path, param] of [
    ['chat/completions', 'messages'],
    ['embeddings', 'input'],
    ['completions', 'prompt'],
    ['responses', 'input'],
    ['messages', 'messages'],
  ] as const) {
    const answer = await send(rig.url, 'POST', `/v1/${path}`, { model: 'one' });
    t.equal(answer.status, 400, path);
    t.match(answer.text, `Missing required parameter: '${param}'.`, path);
  }
  t.equal(calls(), before);
});

t.test('metrics by the names of the dialect, where they are wanted', async (t) => {
  const key = await newKey(rig, { team_id: 'acme' });
  await chat(rig, 'two', {}, as(key));
  const { text } = await send(rig.url, 'GET', '/metrics');
  for (const line of [
    /^litellm_proxy_total_requests_metric_total\{requested_model="two",model="two",team="acme",status_code="200"\} \d/m,
    /^litellm_proxy_failed_requests_metric_total\{requested_model="fails",.*exception_status="500"\} \d/m,
    /^litellm_input_tokens_metric_total\{requested_model="two",model="two",team="acme"\} [1-9]/m,
    /^litellm_request_total_latency_metric_bucket\{.*model="two"/m,
    /^litellm_deployment_success_responses_total\{litellm_model_name="two",model_id="id-/m,
  ])
    t.match(text, line);
  await rig.reconfigure(config(rig.demo).replace('dialect_metrics: true', 'dialect_metrics: false'));
  const count = (of: string): string | undefined =>
    /^litellm_requests_metric_total\{.*"two".*team="acme"\} (\d+)/m.exec(of)?.[1];
  const before = count((await send(rig.url, 'GET', '/metrics')).text);
  await chat(rig, 'two', {}, as(key));
  t.equal(count((await send(rig.url, 'GET', '/metrics')).text), before, 'they stand still');
});

t.test('pages of other origins: those that are listed, never with credentials', async (t: Test) => {
  const page = { origin: 'https://console.example.com' };
  const none = await send(rig.url, 'GET', '/v1/models', undefined, page);
  t.notOk('access-control-allow-origin' in none.headers, 'off unless configured');
  await rig.reconfigure(
    `${config(rig.demo)}  # cors\n`.replace(
      'dialect_metrics: true',
      'cors: { allow_origins: ["https://console.example.com"] }',
    ),
  );
  const asked = {
    ...page,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, x-y',
    authorization: '',
  };
  const preflight = await send(rig.url, 'OPTIONS', '/v1/chat/completions', undefined, asked);
  t.match(preflight, {
    status: 204,
    headers: {
      'access-control-allow-origin': page.origin,
      'access-control-allow-headers': 'authorization, x-y',
      vary: /origin/,
    },
  });
  for (const origin of [
    'https://evil.example.com',
    'https://console.example.com.evil.com',
    'http://console.example.com',
    'null',
    'HTTPS://console.example.com/',
  ]) {
    const answer = await send(rig.url, 'OPTIONS', '/v1/chat/completions', undefined, { ...asked, origin });
    t.notOk('access-control-allow-origin' in answer.headers, origin);
  }
  await rig.reconfigure(config(rig.demo).replace('dialect_metrics: true', 'cors: { allow_origins: ["*"] }'));
  const any = await send(rig.url, 'GET', '/v1/models', undefined, page);
  t.equal(any.headers['access-control-allow-origin'], '*');
  t.notOk('access-control-allow-credentials' in any.headers);
});
