// Whole answers of servers that speak chat completions.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { between } from '../fixture/talk.ts';

const asked = (): Json => ({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });
const answered = (message: object): Json =>
  JSON.parse(
    between('messages', 'chat', asked(), { stream: false })
      .answer({ choices: [{ finish_reason: '', message: { role: 'assistant', ...message } }] })
      .toString(),
  ) as Json;

t.test('members that a server fills with empty values say nothing', (t) => {
  const empty = { refusal: '', tool_calls: null, function_call: { name: '', arguments: '' } };
  t.match(answered({ content: 'Paris', ...empty }), {
    content: [{ type: 'text', text: 'Paris' }],
    stop_reason: 'end_turn',
  });
  t.match(answered({ content: '', function_call: { name: 'f', arguments: '{"a":1}' } }), {
    content: [{ type: 'tool_use', name: 'f', input: { a: 1 } }],
    stop_reason: 'tool_use',
  });
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
  const both = { ...call, custom: { name: '', input: '' } };
  t.match(answered({ content: '', tool_calls: [both] }), {
    content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } }],
  });
  t.end();
});

t.test('each thought of LiteLLM keeps its own text and signature, and a redacted one stays one', (t) => {
  const thinking = (text: string, signature: string): object => ({
    type: 'thinking',
    thinking: text,
    signature,
  });
  const thinking_blocks = [
    thinking('a', 's1'),
    { type: 'redacted_thinking', data: 'd' },
    thinking('b', ''),
    thinking('c', 's2'),
  ];
  t.match(answered({ content: 'x', reasoning_content: 'abc', thinking_blocks })['content'], [
    { type: 'thinking', thinking: 'a', signature: 'throughline.chat.s1' },
    { type: 'redacted_thinking', data: 'throughline.chat_redacted.d' },
    { type: 'thinking', thinking: 'bc', signature: 'throughline.chat.s2' },
    { type: 'text' },
  ]);
  t.match(
    answered({ content: 'x', reasoning_content: 'a', thinking_blocks: [thinking('', 's')] })['content'],
    [{ type: 'thinking', thinking: 'a', signature: 'throughline.chat.s' }, { type: 'text' }],
  );
  t.match(
    answered({ content: 'x', reasoning_content: 'a', thinking_blocks: [thinking_blocks[1]] })['content'],
    [
      { type: 'thinking', thinking: 'a', signature: 'throughline.chat.' },
      { type: 'redacted_thinking', data: 'throughline.chat_redacted.d' },
      { type: 'text' },
    ],
  );
  t.end();
});
