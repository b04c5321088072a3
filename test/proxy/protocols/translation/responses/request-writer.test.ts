// Requests of responses: nothing is stored, strictness is stated, thoughts travel encrypted.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { sent } from '../fixture/talk.ts';

const HI = { role: 'user', content: 'hi' };
const messages = (more: object): Json => ({ model: 'm', max_tokens: 9, messages: [HI], ...more });
const tool = { name: 'f', description: 'F.', input_schema: { properties: { a: {} } } };

t.test('nothing is stored; a tool is not strict unless the caller says so', (t) => {
  const body = sent('messages', 'responses', messages({ tools: [tool] }), { sessionId: 's' });
  t.match(body, {
    store: false,
    stream: true,
    prompt_cache_key: 's',
    max_output_tokens: 16,
    tools: [
      { type: 'function', name: 'f', description: 'F.', strict: false, parameters: { type: 'object' } },
    ],
  });
  const strict = { type: 'function', function: { name: 'f', strict: true, parameters: { type: 'object' } } };
  t.match(sent('chat', 'responses', { messages: [HI], tools: [strict] })['tools'], [{ strict: true }]);
  t.end();
});

t.test(
  'encrypted thoughts are asked for of models that reason, summaries where the caller shows thoughts',
  (t) => {
    const body = (more: object, model: string): Json =>
      sent('messages', 'responses', messages(more), { model });
    t.notOk('include' in body({}, 'gpt-4.1'));
    t.match(body({}, 'gpt-5.2'), { include: ['reasoning.encrypted_content'] });
    t.match(body({ thinking: { type: 'enabled', budget_tokens: 2048 } }, 'gpt-5.2'), {
      reasoning: { effort: 'medium', summary: 'auto' },
    });
    const hidden = { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'low' } };
    t.same(body(hidden, 'gpt-5.2')['reasoning'], { effort: 'low' });
    t.end();
  },
);

t.test('a thought of the vendor stands before what it led to; alone it is left out', (t) => {
  const thinking = (signature: string): object => ({ type: 'thinking', thinking: 'hm', signature });
  const own = thinking('throughline.responses.ZW5j');
  const turns = [
    HI,
    { role: 'assistant', content: [own, { type: 'text', text: 'a' }, thinking('c2ln'), own] },
    { role: 'user', content: 'b' },
  ];
  t.match(sent('messages', 'responses', messages({ messages: turns }))['input'], [
    { type: 'message', role: 'user' },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'ZW5j' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
    { type: 'message', role: 'user' },
  ]);
  t.end();
});

t.test('pictures of tools stay in the result; an error is told', (t) => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } };
  const call = (id: string): object => ({ type: 'tool_use', id, name: 'f', input: {} });
  const result = (id: string, more: object): object => ({ type: 'tool_result', tool_use_id: id, ...more });
  const turns = [
    HI,
    { role: 'assistant', content: [call('a'), call('b')] },
    {
      role: 'user',
      content: [result('a', { content: [image] }), result('b', { content: 'no file', is_error: true })],
    },
  ];
  const input = sent('messages', 'responses', messages({ messages: turns }))['input'] as Json[];
  t.same(input.slice(3), [
    {
      type: 'function_call_output',
      call_id: 'a',
      output: [{ type: 'input_image', image_url: 'https://example.test/a.png', detail: 'auto' }],
    },
    { type: 'function_call_output', call_id: 'b', output: 'Error: no file' },
  ]);
  t.end();
});

t.test('custom tools of chat stay custom, with their calls and results', (t) => {
  const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
  const request = {
    tools: [{ type: 'custom', custom: { name: 'patch', description: 'P.', format } }],
    tool_choice: { type: 'custom', custom: { name: 'patch' } },
    messages: [
      HI,
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'patch', input: 'a' } }] },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
    ],
  };
  t.match(sent('chat', 'responses', request), {
    tools: [{ type: 'custom', name: 'patch', description: 'P.' }],
    tool_choice: { type: 'custom', name: 'patch' },
    input: [
      { type: 'message' },
      { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: 'a' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'ok' },
    ],
  });
  t.end();
});
