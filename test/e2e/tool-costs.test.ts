// What tools cost that an upstream runs by itself: counted from what passes through, priced, recorded and reserved.
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { startUpstream } from '../support/call.ts';
import { newKey } from '../support/manage.ts';
import { KEY, rowOf, send, startRig, type Answer, type Rig, type Row } from '../support/rig.ts';

const USAGE = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const GEMINI_USAGE = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
/** Of the tokens, at 1 and 10 dollars per million. */
const TOKENS = 0.0002;

const search = (id: string, type: string, status = 'completed'): object => ({
  type: 'web_search_call',
  id,
  status,
  action: { type, queries: ['a', 'b'] },
});
const code = (id: string, container_id: string): object => ({
  type: 'code_interpreter_call',
  id,
  container_id,
  status: 'completed',
  code: '1+1',
});
const message = {
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  content: [{ type: 'output_text', text: 'w' }],
};
const OUTPUT = [
  search('ws_1', 'search'),
  search('ws_2', 'open_page'),
  search('ws_3', 'find_in_page'),
  search('ws_4', 'search', 'failed'),
  { type: 'web_search_call', id: 'ws_5', status: 'completed' },
  { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['a'] },
  code('ci_1', 'cntr_1'),
  code('ci_2', 'cntr_1'),
  {
    type: 'function_call',
    id: 'fc_1',
    name: 'web_search_call',
    arguments: '"web_search_call"',
    status: 'completed',
  },
  message,
];
const response = (more: object): object => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  usage: USAGE,
  ...more,
});
const grounded = (groundingMetadata: object, text = 'w'): object => ({
  responseId: 'g',
  modelVersion: 'm',
  candidates: [
    { index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', groundingMetadata },
  ],
  usageMetadata: GEMINI_USAGE,
});
const WEB = {
  webSearchQueries: ['a', '', 'b', 'a'],
  groundingChunks: [{ web: { uri: 'https://example.com' } }],
};
const MAP = { webSearchQueries: ['a', 'b'], groundingChunks: [{ maps: { uri: 'https://example.com' } }] };
const citation = {
  type: 'url_citation',
  url_citation: { url: 'https://example.com', start_index: 0, end_index: 1 },
};
const choice = (more: object): object => ({ index: 0, finish_reason: 'stop', ...more });
const completion = (more: object): object => ({
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  usage: CHAT_USAGE,
  ...more,
});
const LARGE = 'w'.repeat(400_000);

/** Documents by the model that is asked for. */
const DOCUMENTS: Readonly<Record<string, object>> = {
  responses: response({ output: OUTPUT }),
  'responses-large': response({
    output: [...OUTPUT, { ...message, content: [{ type: 'output_text', text: LARGE }] }],
  }),
  'responses-stated': response({ output: OUTPUT, tool_usage: { web_search: { num_requests: 4 } } }),
  compaction: response({ object: 'response.compaction', output: OUTPUT }),
  'responses-plain': response({ output: [message] }),
  chat: completion({
    choices: [choice({ message: { role: 'assistant', content: 'w', annotations: [citation, citation] } })],
  }),
  'chat-plain': completion({
    choices: [choice({ message: { role: 'assistant', content: 'an "url_citation"' } })],
  }),
  'gemini-web': grounded(WEB),
  'gemini-large': grounded(WEB, LARGE),
  'gemini-map': grounded(MAP),
  'gemini-both': grounded({ ...WEB, groundingChunks: [...WEB.groundingChunks, ...MAP.groundingChunks] }),
};

const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const named = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`;
const done = (item: object, output_index: number): string =>
  named('response.output_item.done', { item, output_index });
const delta = (choices: object[], more: object = {}): string =>
  data({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices, ...more });
const begun = named('response.created', { response: { id: 'resp_1', model: 'm', output: [] } });
const added = named('response.output_item.added', {
  item: search('ws_9', 'search', 'in_progress'),
  output_index: 9,
});
const STREAMS: Readonly<Record<string, readonly string[]>> = {
  responses: [
    begun,
    added,
    ...OUTPUT.map(done),
    named('response.completed', { response: response({ output: OUTPUT }) }),
  ],
  'responses-bare': [
    begun,
    ...OUTPUT.map(done),
    named('response.completed', { response: response({ output: [] }) }),
  ],
  'responses-large': [
    begun,
    ...OUTPUT.map(done),
    named('response.completed', {
      response: response({ output: [...OUTPUT, { ...message, content: LARGE }] }),
    }),
  ],
  'responses-cut': [begun, done(search('ws_1', 'search'), 0), done(search('ws_2', 'open_page'), 1)],
  chat: [
    delta([{ index: 0, delta: { content: 'w' }, finish_reason: null }]),
    delta([{ index: 0, delta: { annotations: [citation] }, finish_reason: null }]),
    delta([{ index: 0, delta: { annotations: [citation] }, finish_reason: null }]),
    delta([choice({ delta: {} })]),
    delta([], { usage: CHAT_USAGE }),
    'data: [DONE]\n\n',
  ],
  'gemini-web': [
    data({ candidates: [{ index: 0, content: { parts: [{ text: 'w' }] }, groundingMetadata: WEB }] }),
    data(grounded({ webSearchQueries: ['b', 'c'] })),
  ],
  'gemini-large': [data(grounded(WEB, LARGE))],
};

const MESSAGE = [
  named('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      model: 'm',
      content: [],
      usage: { input_tokens: 100, output_tokens: 1 },
    },
  }),
  ...[
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'web_search_result', url: 'w' }] },
    { type: 'text', text: '"web_search_tool_result"' },
  ].map((content_block, index) => named('content_block_start', { index, content_block })),
];
const ALL_STREAMS: Readonly<Record<string, readonly string[]>> = {
  ...STREAMS,
  'messages-cut': MESSAGE,
  messages: [
    ...MESSAGE,
    named('message_delta', {
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 10, server_tool_use: { web_search_requests: 2 } },
    }),
    named('message_stop', {}),
  ],
};

function answer(res: ServerResponse, model: string, isStream: boolean): void {
  const events = ALL_STREAMS[model] ?? [];
  if (!isStream) {
    res.setHeader('content-type', 'application/json');
    return void res.end(JSON.stringify(DOCUMENTS[model] ?? {}));
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  if (!model.endsWith('-cut')) return void res.end(events.join(''));
  res.write(events.join(''), () => res.destroy());
}

const PRICES = 'input_cost_per_token: 1e-6, output_cost_per_token: 1e-5';
const TOOL_PRICES =
  'search_context_cost_per_query: { search_context_size_medium: 0.01 }, file_search_cost_per_1k_calls: 0.0025, code_interpreter_cost_per_session: 0.03, google_maps_grounding_cost_per_query: 0.014';

const config = (url: string): string => `
model_list:
  - { model_name: "openai/*", litellm_params: { model: "openai/*", api_base: "${url}/v1", api_key: k, ${PRICES}, ${TOOL_PRICES} } }
  - { model_name: "unpriced/*", litellm_params: { model: "openai/*", api_base: "${url}/v1", api_key: k, ${PRICES} } }
  - { model_name: "query/*", litellm_params: { model: "gemini/*", api_base: "${url}/v1beta", api_key: k, ${PRICES}, ${TOOL_PRICES}, web_search_billing_unit: per_query } }
  - { model_name: "prompt/*", litellm_params: { model: "gemini/*", api_base: "${url}/v1beta", api_key: k, ${PRICES} }, model_info: { ${TOOL_PRICES}, web_search_billing_unit: per_prompt } }
general_settings: { master_key: ${KEY} }
litellm_settings: { include_cost_in_streaming_usage: true }
`;

async function start(t: {
  teardown(act: () => unknown): unknown;
}): Promise<{ readonly rig: Rig; readonly calls: string[] }> {
  const calls: string[] = [];
  const url = await startUpstream(t, ({ req, res, body }) => {
    const path = req.url ?? '';
    const ofGemini = /models\/([^:]+):(\w+)/.exec(path);
    if (req.method === 'GET') return void res.end('{"data":[]}');
    calls.push(path);
    if (ofGemini !== null) return answer(res, ofGemini[1] ?? '', ofGemini[2] === 'streamGenerateContent');
    const { model, stream } = JSON.parse(body.toString()) as { model: string; stream?: boolean };
    answer(res, model, stream === true);
  });
  return { rig: await startRig(t, { config: () => config(url) }), calls };
}

interface Ask {
  readonly path: string;
  readonly body: object;
}
const ask = (model: string, stream: boolean): Ask => {
  const name = model.slice(model.indexOf('/') + 1);
  if (name.startsWith('responses')) return { path: '/v1/responses', body: { model, stream, input: 'w' } };
  if (name.startsWith('gemini'))
    return {
      path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'w' }] }] },
    };
  const messages = [{ role: 'user', content: 'w' }];
  return {
    path: '/v1/chat/completions',
    body: { model, stream, messages, ...(stream ? { stream_options: { include_usage: true } } : {}) },
  };
};

const { rig } = await start(t);
const call = async (model: string, stream: boolean): Promise<{ readonly got: Answer; readonly row: Row }> => {
  const { path, body } = ask(model, stream);
  const got = await send(rig.url, 'POST', path, body);
  return { got, row: await rowOf(rig, got) };
};
const round = (dollars: number): number => Number(dollars.toFixed(12));

const RESPONSES = { searches: 2, fileSearches: 1, containers: 1 };
const RESPONSES_COST = 2 * 0.01 + 0.0025 + 0.03;
const CASES: readonly (readonly [model: string, isStream: boolean, units: object | null, cost: number])[] = [
  ['openai/responses', false, RESPONSES, RESPONSES_COST],
  ['openai/responses', true, RESPONSES, RESPONSES_COST],
  ['openai/responses-bare', true, RESPONSES, RESPONSES_COST],
  ['openai/responses-large', false, RESPONSES, RESPONSES_COST],
  ['openai/responses-large', true, RESPONSES, RESPONSES_COST],
  ['openai/responses-stated', false, { ...RESPONSES, searches: 4 }, RESPONSES_COST + 0.02],
  ['openai/responses-plain', false, null, 0],
  ['openai/chat', false, { searches: 1 }, 0.01],
  ['openai/chat', true, { searches: 1 }, 0.01],
  ['openai/chat-plain', false, null, 0],
  ['query/gemini-web', false, { searches: 2 }, 0.02],
  ['query/gemini-web', true, { searches: 3 }, 0.03],
  ['query/gemini-large', false, { searches: 2 }, 0.02],
  ['query/gemini-large', true, { searches: 2 }, 0.02],
  ['query/gemini-map', false, { mapSearches: 2 }, 0.028],
  ['query/gemini-both', false, { searches: 2, mapSearches: 1 }, 0.034],
  ['prompt/gemini-web', false, { searches: 2 }, 0.01],
  ['prompt/gemini-web', true, { searches: 3 }, 0.01],
  ['prompt/gemini-map', false, { mapSearches: 2 }, 0.014],
];

t.test('uses of tools that the upstream runs are counted and charged', async (t) => {
  for (const [model, isStream, units, cost] of CASES) {
    const { got, row } = await call(model, isStream);
    const spend = round(TOKENS + cost);
    t.match(row, { spend, units, cost_source: 'entry', cost_reason: '' }, `${model} ${isStream}`);
    const stated = isStream
      ? /"cost":([\d.e-]+)/.exec(got.text)?.[1]
      : got.headers['x-litellm-response-cost'];
    if (!model.includes('large'))
      t.equal(Number(stated), spend, `${model} ${isStream}, as its client reads it`);
  }
});

t.test('where no price of a tool is known, the row says what it leaves out', async (t) => {
  const { row } = await call('unpriced/responses', false);
  t.match(row, { spend: TOKENS, units: RESPONSES });
  t.equal(
    row['cost_reason'],
    'no price of a web search (2 not charged), search in files (1 not charged), code container (1 not charged) is known for model responses',
  );
});

t.test('a stream that breaks off costs what was searched for before', async (t) => {
  const { got, row } = await call('openai/responses-cut', true);
  t.match(got.text, 'stream_broken');
  t.match(row, { units: { searches: 1 }, end_reason: 'truncated', usage_source: 'estimate' });
  t.ok(Number(row['spend']) > 0.01, String(row['spend']));
});

t.test(
  'a stream of messages costs what its usage states, and one that breaks off what was searched before',
  async (t) => {
    for (const [model, searches] of [
      ['openai/messages', 2],
      ['openai/messages-cut', 1],
    ] as const) {
      const body = { model, stream: true, max_tokens: 50, messages: [{ role: 'user', content: 'w' }] };
      const row = await rowOf(rig, await send(rig.url, 'POST', '/v1/messages', body));
      t.match(row, { units: { searches }, cost_reason: '' }, model);
      t.equal(Math.floor(Number(row['spend']) * 100), searches, model);
    }
  },
);

t.test('a compaction, which returns calls of before, costs its tokens', async (t) => {
  const body = { model: 'openai/compaction', input: 'w' };
  const got = await send(rig.url, 'POST', '/v1/responses/compact', body);
  t.match(got.text, 'web_search_call');
  t.match(await rowOf(rig, got), { spend: TOKENS, units: null, cost_reason: '' });
});

t.test('a translated call is charged for what its upstream has searched', async (t) => {
  for (const stream of [false, true]) {
    const body = { model: 'query/gemini-web', stream, messages: [{ role: 'user', content: 'w' }] };
    const got = await send(rig.url, 'POST', '/v1/chat/completions', body);
    t.equal(got.status, 200, got.text);
    const searches = stream ? 3 : 2;
    t.match(await rowOf(rig, got), {
      spend: round(TOKENS + searches * 0.01),
      units: { searches },
    });
  }
});

t.test('/spend/calculate reads them too', async (t) => {
  const priced = async (model: string, completion_response: object): Promise<unknown> => {
    const { text } = await send(rig.url, 'POST', '/spend/calculate', { model, completion_response });
    return (JSON.parse(text) as { readonly cost: unknown }).cost;
  };
  t.equal(await priced('openai/responses', DOCUMENTS['responses'] ?? {}), round(TOKENS + RESPONSES_COST));
  t.equal(await priced('openai/chat', DOCUMENTS['chat'] ?? {}), round(TOKENS + 0.01));
});

t.test('a call that may use them reserves what they cost', async (t) => {
  const { rig, calls } = await start(t);
  const refused = async (budget: number, more: object): Promise<boolean> => {
    const key = await newKey(rig, { max_budget: budget });
    const body = { model: 'openai/responses', input: 'w', max_output_tokens: 10, ...more };
    const got = await send(rig.url, 'POST', '/v1/responses', body, { authorization: `Bearer ${key}` });
    if (got.status !== 200) t.match(got.text, 'budget_exceeded');
    return got.status !== 200;
  };
  const web = { tools: [{ type: 'web_search' }] };
  t.equal(await refused(0.09, web), true, 'ten searches are 0.1 dollars');
  t.equal(await refused(0.11, web), false);
  t.equal(await refused(0.11, { ...web, max_tool_calls: 30 }), true, 'thirty are more');
  t.equal(await refused(0.02, { tools: [{ type: 'file_search' }] }), true);
  t.equal(await refused(0.03, { tools: [{ type: 'file_search' }] }), false);
  t.equal(await refused(0.02, { tools: [{ type: 'code_interpreter' }] }), true);
  t.equal(await refused(0.04, { tools: [{ type: 'code_interpreter' }] }), false);
  t.equal(await refused(0.001, {}), false, 'without a tool nothing is held for one');
  t.equal(calls.length, 4);
});
