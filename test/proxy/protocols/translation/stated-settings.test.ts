// What settings of an entry come to in each protocol.
import t from 'tap';
import { SETTINGS_OF } from '../../../../config/stated-members.ts';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { PROTOCOLS, protocolNamed } from '../../../../proxy/protocols/table.ts';
import {
  leftOpen,
  SETTING_MEMBERS,
  settingsIn,
  withSettings,
} from '../../../../proxy/protocols/translation/stated-settings.ts';

const VALUES: Json = {
  audio: {},
  dimensions: 3,
  encoding_format: 'float',
  frequency_penalty: 0.5,
  function_call: 'auto',
  functions: [],
  input_type: 'query',
  logit_bias: {},
  logprobs: true,
  max_completion_tokens: 60,
  max_tokens: 50,
  modalities: ['text'],
  n: 2,
  parallel_tool_calls: false,
  prediction: {},
  presence_penalty: 0.5,
  reasoning_effort: 'high',
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
  safety_identifier: 'x',
  seed: 7,
  service_tier: 'flex',
  stop: ['END'],
  temperature: 0.5,
  thinking: { type: 'enabled', budget_tokens: 2000 },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 2,
  top_p: 0.5,
  verbosity: 'low',
  web_search_options: {},
};
/** Of each protocol one whose models take all of it. */
const MODELS: Readonly<Record<string, string>> = { messages: 'claude-sonnet-4-6', gemini: 'gemini-2.5-pro' };

const said = (
  name: string,
  settings: Json,
  model = MODELS[name] ?? 'some-model',
  most: number | null = null,
): Json => settingsIn(protocolNamed(name), settings, model, most);

t.test('a setting comes to something in the protocols of which that is said, and in no other', async (t) => {
  for (const { name } of PROTOCOLS)
    for (const [setting, value] of Object.entries(VALUES)) {
      const members = Object.keys(said(name, { [setting]: value }));
      t.equal(members.length > 0, SETTINGS_OF.get(name)?.includes(setting) === true, `${setting} in ${name}`);
      for (const member of members)
        t.ok(SETTING_MEMBERS.includes(member), `${member} is looked for in bodies`);
    }
});

t.test('a model that does not take a setting does not get it', async (t) => {
  t.strictSame(said('chat', { max_tokens: 5, temperature: 0 }, 'gpt-5'), {
    max_completion_tokens: 5,
    temperature: 0,
  });
  // OpenAI refuses a member that it does not know.
  const { thinking } = VALUES;
  t.strictSame(said('chat', { thinking, reasoning_effort: 'low' }, 'gpt-5.4'), { reasoning_effort: 'low' });
  t.strictSame(said('chat', { thinking, n: 2 }, 'azure/gpt-5.4'), { reasoning_effort: 'low', n: 2 });
  t.strictSame(said('chat', { thinking: { type: 'ludicrous' } }, 'gpt-5.4'), {});
  t.strictSame(said('chat', { thinking, max_tokens: 5 }, 'gpt-4o'), { max_tokens: 5 });
  t.strictSame(said('chat', { thinking }, 'glm-5'), { thinking });
  t.strictSame(said('responses', { temperature: 0.5, reasoning_effort: 'low' }, 'gpt-5'), {
    reasoning: { effort: 'low' },
  });
  t.strictSame(said('messages', { reasoning_effort: 'ludicrous', top_p: 0.5 }), { top_p: 0.5 });
  t.strictSame(said('messages', { reasoning_effort: 'high' }, 'claude-sonnet-4-5', 1_000), {});
  t.match(said('messages', { thinking: VALUES['thinking'], response_format: VALUES['response_format'] }), {
    thinking: VALUES['thinking'],
    output_config: { format: {}, effort: undefined },
  });
});

t.test('who says it in other words has said it', async (t) => {
  const open = (name: string, settings: Json, ...stated: readonly string[]): Json =>
    leftOpen(protocolNamed(name), settings, {
      states: (path) => stated.includes(path),
      said: () => undefined,
    });
  t.strictSame(open('chat', { max_tokens: 1, top_p: 1 }, 'max_completion_tokens'), { top_p: 1 });
  const config = { thinking: {}, output_config: { effort: 'high', format: {} } };
  t.strictSame(open('messages', config, 'thinking'), { output_config: { format: {} } });
  t.strictSame(open('messages', { output_config: { effort: 'high' } }, 'output_config.effort'), {});
  t.strictSame(open('messages', config), config);
  t.strictSame(open('messages', { temperature: 0.2 }, 'top_p'), {}, 'newer models of Claude refuse the two');
  const after = (request: Json): unknown =>
    withSettings(
      protocolNamed('chat'),
      protocolNamed('messages'),
      request,
      { temperature: 0.2 },
      'claude-sonnet-4-5',
    )['temperature'];
  t.strictSame([after({ top_p: 0.5 }), after({ top_p: 1 })], [undefined, 0.2], 'a 1 is not carried');
});

t.test('a budget of thoughts stays below the limit of the answer', async (t) => {
  const stated = { thinking: { type: 'enabled', budget_tokens: 4_096 } };
  const thinking = (settings: Json, most: number | null): unknown =>
    said('messages', settings, 'claude-sonnet-4-5', most)['thinking'];
  t.strictSame(thinking(stated, 5_000), stated.thinking);
  t.strictSame(thinking(stated, null), stated.thinking);
  t.strictSame(thinking(stated, 4_096), { type: 'enabled', budget_tokens: 4_095 });
  t.strictSame(thinking({ ...stated, max_tokens: 2_000 }, null), { type: 'enabled', budget_tokens: 1_999 });
  t.equal(thinking(stated, 1_024), undefined, 'no room to think');
});

t.test('before a translation only what would not get the call refused is added', async (t) => {
  const request = { messages: [], temperature: 1 };
  const to = protocolNamed('messages');
  t.strictSame(
    withSettings(
      protocolNamed('chat'),
      to,
      request,
      { seed: 7, n: 2, temperature: 0, stop: ['A'] },
      'claude-sonnet-4-6',
    ),
    { stop: ['A'], ...request },
  );
});
