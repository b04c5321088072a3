// Streams of messages, as gateways write them.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { named } from '../../../relay/fixture/streams.ts';
import { between, streamed } from '../fixture/talk.ts';

const asked: Json = { messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } };

t.test('an input of 0 at the end of a stream leaves the count that it began with', (t) => {
  const usage = { input_tokens: 50, cache_read_input_tokens: 40, output_tokens: 1 };
  const written = streamed(between('chat', 'messages', asked), [
    named('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage } }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: 'a' } }),
    named('content_block_stop', { index: 0 }),
    named('message_delta', {
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 30 },
    }),
    named('message_stop', {}),
  ]);
  t.match(written, '"prompt_tokens":90,"completion_tokens":30,"total_tokens":120');
  t.end();
});
