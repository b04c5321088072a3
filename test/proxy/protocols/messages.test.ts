// Messages: shapes as Anthropic and gateways before it send them.
import t from 'tap';
import type { FaultCode } from '../../../proxy/errors/codes.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import { named, run, stateOf } from '../relay/fixture/streams.ts';
import { ERROR, FAULT, dataOf, eventError } from './fixture/faults.ts';
import { asked, openings, readAnswer, stated, written } from './fixture/read.ts';

const INPUT = {
  input_tokens: 25,
  cache_creation_input_tokens: 100,
  cache_read_input_tokens: 50,
  cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 40 },
  output_tokens: 1,
  service_tier: 'standard',
};
const start = named('message_start', {
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    usage: INPUT,
  },
});
const blockStart = named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
const ping = named('ping', {});
const text = (value: string): string =>
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: value } });
const end = (usage: object): string =>
  named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
const stop = named('message_stop', {});

t.test(
  'usage of a JSON answer: the prompt is what was read from caches, written to them, and the rest',
  async (t) => {
    const reading = readAnswer(messages, {
      id: 'msg_1',
      type: 'message',
      model: 'claude-x',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { ...INPUT, output_tokens: 12 },
    });
    t.match(reading, { id: 'msg_1', model: 'claude-x' });
    t.strictSame(stated(messages, reading.usage), {
      prompt: 175,
      completion: 12,
      total: 187,
      cacheRead: 50,
      cacheWrite: 100,
      cacheWrite1h: 40,
    });
    const plain = { input_tokens: 3, output_tokens: 2, cache_read_input_tokens: null };
    t.strictSame(stated(messages, plain), { prompt: 3, completion: 2, total: 5 });
    const thinking = { input_tokens: 3, output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
    t.match(stated(messages, thinking), { completion: 9, reasoning: 4 });
    t.strictSame(
      stated(messages, readAnswer(messages, { input_tokens: 14 }).usage),
      {},
      'a count of tokens is no usage',
    );
  },
);

t.test('usage of a stream is put together from its start and its end; the later value counts', async (t) => {
  const open = run(messages, [start, ping, blockStart, text('x')]).tap;
  t.match(stateOf(open), { terminal: false, id: 'msg_1', model: 'claude-x', usage: INPUT });
  t.ok(open.usageIsPartial, 'the output is still to come');
  const later = { input_tokens: 26, cache_read_input_tokens: null, output_tokens: 7 };
  const { tap } = run(messages, [start, text('x'), end({ output_tokens: 3 }), end(later), stop]);
  t.match(stateOf(tap), { terminal: true, finished: true, failed: false, events: 5 });
  t.strictSame(tap.usage, { ...INPUT, input_tokens: 26, output_tokens: 7 });
  t.notOk(tap.usageIsPartial);
  const late = run(messages, [end({ output_tokens: 2 }), stop]).tap;
  t.strictSame(late.usage, { output_tokens: 2 }, 'a gateway may leave out the start');
  const { tap: smaller } = run(messages, [
    start,
    text('x'),
    end({ input_tokens: 0, output_tokens: 3 }),
    stop,
  ]);
  t.strictSame(smaller.usage, { ...INPUT, output_tokens: 3 }, 'nothing was not read that was');
  const none = { input_tokens: 0, output_tokens: 0 };
  const compaction = { ...none, iterations: [{ type: 'compaction', input_tokens: 180, output_tokens: 3 }] };
  const { tap: paused } = run(messages, [
    named('message_start', { message: { id: 'msg_1', usage: none } }),
    end(compaction),
    stop,
  ]);
  t.strictSame(stated(messages, paused.usage), { prompt: 180, completion: 3, total: 183 });
  const exact = { input_tokens: 3, cache_read_input_tokens: 22, output_tokens: 3 };
  const { tap: corrected } = run(messages, [start, text('x'), end(exact), stop]);
  t.strictSame(corrected.usage, { ...INPUT, ...exact }, 'a gateway that begins with an estimate');
});

t.test('the end is message_stop', async (t) => {
  t.notOk(run(messages, [start, end({ output_tokens: 2 })]).tap.terminal);
  t.match(stateOf(run(messages, [start, stop]).tap), { terminal: true, finished: true });
  const overloaded =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n';
  t.match(stateOf(run(messages, [start, overloaded]).tap), { finished: true, failed: true });
});

t.test('the first token', async (t) => {
  t.equal(openings(messages, [start, ping, blockStart, text('H')]), 3);
  const thought = named('content_block_delta', {
    index: 0,
    delta: { type: 'thinking_delta', thinking: 'hm' },
  });
  t.equal(openings(messages, [start, blockStart, thought]), 2);
  t.equal(openings(messages, ['event: ping\n\n', stop]), 1, 'an end without a text');
});

t.test('the text of prompt and answer', async (t) => {
  const system = [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }];
  t.same(asked(messages, { model: 'm', system, messages: [{ role: 'user', content: 'u' }] }), ['u', 's']);
  const json = named('content_block_delta', {
    index: 1,
    delta: { type: 'input_json_delta', partial_json: '{' },
  });
  const proof = named('content_block_delta', {
    index: 0,
    delta: { type: 'signature_delta', signature: 'EqQB' },
  });
  t.equal(
    written(messages, [start, blockStart, text('a'), proof, json, end({ output_tokens: 3 }), stop]),
    'a{',
  );
});

t.test('errors have `"type": "error"` on top', async (t) => {
  const typed = { ...ERROR, type: 'api_error' };
  t.strictSame(JSON.parse(messages.errors.body(FAULT).toString()), { type: 'error', error: typed });
  const [name, line = '', ...rest] = messages.errors.event(FAULT).toString().slice(0, -2).split('\n');
  t.same([name, rest], ['event: error', []]);
  t.strictSame(dataOf(line), { type: 'error', error: eventError('api_error') });
});

t.test('the type of an error is the word that Anthropic has for its status', (t) => {
  const typeOf = (code: FaultCode): unknown => {
    const { error } = JSON.parse(messages.errors.body(new Fault(code, 'No.')).toString()) as {
      error: { type: string };
    };
    return error.type;
  };
  t.equal(typeOf('invalid_api_key'), 'authentication_error');
  t.equal(typeOf('key_model_access_denied'), 'permission_error');
  t.equal(typeOf('model_not_found'), 'not_found_error');
  t.equal(typeOf('body_too_large'), 'request_too_large');
  t.equal(typeOf('rate_limit_exceeded'), 'rate_limit_error');
  t.equal(typeOf('first_token_timeout'), 'timeout_error');
  t.equal(typeOf('internal_error'), 'api_error');
  t.equal(typeOf('upstream_broken'), 'api_error');
  t.equal(typeOf('overloaded'), 'overloaded_error');
  t.end();
});

t.test('a count of tokens is an endpoint of its own, whose answer is not counted', async (t) => {
  t.same(
    messages.endpoints.map(({ path, callType, counted }) => [path, callType, counted]),
    [
      ['messages', 'anthropic_messages', 'prompt and answer'],
      ['messages/count_tokens', 'acount_tokens', 'nothing'],
    ],
  );
});
