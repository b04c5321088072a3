// An upstream that answers with a document where a stream was asked for, or the other way round: what the caller gets.
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { data, DONE, named } from '../../relay/fixture/streams.ts';
import { ANSWERS } from './fixture/answers.ts';
import { PAIRS } from './fixture/golden.ts';
import { readStream } from './fixture/grammar.ts';
import { REQUESTS, type Name } from './fixture/requests.ts';
import { ofChat, ofMessages, ofResponses } from './fixture/sdks.ts';
import { between, eventsOf, streamed } from './fixture/talk.ts';
import { UPSTREAMS } from './fixture/upstreams.ts';

const asEvents = (from: Name, to: Name, answer: Json = ANSWERS[to]): string =>
  between(from, to, REQUESTS[from], { dropParams: true, stream: true }).answer(answer).toString();
const asDocument = (from: Name, to: Name, events: readonly string[] = UPSTREAMS[to]): Json =>
  JSON.parse(
    streamed(between(from, to, REQUESTS[from], { dropParams: true, stream: false }), events),
  ) as Json;

t.test('a document becomes the events that its caller asked for, in every pair', (t) => {
  for (const [from, to] of PAIRS) {
    const text = asEvents(from, to);
    const about = `${from} from ${to}`;
    const { end, texts, calls } = readStream(from, text);
    t.match({ end, texts, calls }, { end: 'whole', texts: /hi/, calls: [{ name: 'read_file' }] }, about);
    t.match(text, 'hm', `${about}: the thought`);
  }
  t.end();
});

t.test("the vendors' SDKs read them, with the usage", async (t) => {
  t.match(await ofMessages(asEvents('messages', 'chat')), {
    content: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'hi' },
      { type: 'tool_use', name: 'read_file', input: {} },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 2 },
  });
  t.match(await ofResponses(asEvents('responses', 'messages')), {
    status: 'completed',
    output: [{ type: 'reasoning' }, { type: 'message' }, { name: 'read_file', arguments: '{"path":"a"}' }],
    usage: { input_tokens: 1, output_tokens: 2 },
  });
  t.match(await ofChat(asEvents('chat', 'gemini')), {
    choices: [{ finish_reason: 'tool_calls', message: { content: 'hi' } }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
});

t.test('arguments that are no JSON object are wrapped there, as in a whole answer', (t) => {
  const calls = [{ id: 'a', function: { name: 'f', arguments: '{"a"' } }];
  const text = asEvents('messages', 'chat', { choices: [{ message: { tool_calls: calls } }] });
  t.match(readStream('messages', text).calls, [{ input: '{"INVALID_JSON":"{\\"a\\""}' }]);
  t.end();
});

t.test('a stream becomes the document that its caller asked for, in every pair', (t) => {
  for (const [from, to] of PAIRS) {
    const options = { dropParams: true, stream: false };
    const events = between(from, to, REQUESTS[from], options).events();
    const written = eventsOf(UPSTREAMS[to].join('')).map(({ name, data }) => events.event(name, data));
    t.equal(written.slice(0, -2).join(''), '', 'nothing before the end');
    const text = JSON.stringify(asDocument(from, to));
    for (const said of ['Both again.', 'Once more.', 'read_file', 'a.txt', 'a circle'])
      t.match(text, said, `${from} from ${to}`);
  }
  t.match(asDocument('messages', 'chat'), {
    type: 'message',
    stop_reason: 'tool_use',
    content: [{}, {}, { input: { path: 'a.txt' } }, { input: { input: 'a circle' } }],
    usage: { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 30 },
  });
  t.end();
});

t.test('a stream that fails is a fault of the upstream for a caller that waits for a document', (t) => {
  for (const [to, events] of [
    ['chat', [data({ error: { message: 'Overloaded, alas' } })]],
    ['messages', [named('error', { error: { type: 'overloaded_error', message: 'Overloaded, alas' } })]],
    ['chat', [data({ choices: [{ delta: { content: 'x' } }] })]],
    ['chat', ['data: no JSON\n\n', DONE]],
  ] as const) {
    const from = to === 'chat' ? 'messages' : 'chat';
    const made = between(from, to, REQUESTS[from], { dropParams: true, stream: false }).events();
    const written = eventsOf(events.join('')).map((one) => made.event(one.name, one.data));
    t.equal(written.join('') + made.end(), '');
    t.match(made.fault?.code, /^(bad_upstream_answer|stream_truncated)$/, events.join(''));
  }
  t.end();
});

t.test('a document of more parts than any answer has is refused', (t) => {
  const calls = Array.from({ length: 5_001 }, (_, i) => ({
    id: `${i}`,
    function: { name: 'f', arguments: '{}' },
  }));
  const answer = { choices: [{ message: { tool_calls: calls } }] };
  for (const from of ['messages', 'responses', 'gemini'] as const)
    t.throws(() => asEvents(from, 'chat', answer), /more than 5000 parts/, from);
  t.end();
});
