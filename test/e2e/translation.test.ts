// A caller of each API, behind it an upstream that speaks another one: what the caller reads, what goes upstream, and what is
// recorded. One proxy in front of the demo gateway; the first letter of a model says what its entry serves.
import t from 'tap';
import { exactObject } from '../../proxy/bodies/json.ts';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { APIS, API_NAMES, eventsIn, type ApiName } from '../support/apis.ts';
import { startManualUpstream } from '../support/manual-upstream.ts';
import { headerOf, KEY, lastSeen, rowOf, send, startRig, type Answer } from '../support/rig.ts';

type Json = Readonly<Record<string, unknown>>;

const SERVED: Readonly<Record<ApiName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models/{model}:generateContent',
};
const PATHS: Readonly<Record<ApiName, RegExp>> = {
  chat: /^\/v1\/chat\/completions$/,
  messages: /^\/v1\/messages$/,
  responses: /^\/v1\/responses$/,
  gemini: /^\/v1beta\/models\/demo[^/]*:(generateContent|streamGenerateContent\?alt=sse)$/,
};
const PRICES = 'input_cost_per_token: 3e-6, output_cost_per_token: 15e-6';

const onlyChat = await startDemoGateway({ serves: ['chat_completion'] });
t.teardown(() => onlyChat.close());
const upstream = await startManualUpstream(t);

const rig = await startRig(t, {
  demo: { slowMs: 1, eventIntervalMs: 1 },
  config: (demo) => `
model_list:
${API_NAMES.map(
  (name) => `
  - model_name: "${name}-*"
    litellm_params: { model: "litellm_proxy/*", api_base: "${demo.url}", api_key: sk-upstream-secret, ${PRICES} }
    model_info: { supported_endpoints: ["${SERVED[name]}"] }`,
).join('')}
  - model_name: strict
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", drop_params: false, supported_endpoints: [chat] }
  - model_name: "unstated-*"
    litellm_params: { model: "litellm_proxy/*", api_base: "${onlyChat.url}", ${PRICES} }
  - model_name: "compat-*"
    litellm_params: { model: "openai/acme/*", api_base: "${demo.url}/compat/v1", supported_endpoints: [chat] }
  - { model_name: mixed, litellm_params: { model: litellm_proxy/demo-503, api_base: "${demo.url}", order: 1, ${PRICES}, supported_endpoints: [messages] } }
  - { model_name: mixed, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2, ${PRICES}, supported_endpoints: [chat] } }
  - { model_name: back, litellm_params: { model: litellm_proxy/demo-503, api_base: "${demo.url}", order: 1, ${PRICES}, supported_endpoints: [chat] } }
  - { model_name: back, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2, ${PRICES}, supported_endpoints: [messages] } }
  - { model_name: manual, litellm_params: { model: litellm_proxy/a, api_base: "${upstream.url}", ${PRICES}, supported_endpoints: [chat] } }
  - { model_name: hedged, litellm_params: { model: litellm_proxy/demo-silent, api_base: "${demo.url}", order: 1, hedge_after: 0.001, ${PRICES}, supported_endpoints: [messages] } }
  - { model_name: hedged, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2, ${PRICES}, supported_endpoints: [chat] } }
  - { model_name: able, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 1, drop_params: false, supported_endpoints: [chat] } }
  - { model_name: able, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2, supported_endpoints: [responses] } }
  - { model_name: continued, litellm_params: { model: litellm_proxy/a, api_base: "${upstream.url}", order: 1, ${PRICES}, supported_endpoints: [chat] } }
  - { model_name: continued, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2, assistant_prefill: true, ${PRICES}, supported_endpoints: [messages] } }
  - { model_name: resumed, litellm_params: { model: litellm_proxy/demo-cut, api_base: "${demo.url}", order: 1, ${PRICES}, supported_endpoints: [messages] } }
  - { model_name: resumed, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2, assistant_prefill: true, ${PRICES}, supported_endpoints: [chat] } }
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true, idempotency: {} }
router_settings: { disable_cooldowns: true, model_group_alias: { my-sonnet: chat-demo } }
litellm_settings: { include_cost_in_streaming_usage: true }
`,
});

const ask = (
  name: ApiName,
  model: string,
  more: { stream?: boolean; tools?: boolean; more?: Json } = {},
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const question = { model, ...more };
  return send(rig.url, 'POST', APIS[name].path(question), APIS[name].body(question), headers);
};
const jsonOf = ({ text }: Answer): Json => JSON.parse(text) as Json;
/** What 1 token in and 1 token out cost, in pico-dollars. */
const costOf = (row: Json): number =>
  3e-6 * Number(row['prompt_tokens']) + 15e-6 * Number(row['completion_tokens']);
const PAIRS = API_NAMES.flatMap((from) => API_NAMES.filter((to) => to !== from).map((to) => ({ from, to })));

for (const { from, to } of PAIRS) {
  t.test(`${from} to an upstream of ${to}: a text, whole`, async (t) => {
    const native = APIS[from].whole(jsonOf(await ask(from, `${from}-demo`)));
    const answer = await ask(from, `${to}-demo`);
    t.equal(answer.status, 200, answer.text);
    t.match(lastSeen(rig).path, PATHS[to]);
    t.match(answer.headers, { 'content-type': 'application/json', 'x-litellm-translated': `${from}->${to}` });
    t.same(
      APIS[from].whole(jsonOf(answer)),
      native,
      'the same text, end and usage as an upstream of its own',
    );
    const row = await rowOf(rig, answer);
    t.match(row, { status: 'success', prompt_tokens: native.prompt, completion_tokens: native.completion });
    t.ok(Math.abs(Number(row['spend']) - costOf(row)) < 1e-12, 'to the pico-dollar');
    t.equal(answer.headers['x-litellm-response-cost'], String(row['spend']));
  });

  t.test(`${from} to an upstream of ${to}: a text, streamed`, async (t) => {
    const { error: _, ...native } = APIS[from].events(
      (await ask(from, `${from}-demo`, { stream: true })).text,
    );
    const answer = await ask(from, `${to}-demo`, { stream: true });
    t.equal(answer.status, 200, answer.text);
    t.match(lastSeen(rig).path, PATHS[to]);
    t.match(String(answer.headers['content-type']), 'text/event-stream');
    const said = APIS[from].events(answer.text);
    t.same(said, { ...native, error: null });
    const row = await rowOf(rig, answer);
    t.match(row, { status: 'success', end_reason: 'complete', prompt_tokens: native.prompt });
    t.ok(Math.abs(Number(row['spend']) - costOf(row)) < 1e-12);
    const stated = /"cost":([0-9.e-]+)/.exec(answer.text)?.[1];
    t.equal(Number(stated), Number(row['spend']), 'the cost stands in the usage of the stream');
  });

  t.test(`${from} to an upstream of ${to}: a tool call`, async (t) => {
    const call = { name: 'look', input: { place: 'demo' } };
    const whole = await ask(from, `${to}-demo-tools`, { tools: true });
    t.match(APIS[from].whole(jsonOf(whole)), { call }, whole.text);
    const stream = await ask(from, `${to}-demo-tools`, { tools: true, stream: true });
    t.match(APIS[from].events(stream.text), { call, error: null }, stream.text);
    const native = await ask(from, `${from}-demo-tools`, { tools: true });
    t.equal(APIS[from].whole(jsonOf(whole)).end, APIS[from].whole(jsonOf(native)).end);
  });

  t.test(`${from} to an upstream of ${to}: what fails is told in the shape of the caller`, async (t) => {
    const refused = await ask(from, `${to}-demo-429`);
    t.equal(refused.status, 429);
    t.equal(refused.headers['retry-after'], '7');
    t.match(APIS[from].error(jsonOf(refused)), 'Rate limit reached');
    const html = await ask(from, `${to}-demo-502-html`, { stream: true });
    t.equal(html.status, 502);
    t.ok(APIS[from].error(jsonOf(html)) !== '');
    const failed = await ask(from, `${to}-demo-error-event`, { stream: true });
    t.match(APIS[from].events(failed.text).error, 'failed in the middle');
    t.match(await rowOf(rig, failed), { status: 'failure', end_reason: 'upstream_error', http_status: 200 });
    for (const how of ['cut', 'cut-clean']) {
      const cut = await ask(from, `${to}-demo-${how}`, { stream: true });
      t.ok(APIS[from].events(cut.text).error !== null, `${how}: ${cut.text}`);
      t.equal(cut.broken, from !== 'responses', `${how}: after \`response.failed\` nothing is missing`);
      t.match(await rowOf(rig, cut), { status: 'failure', end_reason: 'truncated' }, how);
    }
  });
}

/** All names of models that an answer states. */
const modelsIn = (text: string): readonly (string | undefined)[] => [
  ...new Set([...text.matchAll(/"model(?:Version)?":"([^"]*)"/g)].map(([, name]) => name)),
];

t.test(
  "a translated answer states the model that its caller asked for, the row the upstream's",
  async (t) => {
    for (const { from, to } of PAIRS)
      for (const stream of [false, true]) {
        const answer = await ask(from, `${to}-demo`, { stream });
        t.same(modelsIn(answer.text), [`${to}-demo`], `${from} to ${to}, ${stream ? 'streamed' : 'whole'}`);
        t.match(await rowOf(rig, answer), { model: 'demo', model_group: `${to}-demo` });
      }
    const aliased = await ask('messages', 'my-sonnet', { stream: true });
    t.same(modelsIn(aliased.text), ['my-sonnet'], 'an alias');
  },
);

t.test('where the upstream speaks the protocol of the caller, bytes pass', async (t) => {
  for (const name of API_NAMES) {
    const answer = await ask(name, `${name}-demo-echo`, { more: { unheard_of: [1, { a: 2 }] } });
    const echo = JSON.parse(APIS[name].whole(jsonOf(answer)).text) as { body: string };
    t.match(JSON.parse(echo.body), { unheard_of: [1, { a: 2 }] }, name);
    t.equal(answer.headers['x-litellm-translated'], undefined, name);
  }
});

t.test('headers of a protocol go to nobody who speaks another one', async (t) => {
  const own = {
    'anthropic-beta': 'context-management-2025-06-27',
    'anthropic-version': '2023-06-01',
    'x-mine': '1',
  };
  await ask('messages', 'chat-demo', {}, own);
  const { rawHeaders } = lastSeen(rig);
  t.equal(headerOf(rawHeaders, 'anthropic-beta'), undefined);
  t.equal(headerOf(rawHeaders, 'anthropic-version'), undefined);
  t.equal(headerOf(rawHeaders, 'x-mine'), '1');
  t.equal(headerOf(rawHeaders, 'accept-encoding'), 'identity');
  await ask('chat', 'messages-demo', {}, { 'openai-beta': 'x' });
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'anthropic-version'), '2023-06-01');
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'openai-beta'), undefined);
});

t.test('what cannot be carried is named, or refused where the operator wants that', async (t) => {
  const more = { top_k: 3, context_management: { edits: [] } };
  const dropped = await ask('messages', 'responses-demo', { more });
  t.equal(dropped.status, 200, dropped.text);
  t.match(String(dropped.headers['x-litellm-dropped-params']), 'top_k');
  const refused = await ask('responses', 'strict', { more: { previous_response_id: 'resp_1' } });
  t.ok([400, 404].includes(refused.status), refused.text);
});

t.test(
  'members that steer a gateway or say whose call it is are not smuggled through a translation',
  async (t) => {
    const steers = await ask('messages', 'chat-demo', { more: { fallbacks: ['other'] } });
    t.equal(steers.status, 400);
    t.match(jsonOf(steers), { type: 'error', error: { code: 'parameter_not_allowed' } });
    await ask('messages', 'compat-demo', { more: { metadata: { user_id: 'alice' } } });
    const sent = JSON.parse(lastSeen(rig).body.toString()) as Json;
    t.equal(sent['user'], undefined, 'recorded, not forwarded');
    t.equal(sent['metadata'], undefined);
  },
);

t.test(
  'an upstream that answers that there is no such endpoint is asked in another protocol, and remembered',
  async (t) => {
    const count = (): number => onlyChat.seen.length;
    const before = count();
    const first = await ask('messages', 'unstated-demo');
    t.match(APIS.messages.whole(jsonOf(first)).text, 'Hello from demo');
    t.equal(count() - before, 2, 'asked once in its own protocol');
    t.match(await rowOf(rig, first), { status: 'success', attempts: 2 });
    const second = await ask('messages', 'unstated-demo', { stream: true });
    t.match(APIS.messages.events(second.text).text, 'Hello from demo');
    t.equal(count() - before, 3, 'and not again');
    // A model that nobody knows is no missing endpoint.
    const unknown = await ask('responses', 'unstated-demo-404');
    t.equal(unknown.status, 404);
    t.match(APIS.responses.error(jsonOf(unknown)), 'does not exist');
    const seen = count();
    const gemini = await ask('gemini', 'unstated-demo');
    t.match(APIS.gemini.whole(jsonOf(gemini)).text, 'Hello from demo');
    t.equal(count() - seen, 2);
  },
);

t.test('a call fails over from one protocol to another and back', async (t) => {
  for (const stream of [false, true]) {
    const to = await ask('messages', 'mixed', { stream });
    t.match(to.headers, { 'x-litellm-translated': 'messages->chat', 'x-litellm-attempted-retries': '1' });
    t.match(to.text, /Hello/);
    const from = await ask('messages', 'back', { stream });
    t.equal(from.headers['x-litellm-translated'], undefined);
    t.match(from.headers, { 'x-litellm-attempted-retries': '1' });
    t.match(from.text, /Hello/);
  }
});

t.test('a hedge may be answered in another protocol than the first attempt', async (t) => {
  const answer = await ask('messages', 'hedged', { stream: true });
  t.match(answer.headers, { 'x-litellm-translated': 'messages->chat' });
  t.match(APIS.messages.events(answer.text).text, 'Hello from demo');
});

t.test('a stream that breaks goes on in another protocol', async (t) => {
  const open = openCall(
    rig.url,
    '/v1/chat/completions',
    APIS.chat.body({ model: 'continued', stream: true }),
  );
  const call = await upstream.next('a');
  call.say({ role: 'assistant', content: 'Once ' });
  await open.received('Once');
  call.cut();
  const stream = await open.received('[DONE]');
  t.match(APIS.chat.events(stream), { text: /^Once Hello from demo/, end: 'stop', error: null });
  const sent = JSON.parse(lastSeen(rig).body.toString()) as { messages: Json[] };
  t.match(sent.messages.at(-1), { role: 'assistant' }, 'the upstream of messages goes on with the text');
  const back = await ask('chat', 'resumed', { stream: true });
  t.match(APIS.chat.events(back.text), { text: /^Hello from .*Hello from demo: /, end: 'stop', error: null });
  t.match(await rowOf(rig, back), { status: 'success', attempts: 2 });
});

t.test('a tier that the upstream was not told of is not what the call is charged by', async (t) => {
  const answer = await ask('responses', 'chat-demo', { more: { service_tier: 'flex' } });
  t.equal(answer.headers['x-litellm-dropped-params'], 'service_tier');
  t.equal((await rowOf(rig, answer))['service_tier'], null);
  const passed = await ask('responses', 'responses-demo', { more: { service_tier: 'flex' } });
  t.equal((await rowOf(rig, passed))['service_tier'], 'flex');
});

t.test('cached tokens and thoughts are counted and paid as the upstream states them', async (t) => {
  for (const { from, to } of PAIRS) {
    const native = await rowOf(rig, await ask(to, `${to}-demo-cached`));
    for (const stream of [false, true]) {
      const answer = await ask(from, `${to}-demo-cached`, { stream });
      const row = await rowOf(rig, answer);
      const members = ['prompt_tokens', 'completion_tokens', 'total_tokens', 'spend'];
      for (const member of members) t.equal(row[member], native[member], `${from} to ${to}: ${member}`);
      const said = stream ? APIS[from].events(answer.text) : APIS[from].whole(jsonOf(answer));
      t.equal(said.prompt, native['prompt_tokens'], `${from} to ${to}`);
      t.equal(said.completion, native['completion_tokens'], `${from} to ${to}`);
    }
  }
});

t.test(
  'limits and budgets hold through a translation, and are told in the shape of the caller',
  async (t) => {
    const keyOf = async (limits: Json): Promise<string> =>
      String(jsonOf(await send(rig.url, 'POST', '/key/generate', limits))['key']);
    for (const name of API_NAMES) {
      const to = name === 'chat' ? 'messages' : 'chat';
      const limited = { authorization: `Bearer ${await keyOf({ rpm_limit: 1 })}` };
      t.equal((await ask(name, `${to}-demo`, {}, limited)).status, 200, name);
      const second = await ask(name, `${to}-demo`, {}, limited);
      t.equal(second.status, 429, name);
      t.ok(APIS[name].error(jsonOf(second)) !== '', name);
      const poor = { authorization: `Bearer ${await keyOf({ max_budget: 1e-9 })}` };
      const refused = await ask(name, `${to}-demo`, {}, poor);
      t.equal(refused.status, 422, refused.text);
      t.ok(APIS[name].error(jsonOf(refused)) !== '', name);
    }
  },
);

t.test('bad input is told in the shape of its protocol', async (t) => {
  for (const name of API_NAMES) {
    const path = APIS[name].path({ model: 'chat-demo' });
    const bodies = [Buffer.from('{'), { ...APIS[name].body({ model: 'nobody' }), model: 'nobody' }];
    for (const body of bodies) {
      const answer = await send(
        rig.url,
        'POST',
        name === 'gemini' ? path.replace('chat-demo', 'nobody') : path,
        body,
      );
      t.ok(answer.status >= 400 && APIS[name].error(jsonOf(answer)) !== '', `${name}: ${answer.text}`);
    }
    const keyless = await send(rig.url, 'POST', path, {}, { authorization: 'Bearer sk-nobody' });
    t.equal(keyless.status, 401);
    t.ok(APIS[name].error(jsonOf(keyless)) !== '', `${name}: ${keyless.text}`);
  }
  const key = { authorization: '', 'x-goog-api-key': KEY };
  const google = await send(
    rig.url,
    'POST',
    '/v1beta/models/gemini-demo:generateContent',
    APIS.gemini.body({ model: '' }),
    key,
  );
  t.equal(google.status, 200);
  const inQuery = await send(rig.url, 'POST', `/v1beta/models/gemini-demo:generateContent?key=${KEY}`, {});
  t.match(inQuery.text, 'credentials_in_query');
});

t.test('models are listed as the clients of each API read them', async (t) => {
  const list = async (path: string, headers: Record<string, string> = {}): Promise<Json> =>
    jsonOf(await send(rig.url, 'GET', path, undefined, headers));
  const anthropic = await list('/v1/models?limit=1000', { 'anthropic-version': '2023-06-01' });
  t.match(anthropic, { data: [{ type: 'model', id: 'chat-*', display_name: 'chat-*' }], has_more: false });
  t.match(await list('/v1/models?client_version=0.169.0'), {
    object: 'list',
    data: [{ id: 'chat-*' }],
    models: [],
  });
  t.equal((await list('/v1/models'))['models'], undefined);
  t.match(await list('/v1beta/models'), { models: [{ name: 'models/chat-*' }] });
  t.match(await list('/v1beta/models/mixed'), {
    name: 'models/mixed',
    supportedGenerationMethods: ['generateContent'],
  });
});

t.test('the same Idempotency-Key gets the translated answer again', async (t) => {
  const headers = { 'idempotency-key': 'translated-1' };
  const first = await ask('messages', 'chat-demo', {}, headers);
  const again = await ask('messages', 'chat-demo', {}, headers);
  t.equal(again.headers['idempotent-replayed'], 'true');
  t.equal(again.text, first.text);
  t.match(await rowOf(rig, again), { end_reason: 'replayed', spend: 0 });
  const left = openCall(rig.url, '/v1/messages', APIS.messages.body({ model: 'chat-demo-hold' }), {
    'idempotency-key': 'translated-2',
  });
  while (!lastSeen(rig).body.includes('demo-hold')) await rig.demo.waitFor(rig.demo.seen.length + 1);
  left.leave();
  rig.demo.release();
  const kept = await ask('messages', 'chat-demo-hold', {}, { 'idempotency-key': 'translated-2' });
  t.match(
    APIS.messages.whole(jsonOf(kept)).text,
    'Hello from demo-hold',
    'read on for the call that comes back',
  );
});

t.test(
  'a conversation that was translated goes back to its own protocol without the signatures of others',
  async (t) => {
    const thought = { type: 'thinking', thinking: 'hm', signature: 'throughline.gemini.abc' };
    const turns = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'two' }] },
      { role: 'user', content: 'three' },
    ];
    t.equal((await ask('messages', 'messages-demo', { more: { messages: turns } })).status, 200);
    const sent = JSON.parse(lastSeen(rig).body.toString()) as { model: string; messages: Json[] };
    t.equal(sent.model, 'demo');
    t.same(sent.messages[1], { role: 'assistant', content: [{ type: 'text', text: 'two' }] });
  },
);

t.test('a deployment that cannot be told all of a call does not get it while another one can', async (t) => {
  const more = { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] };
  const answer = await ask('responses', 'able', { more });
  t.equal(answer.status, 200, answer.text);
  t.match(lastSeen(rig).path, /responses$/);
  t.equal((await ask('responses', 'able', {})).headers['x-litellm-translated'], 'responses->chat');
  const none = await ask('responses', 'strict', { more });
  t.match(none, { status: 400, text: /untranslatable_member/ });
});

t.test(
  'a client that leaves aborts the upstream; one that has its last event has got everything',
  async (t) => {
    const body = APIS.messages.body({ model: 'manual', stream: true });
    const left = openCall(rig.url, '/v1/messages', body);
    const call = await upstream.next('a');
    call.say({ role: 'assistant', content: 'one ' });
    await left.received('one');
    left.leave();
    await call.closed;
    t.match(await rig.logged((line) => line['model'] === 'manual' && line['end'] !== undefined), {
      end: 'client_gone',
      protocol: 'chat',
    });
    const whole = openCall(rig.url, '/v1/messages', body);
    const next = await upstream.next('a');
    next.say({ role: 'assistant', content: 'one ' });
    next.finish();
    await whole.received('"message_stop"');
    whole.leave();
    t.match(await rig.logged((line) => line['model'] === 'manual' && line['end'] !== 'client_gone'), {
      end: 'complete',
      tokens: 12,
    });
  },
);

t.test('a stream of Gemini that is asked for without alt=sse is one JSON array', async (t) => {
  for (const name of ['gemini', 'chat']) {
    const path = `/v1beta/models/${name}-demo:streamGenerateContent`;
    const answer = await send(rig.url, 'POST', path, APIS.gemini.body({ model: '' }));
    t.equal(answer.headers['content-type'], 'application/json');
    const frames = JSON.parse(answer.text) as Json[];
    t.ok(frames.length > 2, name);
    const texts = frames.map((frame) => APIS.gemini.whole(frame).text);
    t.match(texts.join(''), 'Hello from demo');
    t.match(await rowOf(rig, answer), { status: 'success', end_reason: 'complete' });
    t.match(lastSeen(rig).path, name === 'gemini' ? /alt=sse$/ : /completions$/);
  }
});

t.test('an upstream that compresses all the same is read, or the client is told', async (t) => {
  const whole = await ask('messages', 'chat-demo-gzip');
  t.match(APIS.messages.whole(jsonOf(whole)).text, 'Hello from demo');
  const stream = await ask('messages', 'chat-demo-gzip', { stream: true });
  t.equal(stream.status, 503);
  t.match(APIS.messages.error(jsonOf(stream)), 'compressed');
  t.match(
    await rowOf(rig, stream),
    { status: 'failure', http_status: 503 },
    'the row has what the client got',
  );
});

t.test('long numbers in calls of tools go both ways as they were written', async (t) => {
  const input = '{"id":1234567890123456789,"ratio":0.12345678901234567890}';
  const history = `[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"y"}]}]`;
  const body = exactObject(`{"model":"manual","max_tokens":9,"messages":${history}}`);
  const answer = send(rig.url, 'POST', '/v1/messages', body);
  const pending = await upstream.next('a');
  const [, said] = pending.body['messages'] as { tool_calls: { function: { arguments: string } }[] }[];
  t.equal(said?.tool_calls[0]?.function.arguments, input);
  const tool = { id: 'b', type: 'function', function: { name: 'f', arguments: input } };
  pending.json(200, { choices: [{ message: { tool_calls: [tool] }, finish_reason: 'tool_calls' }] });
  t.match((await answer).text, `"input":${input}`);
});

t.test('whatever pieces events come in, they are translated one by one', async (t) => {
  for (const how of ['bytewise', 'crlf', 'pings', 'big-event', 'no-done', 'interval']) {
    const answer = await ask('messages', `chat-demo-${how}`, { stream: true });
    const said = APIS.messages.events(answer.text);
    t.match(said, { end: 'end_turn', error: null }, how);
    t.match(said.text, 'Hello from demo', how);
    t.same(eventsIn(answer.text).filter(({ name }) => name === 'message_stop').length, 1, how);
  }
});

t.test('tokens are counted by the gateway that can, and here where it cannot', async (t) => {
  const calls = [
    ['messages', '/v1/messages/count_tokens', 'input_tokens'],
    ['responses', '/v1/responses/input_tokens', 'input_tokens'],
    ['gemini', '', 'totalTokens'],
  ] as const;
  for (const [name, path, member] of calls) {
    for (const [model, isOurs] of [
      [`${name}-demo`, false],
      ['chat-demo', true],
      ['unstated-demo', true],
    ] as const) {
      const target = path === '' ? `/v1beta/models/${model}:countTokens` : path;
      const answer = await send(rig.url, 'POST', target, APIS[name].body({ model }));
      t.equal(answer.status, 200, answer.text);
      t.ok(Number(jsonOf(answer)[member]) >= 3, answer.text);
      t.equal(answer.headers['x-litellm-counted-by'], isOurs ? 'o200k_base' : undefined, `${name} ${model}`);
      t.match(await rowOf(rig, answer), { status: 'success', spend: 0 });
    }
  }
});

t.test('a conversation is compacted by a gateway of responses, and by no other', async (t) => {
  const compact = (model: string): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/responses/compact', APIS.responses.body({ model }));
  const answer = await compact('responses-demo');
  t.match([answer.status, jsonOf(answer)], [200, { object: 'response.compaction' }], answer.text);
  t.equal(lastSeen(rig).path, '/v1/responses/compact');
  const row = await rowOf(rig, answer);
  t.match(row, { status: 'success', call_type: 'acompact_responses', prompt_tokens: 6 });
  t.ok(Math.abs(Number(row['spend']) - costOf(row)) < 1e-12);
  const refused = await compact('chat-demo');
  t.match([refused.status, jsonOf(refused)], [400, { error: { code: 'endpoint_not_translated' } }]);
  t.match(await rowOf(rig, refused), { status: 'failure', end_reason: 'refused', spend: 0 });
});

t.test('calls are counted by their pair of protocols', async (t) => {
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /^throughline_translated_calls_total\{[^}]*from="messages",to="chat"[^}]*\} \d+$/m);
});
