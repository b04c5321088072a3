// No member of a request's body steers the gateway behind the proxy, however it is spelled and wherever it stands, unless
// the operator has allowed it. Nothing that the APIs define, and nothing that nobody knows, is refused.
import t, { type Test } from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, lastSeen, send, startRig, type Answer } from '../support/rig.ts';

const entry = (name: string, { url }: DemoGateway, more = ''): string =>
  `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/demo, api_base: "${url}"${more} } }\n`;

const rig = await startRig(t, {
  config: (demo) => `
model_list:
${entry('litellm', demo)}${entry('portkey', demo, ', gateway: portkey')}${entry('bifrost', demo, ', gateway: bifrost')}
${entry('plain', demo, ', gateway: plain')}${entry('none', demo, ', gateway: none')}
${entry('allowing', demo, ', allowed_client_parameters: [cache, Metadata.guardrails, extra_body]')}
${entry('falls-back', demo, ', gateway: bifrost')}${entry('window', demo, ', gateway: bifrost')}
  - { model_name: pair, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", allowed_client_parameters: [cache] }, model_info: { id: pair-allows } }
  - { model_name: pair, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }, model_info: { id: pair-refuses } }
  - { model_name: compat, litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1" } }
router_settings:
  fallbacks: [{ falls-back: [litellm] }]
  context_window_fallbacks: [{ window: [litellm] }]
general_settings:
  master_key: ${KEY}
  allowed_client_parameters: [mock_timeout]
`,
});

/** Sends the text as it stands. */
const post = (body: string, path = 'chat/completions'): Promise<Answer> =>
  send(rig.url, 'POST', `/v1/${path}`, Buffer.from(body), { 'content-type': 'application/json' });

/** Refused by name, and nothing was sent upstream. */
async function refused(t: Test, body: string, param: string, path?: string): Promise<void> {
  const before = rig.demo.seen.length;
  const answer = await post(body, path);
  t.equal(answer.status, 400, `${body.slice(0, 150)}: ${answer.text.slice(0, 200)}`);
  const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> };
  t.match(error, { code: 'parameter_not_allowed', type: 'invalid_request_error', param });
  t.match(error['message'], /allowed_client_parameters/);
  t.equal(rig.demo.seen.length, before, 'nothing was sent');
}

const body = (model: string, more: string): string => `{"model":"${model}","messages":[],${more}}`;

t.test('each gateway’s own parameters are refused by name', async (t) => {
  const names: Readonly<Record<string, readonly string[]>> = {
    litellm: [
      ...['api_base', 'api_key', 'base_url', 'custom_llm_provider', 'user_config', 'model_list', 'fallbacks'],
      ...[
        'mock_response',
        'mock_testing_fallbacks',
        'mock_tool_calls',
        'mock_anything_new',
        'extra_headers',
        'headers',
      ],
      ...['num_retries', 'timeout', 'cache', 'caching', 'no-log', 'guardrails', 'disable_global_guardrails'],
      ...['callbacks', 'success_callback', 'input_cost_per_token', 'aws_role_name', 'vertex_credentials'],
      ...[
        'litellm_call_id',
        'litellm_logging_obj',
        'litellm_not_yet_invented',
        'langfuse_host',
        'deployment_id',
      ],
      ...[
        'prompt_id',
        'proxy_server_request',
        'secret_fields',
        '_target_order',
        'user_api_key_team_id',
        'organization',
      ],
      ...[
        'provider',
        'models',
        'route',
        'transforms',
        'plugins',
        'xai_api_key',
        'some_api_base',
        'tensorzero::credentials',
      ],
    ],
    portkey: [
      'config',
      'virtual_key',
      'override_params',
      'custom_host',
      'cache',
      'api_key',
      'mock_response',
      'models',
    ],
    bifrost: [
      'fallbacks',
      'Fallbacks',
      'FALLBACKS',
      'fallbac\u212As',
      'fallback\u017F',
      'api_key',
      'provider',
    ],
    plain: [
      'fallbacks',
      'mock_response',
      'extra_headers',
      'api_base',
      'litellm_call_id',
      'models',
      'timeout',
      'headers',
    ],
    none: ['fallbacks', 'api_key'],
  };
  for (const [model, list] of Object.entries(names)) {
    for (const name of list) {
      const param = name.normalize('NFKC').toLowerCase().replaceAll('-', '_');
      await refused(t, body(model, `"${name}":null`), param);
    }
  }
});

t.test('so they are however they are spelled, and wherever they stand', async (t) => {
  const cases: readonly (readonly [more: string, param: string])[] = [
    ['"fallb\\u0061cks":[]', 'fallbacks'],
    ['"MOCK_RESPONSE":"x"', 'mock_response'],
    ['"mock-response":"x"', 'mock_response'],
    ['"ｍock_response":"x"', 'mock_response'],
    ['"extra_body":{"model":"expensive"}', 'extra_body.model'],
    ['"extra_body":{"previous_response_id":"resp_x"}', 'extra_body.previous_response_id'],
    ['"extra_body":"{\\"previous_response_id\\":\\"resp_x\\"}"', 'extra_body.previous_response_id'],
    ['"extra_body":{"safety_identifier":"x"}', 'extra_body.safety_identifier'],
    ['"extra_body":{"x":{"a":1},"m\\u006fdel":"expensive"}', 'extra_body.model'],
    ['"extra_body":{"api_key":"x","api_key":"y"}', 'extra_body.api_key'],
    ['"extra_body":{"extra_body":{"fallbacks":[]}}', 'extra_body.extra_body.fallbacks'],
    ['"Extra_Body":{"model":"x"}', 'extra_body.model'],
    ['"extra_body":"{\\"model\\":\\"x\\"}"', 'extra_body.model'],
    ['"extra_body":" {\\"model\\":\\"x\\", \\"n\\": NaN}"', 'extra_body.model'],
    [`${'"extra_body":{'.repeat(7)}"x":1${'}'.repeat(7)}`, `${'extra_body.'.repeat(4)}extra_body`],
    ['"extra_headers":{"authorization":"Bearer x"}', 'extra_headers'],
    ['"metadata":{"guardrails":[]}', 'metadata.guardrails'],
    ['"metadata":{"tags":["a"],"disable_global_guardrails":true}', 'metadata.disable_global_guardrails'],
    ['"metadata":{"Langfuse_Host":"http://evil"}', 'metadata.langfuse_host'],
    ['"metadata":"{\\"langfuse_host\\":\\"http://evil\\"}"', 'metadata.langfuse_host'],
    ['"litellm_metadata":{"user_api_key_team_id":"x"}', 'litellm_metadata.user_api_key_team_id'],
    ['"extra_body":{"metadata":{"callbacks":[]}}', 'extra_body.metadata.callbacks'],
    ['"providerOptions":{"openai":{},"gateway":{"order":["x"]}}', 'provideroptions.gateway'],
    ['"optional_params":{"api_base":"x"}', 'optional_params'],
    ['"litellm_params":{"api_base":"x"}', 'litellm_params'],
    ['"fallbacks[]":"x"', 'fallbacks'],
    ['"metadata[guardrails]":"x"', 'metadata.guardrails'],
  ];
  for (const [more, param] of cases) await refused(t, body('litellm', more), param);
  const twice = await post(body('litellm', '"fall\\u0062acks":[],"fallbacks":[]'));
  t.match(JSON.parse(twice.text), { error: { code: 'duplicate_member', param: 'fallbacks' } });
  for (const path of ['embeddings', 'responses', 'messages', 'completions', 'rerank', 'images/generations'])
    await refused(t, body('litellm', '"fallbacks":[]'), 'fallbacks', path);
});

t.test('so they are in forms', async (t) => {
  const form = async (fields: Readonly<Record<string, string>>): Promise<Answer> => {
    const data = new FormData();
    data.set('model', 'litellm');
    data.set('file', new Blob(['sound']), 'a.wav');
    for (const [name, value] of Object.entries(fields)) data.set(name, value);
    const encoded = new Response(data);
    const type = encoded.headers.get('content-type') ?? '';
    const bytes = Buffer.from(await encoded.arrayBuffer());
    return send(rig.url, 'POST', '/v1/audio/transcriptions', bytes, { 'content-type': type });
  };
  const fields: readonly (readonly [name: string, value: string, param: string])[] = [
    ['api_base', 'http://evil', 'api_base'],
    ['mock_response', 'x', 'mock_response'],
    ['fallbacks[]', 'x', 'fallbacks'],
    ['extra_body[model]', 'x', 'extra_body.model'],
    ['extra_body', '{"model":"x"}', 'extra_body.model'],
    ['extra_body[previous_response_id]', 'resp_x', 'extra_body.previous_response_id'],
    ['metadata', ' {"langfuse_host":"x"}', 'metadata.langfuse_host'],
    ['litellm_metadata', '{"guardrails":[],"n":NaN}', 'litellm_metadata.guardrails'],
  ];
  for (const [name, value, param] of fields) {
    const before = rig.demo.seen.length;
    const answer = await form({ [name]: value });
    t.match(JSON.parse(answer.text), { error: { code: 'parameter_not_allowed', param } }, name);
    t.equal(rig.demo.seen.length, before, 'nothing was sent');
  }
  for (const name of ['model[]', 'model[0]', 'Model[x]', '[model]', 'user[]', 'previous_response_id[]']) {
    const before = rig.demo.seen.length;
    const answer = await form({ [name]: 'expensive' });
    t.match(JSON.parse(answer.text), { error: { code: 'duplicate_member', param: name } }, name);
    t.equal(rig.demo.seen.length, before, 'nothing was sent');
  }
  const fine = await form({
    language: 'de',
    metadata: '{"tags":["a"]}',
    'metadata[session_id]': 's-1',
    'tags[]': 'b',
    'timestamp_granularities[]': 'word',
  });
  t.not(fine.status, 400, fine.text);
});

t.test('every deployment that a call may fall back to counts', async (t) => {
  await refused(t, body('falls-back', '"mock_testing_fallbacks":true'), 'mock_testing_fallbacks');
  await refused(t, body('falls-back', '"num_retries":1'), 'num_retries');
  await refused(t, body('window', '"num_retries":1'), 'num_retries');
  t.equal(
    (await chat(rig, 'bifrost', { num_retries: 1 })).status,
    200,
    'LiteLLM’s name alone, and none behind',
  );
});

t.test('of a call to one deployment by its id, that one alone counts', async (t) => {
  await refused(t, body('pair', '"cache":{}'), 'cache');
  await refused(t, body('pair-refuses', '"cache":{}'), 'cache');
  t.equal((await chat(rig, 'pair-allows', { cache: {} })).status, 200);
  t.match(JSON.parse(lastSeen(rig).body.toString()), { cache: {} });
});

t.test('what is removed for a compat-type upstream need not be refused', async (t) => {
  const control = { metadata: { guardrails: [] }, num_retries: 1, fallbacks: [], litellm_call_id: 'x' };
  t.equal((await chat(rig, 'compat', control)).status, 200);
  const sent = JSON.parse(lastSeen(rig).body.toString()) as object;
  t.same(Object.keys(sent), ['model', 'messages']);
  await refused(t, body('compat', '"Fallbacks":[]'), 'fallbacks');
  await refused(t, body('compat', '"extra_body":{"model":"x"}'), 'extra_body.model');
});

t.test('the operator allows members by name or by path, for all entries or for one', async (t) => {
  const allowed = {
    cache: { 'no-cache': true },
    mock_timeout: 1,
    metadata: { guardrails: ['g'] },
    extra_body: { model: 'x' },
  };
  t.equal((await chat(rig, 'allowing', allowed)).status, 200);
  t.match(JSON.parse(lastSeen(rig).body.toString()), allowed, 'they are passed on as they are');
  await refused(t, body('allowing', '"metadata":{"callbacks":[]}'), 'metadata.callbacks');
  await refused(t, body('litellm', '"mock_timeout":1,"cache":{}'), 'cache');
});

t.test('what the APIs define, what says whose call it is, and what nobody knows passes', async (t) => {
  const plain = {
    temperature: 1,
    n: 1,
    tools: [{ type: 'function', function: { name: 'api_base', parameters: { fallbacks: {} } } }],
    messages: [{ role: 'user', content: 'mock_response', api_key: 'x' }],
    metadata: {
      tags: ['a'],
      session_id: 's',
      user_id: 'u',
      trace_id: 't',
      spend_logs_metadata: { fallbacks: 1 },
      own: 1,
    },
    litellm_session_id: 's',
    litellm_trace_id: 't',
    tags: ['a'],
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'x', schema: { properties: { api_base: {} } } },
    },
    prompt_cache_key: 'k',
    safety_identifier: 'i',
    service_tier: 'auto',
    store: false,
    reasoning_effort: 'low',
    web_search_options: {},
    thinking: { type: 'enabled' },
    extra_body: { top_k: 5, chat_template_kwargs: { model: 'x' } },
    providerOptions: { openai: { reasoningEffort: 'low' } },
    drop_params: true,
    a_parameter_of_next_year: { fallbacks: [] },
  };
  for (const model of ['litellm', 'portkey', 'bifrost', 'plain', 'none', 'falls-back']) {
    const answer = await chat(rig, model, plain);
    t.equal(answer.status, 200, `${model}: ${answer.text.slice(0, 200)}`);
    t.same(JSON.parse(lastSeen(rig).body.toString()), { model: 'demo', ...plain });
  }
});
