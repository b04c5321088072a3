// A stream that cannot be translated: what the client gets, what is recorded, and who takes over. The model of the call says what
// the upstream sends.
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { APIS, type ApiName } from '../support/apis.ts';
import { startUpstream } from '../support/call.ts';
import { KEY, rowOf, send, startRig, type Answer } from '../support/rig.ts';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish: string | null = null): string =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
const ROLE = chunk({ role: 'assistant', content: '' });
const TEXT = chunk({ content: 'Once ' });
const DONE = 'data: [DONE]\n\n';
const USAGE = data({
  id: 'c',
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
});
const NAMELESS = chunk({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{"x":1}' } }] });
const HALF_CALL = chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"a"' } }] });
const END = chunk({}, 'stop') + USAGE;
const LARGE = data({ choices: [{ index: 0, delta: { content: 'x'.repeat(17_000_000) } }] });

const named = (type: string, more: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
/** Of messages. */
const BEGUN = [
  named('message_start', { message: { id: 'm', usage: { input_tokens: 9 } } }),
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Twice ' } }),
].join('');

const FRAME = data({ candidates: [{ content: { parts: [{ text: 'Once ' }] } }] });

const STREAMS: Readonly<Record<string, string>> = {
  whole: ROLE + TEXT + END + DONE,
  garbage: ROLE + TEXT + 'data: not json\n\n' + END + DONE,
  'garbage-first': ROLE + 'data: not json\n\n' + END + DONE,
  nameless: ROLE + TEXT + NAMELESS + chunk({}, 'tool_calls') + USAGE + DONE,
  'nameless-open': ROLE + TEXT + NAMELESS + chunk({}, 'tool_calls') + USAGE,
  'nameless-first': ROLE + NAMELESS + chunk({}, 'tool_calls') + USAGE + DONE,
  'nameless-first-open': ROLE + NAMELESS + chunk({}, 'tool_calls') + USAGE,
  'garbage-in-messages': BEGUN + 'data: not json\n\n',
  'gemini-done': FRAME + data({ candidates: [{ finishReason: 'STOP' }] }) + DONE,
  'gemini-garbage': FRAME + 'data: not json\n\n',
  'padded-done': ROLE + TEXT + 'data: [DONE] \n\n',
  'broken-call': ROLE + TEXT + HALF_CALL + chunk({}, 'tool_calls') + USAGE + DONE,
  'broken-call-done': ROLE + TEXT + HALF_CALL + DONE,
  'cut-call': ROLE + TEXT + HALF_CALL + chunk({}, 'length') + USAGE + DONE,
  'error-event': ROLE + TEXT + data({ error: { message: 'Alas.', code: 500 } }),
  large: ROLE + TEXT + LARGE + END + DONE,
};

/** Whole, although a stream was asked for. */
const DOCUMENT = JSON.stringify({
  id: 'c',
  choices: [{ message: { role: 'assistant', content: 'Once ' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
});

/** Of a call of Gemini. */
const modelIn = (path: string): string => /models\/([\w-]+):/.exec(path)?.[1] ?? '';

const url = await startUpstream(t, ({ req, res, body }) => {
  if (req.method === 'GET') return void res.end('{"object":"list","data":[]}'); // a health check
  const { model = modelIn(req.url ?? '') } = JSON.parse(body.toString()) as { model?: string };
  const isGzip = model === 'gzip';
  if (model === 'refused') {
    res.writeHead(429, { 'content-type': 'text/event-stream', 'retry-after': '7' });
    return void res.end(data({ error: { message: 'Slow down.', type: 'rate_limit_error' } }));
  }
  if (model.startsWith('document')) {
    res.writeHead(200, { 'content-type': 'application/json' });
    return void res.end(model === 'document' ? DOCUMENT : '{"choices":[],"error":{"message":"Alas."}}');
  }
  const stream = STREAMS[isGzip ? 'whole' : model] ?? '';
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
  });
  res.end(isGzip ? gzipSync(stream) : stream);
});

const entry = (name: string, model: string, more: string, speaks = 'chat'): string => `
  - model_name: "${name}"
    litellm_params: { model: "litellm_proxy/${model}", api_base: "${url}", input_cost_per_token: 3e-6, output_cost_per_token: 15e-6, supported_endpoints: [${speaks}], ${more} }`;
const REPLACED = ['garbage-first', 'nameless-first', 'nameless-first-open', 'gzip'];

const rig = await startRig(t, {
  config: () => `
model_list:${entry('*', '*', 'order: 1')}
${REPLACED.map((name) => entry(`${name}-or`, name, 'order: 1') + entry(`${name}-or`, 'whole', 'order: 2')).join('')}
${entry('gemini-*', 'gemini-*', 'order: 1', 'gemini')}
${entry('hedged', 'nameless-first', 'order: 1, hedge_after: 0.001')}${entry('hedged', 'whole', 'order: 2')}
${entry('continued', 'garbage-in-messages', 'order: 1', 'messages')}${entry('continued', 'whole', 'order: 2, assistant_prefill: true')}
general_settings: { master_key: ${KEY} }
litellm_settings: { include_cost_in_streaming_usage: true }
router_settings: { disable_cooldowns: true, retry_budget: 10 }
`,
});

/** Why a failed stream of responses is not cut: its SDKs would throw away what the event says. */
const LAST = 'only `response.failed` is a terminal event';

const CALLERS = ['messages', 'responses', 'gemini'] as const;
const ask = (name: ApiName, model: string, stream = true): Promise<Answer> => {
  const question = { model, stream };
  return send(rig.url, 'POST', APIS[name].path(question), APIS[name].body(question));
};

async function recordedAs(t: Test, answer: Answer, expected: object, about: string): Promise<void> {
  const { end_reason, status, error_source, http_status, metadata } = await rowOf(rig, answer);
  const { error_information } = metadata as { error_information: { error_class: string } | null };
  const error_code = error_information?.error_class ?? null;
  t.match({ end_reason, status, error_code, error_source, http_status }, expected, about);
  const id = answer.headers['x-litellm-call-id'];
  const line = await rig.logged((one) => one['call_id'] === id && one['end'] !== undefined);
  t.match(line, { end: end_reason }, about);
}

/** The row of a stream that began and cannot be translated to its end. */
const UNREADABLE = {
  status: 'failure',
  end_reason: 'upstream_error',
  error_code: 'bad_upstream_answer',
  error_source: 'upstream',
  http_status: 200,
};

t.test('a stream that cannot be translated to its end is a failure of its upstream', async (t) => {
  for (const name of CALLERS)
    for (const model of ['garbage', 'nameless', 'nameless-open']) {
      const about = `${name}: ${model}`;
      const answer = await ask(name, model);
      const said = APIS[name].events(answer.text);
      t.match(said, { text: 'Once ', error: /cannot be translated/ }, about);
      t.equal(answer.text.match(/cannot be translated/g)?.length, 1, `${about}: told once`);
      t.equal(answer.broken, name !== 'responses', `${about}: ${LAST}`);
      await recordedAs(t, answer, UNREADABLE, about);
    }
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /^throughline_requests_total\{[^}]*end_reason="upstream_error"[^}]*\} \d+$/m);
});

t.test('such a stream counts against its deployment', async (t) => {
  const { url, logged } = await startRig(t, {
    config: () => `
model_list:${entry('failing', 'nameless', 'order: 1')}${entry('failing', 'whole', 'order: 2')}
general_settings: { master_key: ${KEY} }
router_settings: { allowed_fails: 0, cooldown_time: 600 }
`,
  });
  const ask = (): Promise<Answer> =>
    send(url, 'POST', '/v1/messages', APIS.messages.body({ model: 'failing', stream: true }));
  t.match(APIS.messages.events((await ask()).text).error, /no name/);
  await logged((line) => line['msg'] === 'deployment cooling down');
  t.match(APIS.messages.events((await ask()).text), { error: null, end: 'end_turn' });
});

t.test('a blank behind [DONE] is no fault', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'padded-done');
    t.match(APIS[name].events(answer.text), { text: 'Once ', error: null }, name);
    t.equal(answer.broken, false, name);
    await recordedAs(t, answer, { status: 'success', end_reason: 'complete' }, name);
  }
});

t.test('another deployment takes over while nothing valid was sent', async (t) => {
  for (const name of CALLERS)
    for (const model of REPLACED) {
      const about = `${name}: ${model}`;
      const answer = await ask(name, `${model}-or`);
      t.equal(answer.status, 200, `${about}: ${answer.text}`);
      t.match(APIS[name].events(answer.text), { text: 'Once ', error: null }, about);
      const row = await rowOf(rig, answer);
      t.match(row, { status: 'success', attempts: 2 }, about);
    }
});

t.test('a hedged call is answered by the deployment whose stream can be translated', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'hedged');
    t.match(APIS[name].events(answer.text), { text: 'Once ', error: null }, name);
    t.match(await rowOf(rig, answer), { status: 'success' }, name);
  }
});

t.test('a stream that cannot be translated any further goes on elsewhere where it may', async (t) => {
  const answer = await ask('chat', 'continued');
  t.match(APIS.chat.events(answer.text), { text: 'Twice Once ', end: 'stop', error: null });
  const row = await rowOf(rig, answer);
  t.match(row, { status: 'success', attempts: 2 });
  t.match(JSON.stringify(row['attempt_log']), /"error":"bad_upstream_answer".*"continued":true/);
});

t.test('without another deployment a stream that cannot be read is answered with an error', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'gzip');
    t.equal(answer.status, 503, name);
    t.match(APIS[name].error(JSON.parse(answer.text) as Record<string, unknown>), 'compressed', name);
    t.match(answer.headers, { 'x-litellm-error-source': 'upstream' });
    await recordedAs(
      t,
      answer,
      { end_reason: 'upstream_error', error_code: 'upstream_broken', http_status: 503 },
      name,
    );
  }
});

t.test('an event that is too long to be translated ends the stream with an error event', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'large');
    t.match(APIS[name].events(answer.text), { text: 'Once ', error: /16 MiB/ }, name);
    t.equal(answer.broken, name !== 'responses', `${name}: ${LAST}`);
    await recordedAs(
      t,
      answer,
      { end_reason: 'upstream_error', error_code: 'bad_upstream_answer', error_source: 'upstream' },
      name,
    );
  }
});

t.test('an error status keeps its meaning where its body is an event', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'refused');
    t.match(answer, { status: 429, headers: { 'retry-after': '7' } }, name);
    t.equal(APIS[name].error(JSON.parse(answer.text) as Record<string, unknown>), 'Slow down.', name);
    await recordedAs(t, answer, { end_reason: 'upstream_error', http_status: 429 }, name);
  }
});

t.test('an array of a Gemini stream is always JSON', async (t) => {
  const frames = async (model: string): Promise<{ answer: Answer; found: Record<string, unknown>[] }> => {
    const path = `/v1beta/models/${model}:streamGenerateContent`;
    const answer = await send(rig.url, 'POST', path, APIS.gemini.body({ model: '' }));
    return { answer, found: JSON.parse(answer.text) as Record<string, unknown>[] };
  };
  t.equal((await frames('gemini-done')).found.length, 2, '[DONE] is no element');
  const { answer, found } = await frames('gemini-garbage');
  t.equal(found.length, 2);
  t.match(APIS.gemini.error(found[1] ?? {}), /not a JSON object/);
  const expected = { end_reason: 'upstream_error', error_code: 'bad_upstream_answer', http_status: 200 };
  await recordedAs(t, answer, expected, 'gemini');
});

t.test('a call whose arguments broke off ends the stream as a failure of its upstream', async (t) => {
  for (const name of ['messages', 'responses'] as const)
    for (const model of ['broken-call', 'broken-call-done']) {
      const about = `${name}: ${model}`;
      const answer = await ask(name, model);
      t.match(answer.text, /the arguments of a tool call are no JSON/, about);
      t.notMatch(answer.text, /message_stop|response\.completed/, about);
      t.equal(answer.broken, name !== 'responses', `${about}: ${LAST}`);
      await recordedAs(t, answer, UNREADABLE, about);
    }
  const wrapped = await ask('gemini', 'broken-call');
  t.match(wrapped.text, 'INVALID_JSON', 'a call that goes whole is wrapped');
  t.equal(wrapped.broken, false);
  const cut = await ask('messages', 'cut-call');
  t.match(cut.text, /"stop_reason":"max_tokens"[^]*message_stop/, 'a limit is said, and the client knows');
  await recordedAs(t, cut, { status: 'success', end_reason: 'complete' }, 'cut');
});

t.test('a document in place of a stream is written as the events that were asked for', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'document');
    t.match(answer, { status: 200, headers: { 'content-type': /^text\/event-stream/ } }, name);
    const said = APIS[name].events(answer.text);
    t.match(said, { text: 'Once ', error: null, prompt: 9, completion: 2 }, name);
    t.match(said.end, /^(end_turn|completed|STOP)$/, name);
    t.match(answer.text, '"cost":0.000057', `${name}: the cost in the usage`);
    t.match(
      await rowOf(rig, answer),
      { status: 'success', end_reason: 'complete', prompt_tokens: 9, completion_tokens: 2 },
      name,
    );
    const failed = await ask(name, 'document-error');
    t.match(failed, { status: 502, headers: { 'content-type': 'application/json' } }, name);
    t.equal(APIS[name].error(JSON.parse(failed.text) as Record<string, unknown>), 'Alas.', name);
  }
  const path = '/v1beta/models/document:streamGenerateContent';
  const array = await send(rig.url, 'POST', path, APIS.gemini.body({ model: '' }));
  t.match(array.headers, { 'content-type': 'application/json' });
  t.match(JSON.parse(array.text), [{ candidates: [{ content: { parts: [{ text: 'Once ' }] } }] }]);
});

t.test('events in place of a document are put together, or are a failure of the upstream', async (t) => {
  for (const name of CALLERS) {
    const answer = await ask(name, 'whole', false);
    t.match(answer, { status: 200, headers: { 'content-type': 'application/json' } }, name);
    const said = APIS[name].whole(JSON.parse(answer.text) as Record<string, unknown>);
    t.match(said, { text: 'Once ', prompt: 9, completion: 2 }, name);
    t.match(await rowOf(rig, answer), { status: 'success', end_reason: 'complete' }, name);
    for (const model of ['garbage', 'error-event']) {
      const about = `${name}: ${model}`;
      const failed = await ask(name, model, false);
      t.match(failed, { status: 503, headers: { 'content-type': 'application/json' } }, about);
      t.match(
        APIS[name].error(JSON.parse(failed.text) as Record<string, unknown>),
        /cannot be translated/,
        about,
      );
      await recordedAs(t, failed, { end_reason: 'upstream_error', http_status: 503 }, about);
    }
  }
});
