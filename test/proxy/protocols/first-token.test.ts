// Which events come before the first token, and that whatever is not understood counts as one.
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { completions } from '../../../proxy/protocols/completions.ts';
import { images } from '../../../proxy/protocols/images.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { holdsToken } from '../../../proxy/protocols/first-token.ts';

const events = (...data: readonly (object | string)[]): Buffer =>
  Buffer.from(data.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join(''));
const delta = (value: object, more: object = {}): object => ({
  choices: [{ index: 0, delta: value, ...more }],
});

t.test('what comes before the first token is not one', async (t) => {
  const before: readonly (readonly [Protocol, Buffer])[] = [
    [chat, Buffer.from(': ping\n\n: OPENROUTER PROCESSING\r\n\r\n')],
    [chat, events(delta({ role: 'assistant', content: '' }))],
    [chat, events(delta({ role: 'assistant', content: null, tool_calls: [] }, { finish_reason: null }))],
    [chat, events({ choices: [], prompt_filter_results: [] }, { choices: [], usage: { prompt_tokens: 3 } })],
    [completions, events({ choices: [{ text: '', finish_reason: null }] })],
    [responses, events({ type: 'response.created' }, { type: 'response.in_progress' })],
    [messages, events({ type: 'message_start' }, { type: 'ping' }, { type: 'content_block_start' })],
    [messages, Buffer.from('event: ping\n\n')],
    [chat, events(delta({ role: 'assistant', content: '' }), '[DONE]')],
    [completions, Buffer.from('data: [DONE] \r\n\r\n')],
  ];
  for (const [protocol, bytes] of before) t.notOk(holdsToken(bytes, protocol.events), bytes.toString());
});

t.test('texts, tool calls, reasoning, ends, and whatever is not understood', async (t) => {
  const tokens: readonly (readonly [Protocol, Buffer])[] = [
    [chat, events(delta({ role: 'assistant', content: '' }), delta({ content: ' ' }))],
    [chat, events(delta({ tool_calls: [{ index: 0 }] }))],
    [chat, Buffer.from(`\ufeff${events(delta({ content: 'x' })).toString()}`)],
    [chat, events(delta({ reasoning_content: 'hm' }))],
    [chat, events(delta({}, { finish_reason: 'stop' }))],
    [chat, events({ choices: [{ delta: {} }, { index: 1, delta: { content: 'x' } }] })],
    [chat, events('{"choices":')],
    [chat, events({ object: 'something else' })],
    [completions, events({ choices: [{ text: 'x' }] })],
    [responses, events({ type: 'response.output_text.delta', delta: 'x' })],
    [responses, events({ type: 'response.output_item.added' })],
    [messages, events({ type: 'content_block_delta' })],
    [images, events({ type: 'image_generation.partial_image' })],
  ];
  for (const [protocol, bytes] of tokens) t.ok(holdsToken(bytes, protocol.events), bytes.toString());
});
