// The arguments of calls that stand in texts: what has too many values in them is neither parsed nor passed on.
import { Buffer } from 'node:buffer';
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { Fault } from '../../../../proxy/errors/fault.ts';
import { data, DONE, named } from '../../relay/fixture/streams.ts';
import { PAIRS } from './fixture/golden.ts';
import { REQUESTS, type Name } from './fixture/requests.ts';
import { between, eventsOf } from './fixture/talk.ts';

const TOO_MANY = /the arguments of its tool calls hold more than 100000 values/;
const lists = (count: number): string => `{"a":[${'[],'.repeat(count)}1]}`;
const thrownBy = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (thrown) {
    return thrown;
  }
};

/** Each is the inputs of the calls of one request or one answer. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'one call': [lists(100_001)],
  'two calls together': [lists(60_000), lists(60_000)],
  'many short ones': Array.from({ length: 1_100 }, () => lists(100)),
  'short ones beside a long text': [lists(99_000), '{}', lists(2_000), JSON.stringify('x'.repeat(300_000))],
  'what is no JSON': ['['.repeat(200_001)],
  'a list': [`[${'1,'.repeat(100_001)}1]`],
};
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  'a long text': [JSON.stringify({ a: '[],"'.repeat(200_000) })],
  'texts beside some values': [
    lists(90_000),
    JSON.stringify({ a: '[],'.repeat(100_000) }),
    JSON.stringify({ b: 'ä'.repeat(300_000) }),
  ],
};

/** The histories of protocols that hold arguments as text. */
const asking = {
  chat: (inputs: readonly string[]): Json => ({
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        tool_calls: inputs.map((input, i) => ({
          id: `id ${i}`,
          type: 'function',
          function: { name: 'f', arguments: input },
        })),
      },
      ...inputs.map((_, i) => ({ role: 'tool', tool_call_id: `id ${i}`, content: 'y' })),
    ],
  }),
  responses: (inputs: readonly string[]): Json => ({
    input: [
      { role: 'user', content: 'x' },
      ...inputs.map((input, i) => ({
        type: 'function_call',
        call_id: `id ${i}`,
        name: 'f',
        arguments: input,
      })),
      ...inputs.map((_, i) => ({ type: 'function_call_output', call_id: `id ${i}`, output: 'y' })),
    ],
  }),
};

t.test('a request with too many values in the texts of its calls is refused', (t) => {
  for (const [from, to] of PAIRS) {
    if (from !== 'chat' && from !== 'responses') continue;
    for (const [title, inputs] of Object.entries(REFUSED)) {
      const thrown = thrownBy(() => between(from, to, asking[from](inputs), { dropParams: true }));
      t.ok(thrown instanceof Fault, `${from} to ${to}: ${title}`);
      t.match(thrown, { code: 'body_too_complex', message: TOO_MANY }, `${from} to ${to}: ${title}`);
    }
    for (const [title, inputs] of Object.entries(TAKEN)) {
      const { body } = between(from, to, asking[from](inputs), { dropParams: true });
      t.ok(body.length > inputs.join('').length, `${from} to ${to}: ${title}`);
    }
  }
  t.end();
});

t.test('the input of a custom tool is a text, whatever stands in it', (t) => {
  const input = '['.repeat(300_000);
  const request = { input: [{ type: 'custom_tool_call', call_id: 'a', name: 'f', input }] };
  t.ok(between('responses', 'messages', request, { dropParams: true }).body.includes(input));
  t.end();
});

/** Answers of protocols that hold arguments as text, whole and as streams. */
const WHOLE: Readonly<Record<'chat' | 'responses', (inputs: readonly string[]) => Json>> = {
  chat: (inputs) => ({
    choices: [
      {
        message: {
          tool_calls: inputs.map((input, i) => ({
            id: `id ${i}`,
            function: { name: 'f', arguments: input },
          })),
        },
        finish_reason: 'tool_calls',
      },
    ],
  }),
  responses: (inputs) => ({
    status: 'completed',
    output: inputs.map((input, i) => ({
      type: 'function_call',
      call_id: `id ${i}`,
      name: 'f',
      arguments: input,
    })),
  }),
};

const half = (input: string): readonly [string, string] => [
  input.slice(0, input.length / 2),
  input.slice(input.length / 2),
];
const chunk = (delta: object, finish: string | null = null): string =>
  data({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] });

const STREAMS: Readonly<Record<Exclude<Name, 'gemini'>, (inputs: readonly string[]) => readonly string[]>> = {
  chat: (inputs) => [
    ...inputs.flatMap((input, index) => {
      const [first, second] = half(input);
      return [
        chunk({ tool_calls: [{ index, id: `id ${index}`, function: { name: 'f', arguments: first } }] }),
        chunk({ tool_calls: [{ index, function: { arguments: second } }] }),
      ];
    }),
    chunk({}, 'tool_calls'),
    DONE,
  ],
  messages: (inputs) => [
    named('message_start', { message: { id: 'm' } }),
    ...inputs.flatMap((input, index) => [
      named('content_block_start', {
        index,
        content_block: { type: 'tool_use', id: `id ${index}`, name: 'f', input: {} },
      }),
      ...half(input).map((partial_json) =>
        named('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }),
      ),
      named('content_block_stop', { index }),
    ]),
    named('message_delta', { delta: { stop_reason: 'tool_use' } }),
    named('message_stop', {}),
  ],
  responses: (inputs) => [
    ...inputs.flatMap((input, output_index) => {
      const item = { type: 'function_call', call_id: `id ${output_index}`, name: 'f', arguments: '' };
      return [
        named('response.output_item.added', { output_index, item }),
        ...half(input).map((delta) =>
          named('response.function_call_arguments.delta', { output_index, delta }),
        ),
        named('response.output_item.done', { output_index, item: { ...item, arguments: input } }),
      ];
    }),
    named('response.completed', { response: { status: 'completed' } }),
  ],
};

t.test('a whole answer with too many is none', (t) => {
  for (const [from, to] of PAIRS) {
    if (to !== 'chat' && to !== 'responses') continue;
    for (const stream of [true, false]) {
      const answer = (inputs: readonly string[]): unknown =>
        thrownBy(() =>
          between(from, to, REQUESTS[from], { dropParams: true, stream }).answer(WHOLE[to](inputs)),
        );
      for (const [title, inputs] of Object.entries(REFUSED))
        t.match(
          answer(inputs),
          { code: 'bad_upstream_answer', message: TOO_MANY },
          `${from} from ${to}: ${title}`,
        );
      for (const [title, inputs] of Object.entries(TAKEN))
        t.ok(Buffer.isBuffer(answer(inputs)), `${from} from ${to}: ${title}`);
    }
  }
  t.end();
});

t.test('a stream with too many ends with the fault, for callers of streams and of documents', (t) => {
  for (const [from, to] of PAIRS) {
    if (to === 'gemini') continue;
    for (const stream of [true, false]) {
      const about = `${from} from ${to}, ${stream ? 'a stream' : 'a document'}`;
      const faultOf = (inputs: readonly string[]): Fault | null => {
        const events = between(from, to, REQUESTS[from], { dropParams: true, stream }).events();
        for (const { name, data: text } of eventsOf(STREAMS[to](inputs).join(''))) events.event(name, text);
        events.end();
        return events.fault;
      };
      for (const [title, inputs] of Object.entries(REFUSED))
        t.match(faultOf(inputs), { code: 'bad_upstream_answer', message: TOO_MANY }, `${about}: ${title}`);
      for (const [title, inputs] of Object.entries(TAKEN))
        t.equal(faultOf(inputs), null, `${about}: ${title}`);
    }
  }
  t.end();
});
