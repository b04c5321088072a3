// Streams of LiteLLM, which has Claude behind chat completions: each thought keeps its own signature, whatever the version.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { between, eventsOf, streamed } from '../fixture/talk.ts';

const asked: Json = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const thinking = (text: string, signature: string): object => ({
  type: 'thinking',
  thinking: text,
  signature,
});
const redacted = (data: string): object => ({ type: 'redacted_thinking', data });
const call = {
  tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
};

/** The blocks that a client of messages puts together. */
function blocks(...deltas: readonly object[]): readonly unknown[] {
  const stream = streamed(between('messages', 'chat', asked), [
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ]);
  const built: Record<string, string>[] = [];
  for (const { data } of eventsOf(stream)) {
    const event = JSON.parse(data) as {
      content_block?: Record<string, string>;
      delta?: Record<string, string>;
    };
    if (event.content_block !== undefined) built.push({ ...event.content_block });
    const last = built.at(-1);
    for (const name of ['thinking', 'text', 'signature'])
      if (last !== undefined && event.delta?.[name] !== undefined) last[name] += event.delta[name];
  }
  return built.map(({ type, thinking: thought, text, signature, data }) =>
    [type, thought ?? text, signature ?? data].filter((one) => one !== undefined),
  );
}

const bySignature = [
  ['thinking', 'Both again.', 'throughline.chat.s1'],
  ['text', 'Once'],
  ['thinking', 'And more.', 'throughline.chat.s2'],
  ['redacted_thinking', 'throughline.chat_redacted.d1'],
  ['redacted_thinking', 'throughline.chat_redacted.d2'],
  ['tool_use'],
];

t.test('thoughts that come in pieces, and a signature of its own after them', (t) => {
  const piece = (text: string): object => ({
    reasoning_content: text,
    thinking_blocks: [thinking(text, '')],
  });
  const sign = (signature: string): object => ({
    reasoning_content: '',
    thinking_blocks: [thinking('', signature)],
  });
  const deltas = [
    piece('Both '),
    piece('again.'),
    sign('s1'),
    { content: 'Once' },
    piece('And '),
    piece('more.'),
    sign('s2'),
    { thinking_blocks: [redacted('d1')] },
    { thinking_blocks: [redacted('d2')] },
    call,
  ];
  t.same(blocks(...deltas), bySignature);
  const adjacent = blocks(piece('a'), sign('s1'), piece('b'), piece('c'), sign('s2'), { content: 'x' });
  t.same(
    adjacent,
    [
      ['thinking', 'a', 'throughline.chat.s1'],
      ['thinking', 'bc', 'throughline.chat.s2'],
      ['text', 'x'],
    ],
    'two with nothing between',
  );
  t.end();
});

t.test('thoughts whose whole text stands beside the signature once more', (t) => {
  const piece = (text: string): object => ({ reasoning_content: text });
  const sign = (text: string, signature: string): object => ({
    thinking_blocks: [thinking(text, signature)],
  });
  const deltas = [
    piece('Both '),
    piece('again.'),
    sign('Both again.', 's1'),
    { ...piece('Both again.'), ...sign('Both again.', 's1') },
    { content: 'Once' },
    piece('And '),
    { ...piece('more.'), ...sign('And more.', 's2') },
    { thinking_blocks: [redacted('d1'), redacted('d2')] },
    call,
  ];
  t.same(blocks(...deltas), bySignature);
  t.end();
});

t.test('a thought that is signed and not shown', (t) => {
  const hidden = (signature: string): object => ({ thinking_blocks: [thinking('', signature)] });
  t.same(blocks(hidden('s1'), hidden('s1'), hidden('s2'), { content: 'x' }), [
    ['redacted_thinking', 'throughline.chat_unshown.s1'],
    ['redacted_thinking', 'throughline.chat_unshown.s2'],
    ['text', 'x'],
  ]);
  t.end();
});
