// Which settings of an entry give way to what a client of Claude states.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { clashing } from '../../../../../proxy/protocols/translation/messages/clashes.ts';

const ENABLED = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
const ADAPTIVE = { thinking: { type: 'adaptive' } };

t.test('thoughts, sampling and forced tools', async (t) => {
  const gives = (settings: Json, client: Json): unknown => clashing(settings, (member) => client[member]);
  for (const thoughts of [ENABLED, ADAPTIVE]) {
    t.strictSame(gives({ temperature: 0.2 }, thoughts), ['temperature', 'top_p']);
    for (const client of [{ temperature: 0 }, { top_p: 0.5 }, { top_k: 1 }])
      t.strictSame(gives(thoughts, client), ['thinking']);
    for (const client of [{}, { temperature: 1 }, { top_p: 0.95 }, { temperature: null }])
      t.strictSame(gives(thoughts, client), []);
  }
  for (const type of ['any', 'tool']) {
    t.strictSame(gives(ENABLED, { tool_choice: { type } }), ['thinking']);
    t.strictSame(gives(ADAPTIVE, { tool_choice: { type } }), []);
  }
  t.strictSame(gives(ENABLED, { tool_choice: { type: 'auto' } }), []);
  t.strictSame(gives({ temperature: 0.2 }, { thinking: { type: 'disabled' } }), []);
});
