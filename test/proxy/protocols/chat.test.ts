// Chat completions: shapes as OpenAI, Azure, Groq, Moonshot and others send them.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { DONE, USAGE, chunk, data, run, stateOf, usageOnly } from '../relay/fixture/streams.ts';
import { asked, openings, readAnswer, stated, written } from './fixture/read.ts';
import { copyWithCuts } from '../../../proxy/bodies/splice.ts';

const OPENAI = {
  prompt_tokens: 2006,
  completion_tokens: 300,
  total_tokens: 2306,
  prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 192,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
};
const COUNTS = {
  prompt: 2006,
  completion: 300,
  total: 2306,
  cacheRead: 1920,
  reasoning: 192,
  inputAudio: 0,
  outputAudio: 0,
};
const delta = (value: object, more: object = {}): string =>
  data({
    id: 'chatcmpl-9',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: 'gpt-x',
    system_fingerprint: 'fp_1',
    choices: [{ index: 0, delta: value, logprobs: null, finish_reason: null, ...more }],
  });

t.test('usage of a JSON answer', async (t) => {
  const answer = {
    id: 'chatcmpl-9',
    object: 'chat.completion',
    model: 'gpt-x-2026-01-01',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: OPENAI,
    service_tier: 'default',
  };
  const reading = readAnswer(chat, answer);
  t.match(reading, { id: 'chatcmpl-9', model: 'gpt-x-2026-01-01', serviceTier: 'default' });
  t.strictSame(stated(chat, reading.usage), COUNTS);
  t.equal(readAnswer(chat, { ...answer, usage: null, meta: { tokens: { input_tokens: 1 } } }).usage, null);
  t.strictSame(stated(chat, null), {});
});

t.test('usage in the spellings of other vendors', async (t) => {
  const deepseek = {
    prompt_tokens: 9,
    completion_tokens: 2,
    total_tokens: 11,
    prompt_cache_hit_tokens: 8,
    prompt_cache_miss_tokens: 1,
  };
  t.strictSame(stated(chat, deepseek), { prompt: 9, completion: 2, total: 11, cacheRead: 8 });
  const moonshot = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, cached_tokens: 4 };
  t.strictSame(stated(chat, moonshot), { prompt: 9, completion: 2, total: 11, cacheRead: 4 });
  const xai = {
    prompt_tokens: 9,
    completion_tokens: 2,
    total_tokens: 18,
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  t.strictSame(stated(chat, xai), { prompt: 9, completion: 9, total: 18, reasoning: 7 });
  const litellm = { ...USAGE, cache_creation_input_tokens: 1, cache_read_input_tokens: 2 };
  t.strictSame(stated(chat, litellm), { prompt: 3, completion: 2, total: 5, cacheRead: 2, cacheWrite: 1 });
});

t.test('usage of a stream: in an event of its own, in the last one, or in a vendor’s member', async (t) => {
  const read = (...events: string[]): unknown => run(chat, events).tap.usage;
  t.strictSame(read(chunk('hi'), usageOnly, DONE), USAGE);
  t.strictSame(
    read(chunk('hi'), data({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: USAGE })),
    USAGE,
  );
  t.strictSame(
    read(data({ choices: [{ delta: {}, finish_reason: 'stop' }], x_groq: { id: 'req_1', usage: USAGE } })),
    USAGE,
    'Groq',
  );
  t.strictSame(
    read(data({ choices: [{ delta: {}, finish_reason: 'stop', usage: USAGE }] })),
    USAGE,
    'Moonshot',
  );
  t.strictSame(read(usageOnly, chunk('x')), USAGE, 'what comes later and states none changes nothing');
});

t.test('the end is a finish reason, and [DONE] is the very last', async (t) => {
  const { tap, all } = run(chat, [chunk(''), chunk('hi'), chunk('', 'stop')]);
  const said = { failed: false, usage: null, id: 'chatcmpl-1', model: 'gpt-x' };
  t.match(stateOf(tap), { ...said, terminal: true, finished: false });
  t.equal(all.toString(), chunk('') + chunk('hi') + chunk('', 'stop'));
  for (const reason of ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
    t.ok(run(chat, [chunk('', reason)]).tap.terminal, reason);
  const whole = run(chat, [chunk('hi'), usageOnly, DONE]).tap;
  t.match(stateOf(whole), { terminal: true, finished: true, usage: USAGE, events: 3 });
  const cut = run(chat, [chunk('hi'), chunk('there')]).tap;
  t.match(stateOf(cut), { terminal: false, finished: false, usage: null });
  const azure = data({ id: '', model: '', choices: [], prompt_filter_results: [] });
  t.match(stateOf(run(chat, [azure, chunk('x')]).tap), { id: 'chatcmpl-1', model: 'gpt-x' });
  const empty = run(chat, [data({ choices: [{ delta: {}, finish_reason: '' }] })]).tap;
  t.notOk(empty.terminal, 'an empty finish reason is none');
});

t.test('the first token', async (t) => {
  const role = delta({ role: 'assistant', content: '', refusal: null });
  t.equal(openings(chat, [': OPENROUTER PROCESSING\n\n', role, delta({ content: 'Hi' })]), 2);
  t.equal(openings(chat, [data({ choices: [], prompt_filter_results: [] }), role]), 2, 'none came');
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } };
  for (const first of [{ tool_calls: [call] }, { reasoning_content: 'hm' }, { refusal: 'no' }])
    t.equal(openings(chat, [role, delta(first)]), 1, JSON.stringify(first));
  t.equal(openings(chat, [role, delta({}, { finish_reason: 'stop' })]), 1, 'an end without a text');
});

t.test('the text of prompt and answer', async (t) => {
  t.same(asked(chat, { model: 'm', messages: [{ role: 'user', content: 'q' }], tools: [{ name: 't' }] }), [
    'q',
    '[{"name":"t"}]',
  ]);
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":' } };
  const events = [delta({ role: 'assistant' }), delta({ content: 'Hi' }), delta({ tool_calls: [call] })];
  t.equal(written(chat, [...events, usageOnly, DONE]), 'Hif{"a":');
});

t.test('a broken stream is continued with the text as the beginning of the answer', async (t) => {
  const { continuation } = chat;
  const prefilled = async (request: string): Promise<unknown> => {
    const body = Buffer.from(request);
    const cuts = (await continuation?.prefill(body, 'so "far"', 16)) ?? null;
    return cuts === null ? null : JSON.parse(copyWithCuts(body, cuts).toString());
  };
  const user = { role: 'user', content: 'q' };
  t.strictSame(await prefilled(JSON.stringify({ messages: [user], model: 'm' })), {
    messages: [user, { role: 'assistant', content: 'so "far"', prefix: true }],
    model: 'm',
  });
  t.equal(await prefilled('{"model":"m"}'), null, 'there is no place for it');
  const transcript = continuation?.transcript();
  transcript?.noteSent(Buffer.from(delta({ role: 'assistant', content: 'Hel' }) + delta({ content: 'lo' })));
  t.equal(transcript?.prefix, 'Hello');
});
