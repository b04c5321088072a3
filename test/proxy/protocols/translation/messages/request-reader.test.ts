// Settings of messages that other protocols do not have.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { sent } from '../fixture/talk.ts';

t.test('to think between tools alone is not to think, where the model does not have it', (t) => {
  const asked = (type: string): Json => ({
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 9,
    thinking: { type },
    output_config: { effort: 'high' },
  });
  for (const to of ['chat', 'responses', 'gemini'] as const)
    t.same(sent('messages', to, asked('between_tools')), sent('messages', to, asked('disabled')), to);
  t.end();
});
