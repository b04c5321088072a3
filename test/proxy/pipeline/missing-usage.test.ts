// Which answers are counted here: those that began, whose upstream did not state what they used.
import t from 'tap';
import { countMissingUsage as count } from '../../../proxy/pipeline/missing-usage.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { NOTHING_READ, type Reading } from '../../../proxy/relay/tap.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';

const MODELS = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k } }
`;
const house = await servicesOf(t);
const { x } = await exchangeOf(t, liveOf(t, MODELS, house));
const { x: off } = await exchangeOf(
  t,
  liveOf(t, `${MODELS}general_settings: { estimate_missing_usage: false }`, house),
);

const endpointOf = (counted: Endpoint['counted']): Endpoint =>
  ENDPOINTS.find((one) => one.counted === counted) as Endpoint;
const [BOTH, PROMPT, NOTHING] = [
  endpointOf('prompt and answer'),
  endpointOf('prompt'),
  endpointOf('nothing'),
];
const BODY = Buffer.from(
  JSON.stringify({ messages: [{ role: 'user', content: 'one two three' }], input: 'one two' }),
);
const head = Buffer.from(JSON.stringify({ choices: [{ message: { content: 'four five' } }] }));
const DELIVERED: Reading = { ...NOTHING_READ, delivered: { form: 'json', head, bytes: head.length } };

const countMissingUsage = (
  of: typeof x,
  endpoint: Endpoint,
  ended: Outcome,
  body: Buffer | null,
  isBackground = false,
): ReturnType<typeof count> =>
  count(of, endpoint, ended, { body, protocol: endpoint.protocol, isBackground });

function outcome(more: Partial<Outcome>, reading: Partial<Reading> = {}): Outcome {
  return {
    end: 'complete',
    status: 200,
    fault: null,
    firstByteAt: null,
    upstreamMs: 1,
    responseBytes: 10,
    readOn: null,
    upstreamCallId: null,
    upstreamCost: null,
    retryAfter: null,
    isStream: false,
    contentEncoding: null,
    unsent: null,
    finish: () => undefined,
    ...more,
    reading: { ...DELIVERED, ...reading },
  };
}

t.test('what was stated is not counted; what was stated in part is', async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 };
  t.equal(countMissingUsage(x, BOTH, outcome({}, { usage }), BODY), null);
  t.not(countMissingUsage(x, BOTH, outcome({}, { usage, usageIsPartial: true }), BODY), null);
});

t.test('a usage without counts is none', async (t) => {
  const useless = [
    {},
    { total_tokens: 100 },
    { prompt_tokens: null, completion_tokens: null },
    { prompt_tokens: '5', completion_tokens: '3' },
    { prompt_tokens: 5.5, completion_tokens: 3 },
    { prompt_tokens: 1 },
  ];
  for (const usage of useless)
    t.match(
      await countMissingUsage(x, BOTH, outcome({}, { usage }), BODY),
      { by: /./ },
      JSON.stringify(usage),
    );
  for (const usage of [
    { input_tokens: 1, output_tokens: 1 },
    { promptTokenCount: 4, candidatesTokenCount: 1 },
  ])
    t.equal(countMissingUsage(x, BOTH, outcome({}, { usage }), BODY), null, JSON.stringify(usage));
  t.equal(countMissingUsage(x, PROMPT, outcome({}, { usage: { prompt_tokens: 1 } }), BODY), null);
});

const ZEROS = [
  { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 },
  { prompt_tokens: 0, completion_tokens: 5, total_tokens: 5 },
  { input_tokens: 1, output_tokens: 0 },
  { promptTokenCount: 4, totalTokenCount: 4 },
];

t.test('counts of 0 are believed of an answer without text alone', async (t) => {
  const emptyMessage = { role: 'assistant', content: '', refusal: null, tool_calls: [] };
  const choice = {
    index: 0,
    message: emptyMessage,
    finish_reason: 'stop',
    native_finish_reason: 'STOP',
    content_filter_results: { hate: { filtered: false, severity: 'safe' } },
  };
  const answered = (message: object): Reading['delivered'] => {
    const bytes = Buffer.from(JSON.stringify({ choices: [{ ...choice, message }] }));
    return { form: 'json', head: bytes, bytes: bytes.length };
  };
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  for (const usage of ZEROS) {
    const text = JSON.stringify(usage);
    t.match(await countMissingUsage(x, BOTH, outcome({}, { usage }), BODY), { by: /./ }, text);
    const calls = { usage, delivered: answered({ ...emptyMessage, tool_calls: [call] }) };
    t.match(await countMissingUsage(x, BOTH, outcome({}, calls), BODY), { by: /./ }, `a tool call, ${text}`);
    const empty = { usage, delivered: answered(emptyMessage) };
    t.equal(countMissingUsage(x, BOTH, outcome({}, empty), BODY), null, `no text, ${text}`);
    t.equal(countMissingUsage(off, BOTH, outcome({}, { usage }), BODY), null, 'switched off');
  }
  const cached = { input_tokens: 0, cache_read_input_tokens: 9, output_tokens: 1 };
  t.equal(countMissingUsage(x, BOTH, outcome({}, { usage: cached }), BODY), null, 'all read from a cache');
});

t.test('a prompt alone has no count of 0, unless nothing in it can be counted', async (t) => {
  const usage = { prompt_tokens: 0, total_tokens: 0 };
  const estimate = await countMissingUsage(x, PROMPT, outcome({}, { usage }), BODY);
  t.ok((estimate?.prompt ?? 0) > 0);
  t.equal(await countMissingUsage(x, PROMPT, outcome({}, { usage }), Buffer.from('{"input":""}')), null);
  t.equal(
    countMissingUsage(
      x,
      PROMPT,
      outcome({}, { usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 } }),
      BODY,
    ),
    null,
    'an embedding has no output',
  );
});

t.test('of a stream that ends with an error event, what came before is counted', async (t) => {
  const text = 'data: {"choices":[{"delta":{"content":"four five"}}]}\n\ndata: {"error":{}}\n\n';
  const delivered = { form: 'events', head: Buffer.from(text), bytes: text.length } as const;
  const failed = { end: 'upstream_error', isStream: true } as const;
  const estimate = await countMissingUsage(x, BOTH, outcome(failed, { delivered }), BODY);
  t.ok((estimate?.prompt ?? 0) > 0 && (estimate?.completion ?? 0) > 0);
  const empty = { ...delivered, head: Buffer.from('data: {"error":{}}\n\n') };
  t.equal(
    await countMissingUsage(x, BOTH, outcome(failed, { delivered: empty }), BODY),
    null,
    'nothing came',
  );
  const replaced = outcome({ ...failed, unsent: [] }, { delivered });
  t.equal(countMissingUsage(x, BOTH, replaced, BODY), null, 'no token had come');
});

t.test('prompt and answer of an answer without usage are counted', async (t) => {
  const estimate = await countMissingUsage(x, BOTH, outcome({}), BODY);
  t.ok((estimate?.prompt ?? 0) > 0);
  t.ok((estimate?.completion ?? 0) > 0);
  const cut = await countMissingUsage(x, BOTH, outcome({ end: 'truncated' }), BODY);
  t.same(cut, estimate, 'also of one that broke off: the upstream charges for it');
});

t.test('where only the prompt is counted, the answer must be whole', async (t) => {
  const estimate = await countMissingUsage(x, PROMPT, outcome({}, { delivered: null }), BODY);
  t.ok((estimate?.prompt ?? 0) > 0);
  t.equal(countMissingUsage(x, PROMPT, outcome({ end: 'truncated' }), BODY), null);
});

t.test('nothing is counted that was not wanted, not sent, or not answered', async (t) => {
  t.equal(countMissingUsage(off, BOTH, outcome({}), BODY), null, 'switched off');
  t.equal(countMissingUsage(x, NOTHING, outcome({}), BODY), null, 'an endpoint without tokens');
  t.equal(countMissingUsage(x, BOTH, outcome({}), null), null, 'no body went upstream');
  t.equal(countMissingUsage(x, BOTH, outcome({ end: 'upstream_error' }), BODY), null);
  t.equal(countMissingUsage(x, BOTH, outcome({ status: null }), BODY), null);
  for (const status of [300, 404, 500])
    t.equal(countMissingUsage(x, BOTH, outcome({ status }), BODY), null, String(status));
  t.not(countMissingUsage(x, BOTH, outcome({ status: 299 }), BODY), null);
  t.equal(countMissingUsage(x, BOTH, outcome({}, { delivered: null }), BODY), null, 'nothing was delivered');
});

t.test('a response that goes on in the background is not: its usage is still to come', async (t) => {
  const responses = ENDPOINTS.find(({ callType }) => callType === 'aresponses') as Endpoint;
  const answer = (status: string): Outcome => {
    const body = Buffer.from(JSON.stringify({ status, output: [] }));
    return outcome({}, { delivered: { form: 'json', head: body, bytes: body.length } });
  };
  for (const status of ['queued', 'in_progress'])
    t.equal(countMissingUsage(x, responses, answer(status), BODY), null, status);
  t.not(countMissingUsage(x, responses, answer('completed'), BODY), null);
  t.not(countMissingUsage(x, BOTH, answer('queued'), BODY), null, 'other answers have no such state');
});

t.test(
  'nor is what came of a stream whose response is made in the background, until it has ended',
  async (t) => {
    const responses = ENDPOINTS.find(({ callType }) => callType === 'aresponses') as Endpoint;
    const text = 'data: {"type":"response.output_text.delta","delta":"four five"}\n\n';
    const delivered = { form: 'events', head: Buffer.from(text), bytes: text.length } as const;
    const stream = (end: Outcome['end']): Outcome => outcome({ end, isStream: true }, { delivered });
    for (const end of ['client_gone', 'truncated', 'timeout', 'stopped'] as const) {
      t.equal(countMissingUsage(x, responses, stream(end), BODY, true), null, end);
      t.not(countMissingUsage(x, responses, stream(end), BODY), null, `${end}, not in the background`);
    }
    for (const end of ['complete', 'upstream_error'] as const)
      t.match(await countMissingUsage(x, responses, stream(end), BODY, true), { by: /./ }, end);
  },
);
