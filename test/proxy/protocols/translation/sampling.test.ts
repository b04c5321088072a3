// Settings of sampling by model: those that think take none.
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { between, sent } from './fixture/talk.ts';

const gemini = (config: object): Json => ({
  contents: [{ parts: [{ text: 'hi' }] }],
  generationConfig: { temperature: 0, topP: 0.5, frequencyPenalty: 1, ...config },
});
const NAMED = ['temperature', 'topP', 'frequencyPenalty'].map((name) => `generationConfig.${name}`);
const none = { thinkingConfig: { thinkingLevel: 'none' } };
const low = { thinkingConfig: { thinkingLevel: 'low' } };

t.test('a model of OpenAI that thinks takes no sampling settings, in chat completions and responses', (t) => {
  for (const [model, config, isTaken] of [
    ['o3', {}, false],
    ['openai/o4-mini', none, false],
    ['gpt-5', {}, false],
    ['gpt-5-mini-2025-08-07', none, false],
    ['gpt-5-chat-latest', {}, true],
    ['gpt-5.1', {}, true],
    ['gpt-5.2', low, false],
    ['openai/gpt-5.2', none, true],
    ['gpt-5.1-codex', {}, false],
    ['gpt-5.2-pro', {}, false],
    ['gpt-5.6', {}, false],
    ['gpt-5.6-luna', none, true],
    ['gpt-4.1', low, true],
    ['gpt-4o-2024-08-06', {}, true],
    ['llama-3', {}, true],
  ] as const)
    for (const to of ['chat', 'responses'] as const) {
      const what = `${model} ${JSON.stringify(config)} ${to}`;
      const { body, dropped } = between('gemini', to, gemini(config), { model, dropParams: true });
      const written = JSON.parse(body.toString()) as Json;
      t.equal(written['temperature'], isTaken ? 0 : undefined, what);
      t.equal(written['top_p'], isTaken ? 0.5 : undefined, what);
      if (!isTaken) t.same(dropped, NAMED, what);
      else if (to === 'chat') t.same(dropped, [], what);
    }
  t.end();
});

t.test('it is refused where members are not dropped, but for the defaults', (t) => {
  const request = (more: object): Json => ({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    ...more,
  });
  for (const to of ['chat', 'responses'] as const)
    t.throws(() => between('messages', to, request({ temperature: 0 }), { model: 'o3' }), {
      code: 'untranslatable_member',
      param: 'temperature',
    });
  const defaults = sent('messages', 'chat', request({ temperature: 1, top_p: 1 }), { model: 'gpt-5' });
  t.notOk('temperature' in defaults || 'top_p' in defaults);
  t.end();
});
