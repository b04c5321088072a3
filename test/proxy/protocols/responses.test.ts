// Responses: shapes as OpenAI and Azure send them.
import t from 'tap';
import { responses } from '../../../proxy/protocols/responses.ts';
import { data, named, run, stateOf } from '../relay/fixture/streams.ts';
import { ERROR, FAULT, dataOf, eventError } from './fixture/faults.ts';
import { asked, openings, readAnswer, stated, written } from './fixture/read.ts';

const USAGE = {
  input_tokens: 328,
  input_tokens_details: { cached_tokens: 256 },
  output_tokens: 52,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 380,
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  model: 'gpt-r',
  status: 'in_progress',
  usage: null,
  error: null,
};
const created = named('response.created', { sequence_number: 0, response: RESPONSE });
const textDelta = (delta: string): string =>
  named('response.output_text.delta', {
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta,
    logprobs: [],
  });

t.test('usage of a JSON answer', async (t) => {
  const reading = readAnswer(responses, {
    ...RESPONSE,
    status: 'completed',
    usage: USAGE,
    service_tier: 'flex',
  });
  t.match(reading, { id: 'resp_1', model: 'gpt-r', serviceTier: 'flex' });
  t.strictSame(stated(responses, reading.usage), {
    prompt: 328,
    completion: 52,
    total: 380,
    cacheRead: 256,
    reasoning: 20,
  });
  t.equal(
    readAnswer(responses, { ...RESPONSE, status: 'queued' }).usage,
    null,
    'one in the background has none yet',
  );
});

t.test('completed, incomplete and failed are ends; usage, id and model are the response’s', async (t) => {
  const open = created + textDelta('x');
  t.match(stateOf(run(responses, [open]).tap), {
    terminal: false,
    failed: false,
    id: 'resp_1',
    model: 'gpt-r',
  });
  for (const name of ['response.completed', 'response.incomplete']) {
    const { tap } = run(responses, [open, named(name, { response: { ...RESPONSE, usage: USAGE } })]);
    t.match(stateOf(tap), { terminal: true, finished: true, failed: false, usage: USAGE }, name);
  }
  const error = { code: 'server_error', message: 'about your prompt' };
  const failed = named('response.failed', { response: { ...RESPONSE, usage: USAGE, error } });
  t.match(stateOf(run(responses, [open, failed]).tap), {
    terminal: true,
    finished: true,
    failed: true,
    usage: USAGE,
  });
  const unnamed = data({ type: 'response.completed', response: { usage: USAGE } });
  t.strictSame(run(responses, [unnamed]).tap.usage, USAGE, 'the type counts where no event name is given');
  const early = named('response.in_progress', { response: { ...RESPONSE, usage: USAGE } });
  t.equal(run(responses, [early]).tap.usage, null, 'only the end states what is charged');
  for (const part of ['output_text.done', 'content_part.done', 'output_item.done'])
    t.notOk(run(responses, [open, named(`response.${part}`, { item_id: 'msg_1' })]).tap.terminal, part);
});

t.test('the usage of an event that is too large to be held stands below `response`', async (t) => {
  const filler = 'x'.repeat(300_000);
  const completed = named('response.completed', {
    response: { id: 'resp_1', output: [filler], usage: USAGE },
  });
  t.match(stateOf(run(responses, [completed]).tap), { terminal: true, usage: USAGE });
});

t.test('the first token', async (t) => {
  const waiting = [
    created,
    named('response.queued', {}),
    named('response.in_progress', {}),
    named('keepalive', {}),
  ];
  t.equal(openings(responses, [...waiting, named('ping', {}), textDelta('x')]), 5);
  t.equal(openings(responses, [created, named('response.output_item.added', { item: {} })]), 1);
});

t.test('the text of prompt and answer', async (t) => {
  const input = [{ role: 'user', content: [{ type: 'input_text', text: 'u' }] }];
  t.same(asked(responses, { model: 'm', instructions: 'i', input }), ['u', 'i']);
  const done = named('response.output_text.done', { text: 'ab' });
  const call = named('response.function_call_arguments.delta', { item_id: 'fc_1', delta: '{' });
  t.equal(written(responses, [created, textDelta('a'), textDelta('b'), done, call]), 'ab{');
});

t.test('an error event has its members at the top level and below `error`', async (t) => {
  const [name, line = '', ...rest] = responses.errors.event(FAULT).toString().slice(0, -2).split('\n');
  t.same([name, rest], ['event: error', []]);
  const { code, message, param } = ERROR;
  const own = { type: 'error', code, message, param, error: eventError('server_error') };
  t.strictSame(dataOf(line), { ...own, sequence_number: 0 }, 'the AI SDK passes over one without a number');
  t.match(responses.errors.event(FAULT, 12).toString(), '"sequence_number":12');
  t.match(stateOf(run(responses, [responses.errors.event(FAULT)]).tap), { finished: true, failed: true });
});

t.test('calls on a stored response do not count its usage again', async (t) => {
  t.same(
    responses.stored.map(({ method, suffix, endpoint }) => [
      method,
      suffix,
      endpoint.callType,
      endpoint.returnsStored,
    ]),
    [
      ['GET', '', 'aget_responses', true],
      ['DELETE', '', 'adelete_responses', true],
      ['POST', '/cancel', 'acancel_responses', true],
      ['GET', '/input_items', 'alist_input_items', true],
    ],
  );
});

t.test('calls of tools of the upstream are read wherever an event says its type', async (t) => {
  const item = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
  const event = { item, output_index: 0, type: 'response.output_item.done' };
  t.same(run(responses, [created, data(event)]).tap.tools, { searches: 1 });
});

t.test('no marker looks through the rest of an event for each place that it may begin at', async (t) => {
  // A text of 200 KB that repeated the name of an event took seconds.
  t.notMatch(responses.events.markers.source, /\[\^\][*+]|\.[*+]/);
});

t.test('searches that the upstream counted at the end of a large response stand', async (t) => {
  const item = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
  const done = named('response.output_item.done', { output_index: 0, item });
  for (const text of ['x', 'x'.repeat(300_000)]) {
    const message = { type: 'message', content: [{ type: 'output_text', text }] };
    const response = {
      ...RESPONSE,
      status: 'completed',
      output: [item, message],
      usage: USAGE,
      tool_usage: { image_gen: { input_tokens: 0 }, web_search: { num_requests: 4 } },
    };
    const { tap } = run(responses, [created, done, named('response.completed', { response })]);
    t.match(tap, { tools: { searches: 4 }, usage: USAGE, terminal: true }, `${text.length} characters`);
  }
});
