// Streams as servers really send them, and how they end: the traps that break clients.
import t from 'tap';
import { Fault } from '../../../../proxy/errors/fault.ts';
import { data, DONE, named } from '../../relay/fixture/streams.ts';
import { PAIRS } from './fixture/golden.ts';
import { readStream } from './fixture/grammar.ts';
import { REQUESTS, type Name } from './fixture/requests.ts';
import { between, eventsOf, streamed } from './fixture/talk.ts';
import { UPSTREAMS } from './fixture/upstreams.ts';

const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  data({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more });
const call = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args: string,
): object => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
});
const from = (name: Name, to: Name, events: readonly string[]): string =>
  streamed(between(name, to, REQUESTS[name], { dropParams: true }), events);
const fromChat = (...events: readonly string[]): ReturnType<typeof readStream> =>
  readStream('messages', from('messages', 'chat', events));

t.test('a stream that is cut is never an end: in every pair, after every event', (t) => {
  for (const [name, to] of PAIRS) {
    const events = UPSTREAMS[to];
    // Chat ends with its finish, usage and [DONE] may be missing; Gemini with the last frame.
    const last = to === 'chat' ? events.length - 2 : events.length;
    for (let length = 0; length < last; length++) {
      const { end } = readStream(name, from(name, to, events.slice(0, length)));
      if (end !== 'failed') t.fail(`${name} from ${to}: ${length}`);
    }
    t.equal(readStream(name, from(name, to, events)).end, 'whole', `${name} from ${to}`);
  }
  t.end();
});

t.test('a break tells the fault once, and nothing after it', (t) => {
  for (const [name, to] of PAIRS) {
    const events = between(name, to, REQUESTS[name], { dropParams: true }).events();
    const sent = eventsOf(UPSTREAMS[to].slice(0, 5).join(''));
    const fault = new Fault('idle_timeout', 'The upstream fell silent.');
    const written = sent.map((one) => events.event(one.name, one.data)).join('') + events.failed(fault);
    t.equal(readStream(name, written).end, 'failed', `${name} from ${to}`);
    t.match(written, 'The upstream fell silent.');
    const broken = between(name, to, REQUESTS[name], { dropParams: true }).events();
    const last = broken.failed(new Fault('stream_broken', 'It broke.'));
    t.notMatch(last, 'upstream_error', 'the caller knows the word');
    if (name === 'gemini') t.match(last, '"code":503');
    t.equal(events.failed(fault) + events.end() + events.event('', '{}'), '');
  }
  t.end();
});

t.test("an upstream's error in the stream is the caller's", (t) => {
  const text = 'Overloaded, alas';
  const errors = {
    chat: data({ error: { message: text, type: 'server_error', code: 503 } }),
    messages: named('error', { error: { type: 'overloaded_error', message: text } }),
    responses: named('response.failed', {
      response: { status: 'failed', error: { code: 'server_error', message: text } },
    }),
    gemini: data({ error: { code: 503, message: text, status: 'UNAVAILABLE' } }),
  };
  for (const [name, to] of PAIRS) {
    const written = from(name, to, [...UPSTREAMS[to].slice(0, 4), errors[to]]);
    t.equal(readStream(name, written).end, 'failed', `${name} from ${to}`);
    t.match(written, text);
  }
  const event = named('error', { code: 'rate_limit_exceeded', message: text });
  t.match(from('messages', 'responses', [event]), '"rate_limit_error"');
  t.match(from('chat', 'responses', [event]), '"code":"rate_limit_exceeded"');
  t.match(from('responses', 'messages', [errors.messages]), '"code":"server_is_overloaded"');
  t.match(from('messages', 'gemini', [errors.gemini]), '"overloaded_error"');
  t.end();
});

t.test('the word of the end follows the calls', (t) => {
  const done = [chunk(call(0, 'a', 'f', '{}')), chunk({}, 'stop'), DONE];
  t.match(fromChat(...done), { reason: 'tool_use', calls: [{ name: 'f' }] }, 'stop with a call');
  t.equal(fromChat(chunk({ content: 'x' }), chunk({}, 'tool_calls'), DONE).reason, 'end_turn', 'no call');
  t.equal(fromChat(chunk({ content: 'x' }), chunk({}, 'length'), DONE).reason, 'max_tokens');
  t.equal(fromChat(chunk({ content: 'x' }), chunk({}, 'content_filter'), DONE).reason, 'refusal');
  t.equal(fromChat(chunk({ content: 'x' }), DONE).reason, 'end_turn', '[DONE] alone');
  t.equal(fromChat(chunk({ refusal: 'no' }), chunk({}, 'stop'), DONE).reason, 'refusal');
  const matched = data({ id: 'c', choices: [{ delta: {}, finish_reason: 'stop', stop_reason: '###' }] });
  t.match(from('messages', 'chat', [chunk({ content: 'x' }), matched, DONE]), '"stop_sequence":"###"');
  t.end();
});

t.test(
  'calls without an index, with one index for all, whole in one chunk, with a late name, with an object',
  (t) => {
    const end = [chunk({}, 'tool_calls'), DONE];
    const two = [
      { name: 'f', input: '{"a":1}' },
      { name: 'g', input: '{}' },
    ];
    for (const [title, ...events] of [
      [
        'no index',
        chunk(call(undefined, 'a', 'f', '{"a"')),
        chunk(call(undefined, undefined, undefined, ':1}')),
        chunk(call(undefined, 'b', 'g', '{}')),
      ],
      ['one index', chunk(call(0, 'a', 'f', '{"a":1}')), chunk(call(0, 'b', 'g', '{}'))],
      ['no id', chunk(call(0, undefined, 'f', '{"a":1}')), chunk(call(1, undefined, 'g', '{}'))],
      [
        'late name',
        chunk(call(0, 'a', undefined, '{"a"')),
        chunk(call(0, undefined, 'f', ':1}')),
        chunk(call(1, 'b', 'g', '{}')),
      ],
      [
        'one chunk',
        chunk({
          tool_calls: two.map(({ name, input }, index) => ({
            index,
            id: name,
            function: { name, arguments: input },
          })),
        }),
      ],
      [
        'an object',
        chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: { a: 1 } } }] }),
        chunk(call(1, 'b', 'g', '{}')),
      ],
      [
        'repeated names',
        chunk(call(0, 'a', 'f', '{"a"')),
        chunk(call(0, 'a', 'f', ':1}')),
        chunk(call(1, 'b', 'g', '{}')),
      ],
    ] as const)
      t.same(fromChat(...events, ...end).calls, two, title);
    const nameless = from('messages', 'chat', [chunk(call(0, 'a', undefined, '{"a":1}')), ...end]);
    t.match(nameless, /event: error[^]*no name/);
    t.end();
  },
);

t.test('content and finish in one chunk, usage in any chunk, empty choices, thoughts by other names', (t) => {
  const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
  const azure = data({ id: '', model: '', choices: [], prompt_filter_results: [] });
  const events = [
    azure,
    chunk({ reasoning: 'hm' }),
    chunk({ content: [{ type: 'text', text: 'hi' }] }, 'stop', { usage }),
  ];
  const written = from('messages', 'chat', [...events, data({ choices: [{ delta: {} }], usage })]);
  t.match(readStream('messages', written), { end: 'whole', texts: 'hi', reason: 'end_turn' });
  t.match(written, '"thinking":"hm"');
  t.equal(written.match(/"input_tokens":9,"output_tokens":2/g)?.length, 1);
  t.end();
});

t.test('a caller of chat gets usage when it asks for it', (t) => {
  const silent = { ...REQUESTS.chat, stream_options: null };
  const written = streamed(between('chat', 'messages', silent, { dropParams: true }), UPSTREAMS.messages);
  t.notMatch(written, 'prompt_tokens');
  t.equal(readStream('chat', written).end, 'whole');
  t.end();
});

t.test('Gemini: STOP in a frame of its own, a blocked prompt, a call that the model wrote wrongly', (t) => {
  const frame = (parts: object[], finishReason?: string): string =>
    data({ candidates: [{ content: { parts }, finishReason }] });
  const called = [frame([{ functionCall: { name: 'f' } }]), frame([{ text: '' }], 'STOP')];
  t.match(readStream('messages', from('messages', 'gemini', called)), {
    reason: 'tool_use',
    calls: [{ input: '' }],
  });
  t.match(readStream('chat', from('chat', 'gemini', called)), {
    reason: 'tool_calls',
    calls: [{ input: '{}' }],
  });
  const blocked = [data({ promptFeedback: { blockReason: 'SAFETY' } })];
  t.equal(readStream('messages', from('messages', 'gemini', blocked)).reason, 'refusal');
  t.equal(readStream('chat', from('chat', 'gemini', blocked)).reason, 'content_filter');
  t.match(
    from('chat', 'gemini', [frame([{ text: 'x' }], 'MALFORMED_FUNCTION_CALL')]),
    /"error"[^]*MALFORMED/,
  );
  t.end();
});

t.test('to Gemini: a call goes whole, and no frame is empty', (t) => {
  const broken = [chunk(call(0, 'a', 'f', '{"a":')), chunk({}, 'stop'), DONE];
  t.match(readStream('gemini', from('gemini', 'chat', broken)).calls, [
    { input: '{"INVALID_JSON":"{\\"a\\":"}' },
  ]);
  const empty = [chunk({ role: 'assistant' }), chunk({}, 'stop'), DONE];
  t.equal(readStream('gemini', from('gemini', 'chat', empty)).end, 'whole');
  t.end();
});

t.test('responses: what stands in `.done` events or in the last one alone is told', (t) => {
  const message = { type: 'message', content: [{ type: 'output_text', text: 'hi' }] };
  const response = { id: 'r', status: 'completed', output: [message] };
  const late = [named('response.created', { response: {} }), named('response.completed', { response })];
  t.match(readStream('chat', from('chat', 'responses', late)), { texts: 'hi', end: 'whole' });
  const done = [named('response.output_item.done', { output_index: 0, item: message }), ...late.slice(1)];
  t.match(readStream('chat', from('chat', 'responses', done)), { texts: 'hi', end: 'whole' });
  const incomplete = {
    ...response,
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  };
  const cut = named('response.incomplete', { response: incomplete });
  t.equal(readStream('messages', from('messages', 'responses', [cut])).reason, 'max_tokens');
  t.end();
});

t.test('a call whose arguments broke off is never shown as finished', (t) => {
  const half = chunk(call(0, 'a', 'f', '{"a"'));
  for (const [title, ...events] of [
    ['tool_calls', half, chunk({}, 'tool_calls'), DONE],
    ['stop', half, chunk({}, 'stop'), DONE],
    ['[DONE] alone', half, DONE],
    ['the first of two', half, chunk(call(1, 'b', 'g', '{}')), chunk({}, 'tool_calls'), DONE],
    ['the second of two', chunk(call(0, 'a', 'f', '{}')), chunk(call(1, 'b', 'g', '{"b":')), DONE],
    ['another broken one', half, chunk(call(1, 'b', 'g', '{"b":')), chunk({}, 'tool_calls'), DONE],
  ] as const) {
    for (const name of ['messages', 'responses'] as const) {
      const translated = between(name, 'chat', REQUESTS[name], { dropParams: true }).events();
      const written = eventsOf(events.join('')).map((one) => translated.event(one.name, one.data));
      t.equal(translated.fault?.code, 'bad_upstream_answer', `${name}: ${title}`);
      t.match(translated.fault?.message, /the arguments of a tool call are no JSON/);
      t.notMatch(
        written.join(''),
        /"tool_use","stop_sequence|message_stop|response.completed|arguments.done.*\{"a"/,
      );
      t.equal(readStream(name, from(name, 'chat', events)).end, 'failed', `${name}: ${title}`);
    }
  }
  const block = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const ofMessages = (reason: string): string[] => [
    named('message_start', { message: { id: 'm' } }),
    named('content_block_start', { index: 0, content_block: block }),
    named('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: '{"a"' } }),
    named('content_block_stop', { index: 0 }),
    named('message_delta', { delta: { stop_reason: reason } }),
    named('message_stop', {}),
  ];
  for (const name of ['chat', 'responses'] as const) {
    t.equal(readStream(name, from(name, 'messages', ofMessages('tool_use'))).end, 'failed', name);
    t.equal(readStream(name, from(name, 'messages', ofMessages('max_tokens'))).end, 'whole', name);
  }
  t.end();
});

t.test('a call that a limit cut is passed on with the reason, as all that follows it', (t) => {
  const events = [
    chunk(call(0, 'a', 'f', '{"a"')),
    chunk(call(1, 'b', 'g', '{"b":')),
    chunk({}, 'length'),
    DONE,
  ];
  t.match(fromChat(...events), {
    end: 'whole',
    reason: 'max_tokens',
    calls: [{ input: '{"a"' }, { name: 'g', input: '{"b":' }],
  });
  const filtered = [chunk(call(0, 'a', 'f', '{"a"')), chunk({}, 'content_filter'), DONE];
  t.match(from('messages', 'chat', filtered), /"stop_reason":"refusal"[^]*message_stop/);
  t.end();
});

t.test('a call without arguments is fine', (t) => {
  for (const args of ['', ' \n', '{}', 'null'])
    t.match(fromChat(chunk(call(0, 'a', 'f', args)), chunk({}, 'tool_calls'), DONE), {
      end: 'whole',
      reason: 'tool_use',
    });
  t.end();
});

t.test('an answer of more parts than any has is refused, from every protocol', (t) => {
  const many = 5_001;
  const list = (one: (index: number) => string | readonly string[]): readonly string[] =>
    Array.from({ length: many }, (_, index) => one(index)).flat();
  const block = { type: 'text', text: 'x' };
  const streams: Readonly<Record<Name, readonly string[]>> = {
    // Calls that share their indexes, as some servers number them.
    chat: list((i) => chunk(call(i % 50, `id ${i}`, 'f', '{}'))),
    messages: list((index) => [
      named('content_block_start', { index, content_block: block }),
      named('content_block_stop', { index }),
    ]),
    responses: list((output_index) =>
      named('response.output_text.delta', { output_index, content_index: 0, delta: 'x' }),
    ),
    gemini: list((i) =>
      data({ candidates: [{ content: { parts: [{ text: 'x', thought: i % 2 === 0 }] } }] }),
    ),
  };
  for (const [name, to] of PAIRS) {
    const written = from(name, to, streams[to]);
    t.match(written, /more than 5000 parts/, `${name} from ${to}`);
    t.equal(readStream(name, written).end, 'failed', `${name} from ${to}`);
  }
  const nameless = list((i) => chunk(call(i, `id ${i}`, undefined, '{')));
  t.match(from('messages', 'chat', nameless), /more than 5000 parts/);
  t.end();
});

t.test('a call is known by its id again, whatever index it comes with', (t) => {
  const { calls } = fromChat(
    chunk(call(0, 'a', 'f', '{"x":')),
    chunk(call(0, 'b', 'g', '{"y":')),
    chunk(call(0, 'c', 'h', '{}')),
    chunk(call(0, 'b', 'g', '2}')),
    chunk(call(0, 'a', 'f', '1}')),
    chunk({}, 'tool_calls'),
    DONE,
  );
  t.match(calls, [{ input: '{"x":1}' }, { input: '{"y":2}' }, { input: '{}' }]);
  t.equal(calls.length, 3);
  t.end();
});

t.test('calls that a limit has cut are passed on, however many', (t) => {
  const events = Array.from({ length: 300 }, (_, i) => chunk(call(i, `id${i}`, 'f', `{"a${i}`)));
  const written = from('messages', 'chat', [...events, chunk({}, 'length'), DONE]);
  t.equal(written.match(/"content_block_stop"/g)?.length, 300);
  for (const place of [0, 299]) t.match(written, `\\"a${place}"`);
  t.equal(readStream('messages', written).end, 'whole');
  t.end();
});
