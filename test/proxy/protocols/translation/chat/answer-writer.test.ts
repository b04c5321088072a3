// Streams of chat completions, as the SDK of OpenAI puts their chunks together.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { named } from '../../../relay/fixture/streams.ts';
import { between, eventsOf, streamed } from '../fixture/talk.ts';

t.test('each signed thought has an index: without one OpenAI’s SDK for Python fails at the second', (t) => {
  const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
  const thought = (index: number): readonly string[] => [
    named('content_block_start', { index, content_block: { type: 'redacted_thinking', data: `d${index}` } }),
    named('content_block_stop', { index }),
  ];
  const stream = streamed(between('chat', 'messages', request), [
    named('message_start', { message: { id: 'msg_1' } }),
    ...thought(0),
    ...thought(1),
    named('message_stop', {}),
  ]);
  const blocks = eventsOf(stream).flatMap(({ data }) => {
    const chunk = data === '[DONE]' ? {} : (JSON.parse(data) as Json);
    const [choice] = (chunk['choices'] ?? []) as { delta: { thinking_blocks?: Json[] } }[];
    return choice?.delta.thinking_blocks ?? [];
  });
  t.same(blocks, [
    { index: 0, type: 'redacted_thinking', data: 'd0' },
    { index: 1, type: 'redacted_thinking', data: 'd1' },
  ]);
  t.end();
});
