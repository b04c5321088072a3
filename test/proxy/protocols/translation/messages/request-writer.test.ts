// Requests of Anthropic's messages: its rules on turns, thoughts, marks of caches and schemas.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { named } from '../../../relay/fixture/streams.ts';
import { readStream } from '../fixture/grammar.ts';
import { between, sent, streamed } from '../fixture/talk.ts';

const HI = { role: 'user', content: 'hi' };
const chat = (more: object): Json => ({ model: 'm', messages: [HI], ...more });
const call = (id: string): object => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
});
const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: '' });

t.test('results stand first and together; empty texts and empty results have no block', (t) => {
  const turns = [
    HI,
    { role: 'assistant', content: '', tool_calls: [call('a:1'), call('b')] },
    result('a:1'),
    { role: 'system', content: 'note' },
    result('b'),
    { role: 'user', content: [{ type: 'text', text: '' }] },
  ];
  t.same(sent('chat', 'messages', chat({ messages: turns }))['messages'], [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'a_1', name: 'f', input: { a: 1 } },
        { type: 'tool_use', id: 'b', name: 'f', input: { a: 1 } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a_1' },
        { type: 'tool_result', tool_use_id: 'b' },
        { type: 'text', text: 'note' },
      ],
    },
  ]);
  t.end();
});

t.test('a text of white space alone, which Anthropic refuses, is left out', (t) => {
  const turns = [
    { role: 'system', content: ' ' },
    HI,
    { role: 'assistant', content: '\n\n', tool_calls: [call('a')] },
    { ...result('a'), content: ' \n' },
    { role: 'assistant', content: [{ type: 'refusal', refusal: ' ' }] },
    { role: 'user', content: [{ type: 'text', text: '\t' }] },
    { role: 'assistant', content: '\n' },
  ];
  const body = sent('chat', 'messages', chat({ messages: turns }));
  t.notOk('system' in body);
  t.same(body['messages'], [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: { a: 1 } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
  ]);
  t.end();
});

t.test('the output limit is the caller’s or the default; thinking stays below it', (t) => {
  const body = (more: object, model = 'claude-sonnet-4-5'): Json =>
    sent('chat', 'messages', chat(more), { model });
  t.equal(body({})['max_tokens'], 4096);
  t.match(body({ reasoning_effort: 'high', max_tokens: 3000 }), {
    max_tokens: 3000,
    thinking: { type: 'enabled', budget_tokens: 2999 },
  });
  t.notOk('thinking' in body({ reasoning_effort: 'high', max_tokens: 500 }), 'no room');
  t.notOk('thinking' in body({ reasoning_effort: 'none' }));
  t.match(body({ reasoning_effort: 'xhigh' }, 'anthropic/claude-opus-4-6'), {
    thinking: { type: 'adaptive' },
    output_config: { effort: 'max' },
  });
  t.end();
});

t.test(
  'a model that thinks gets no sampling and no forced tool; a loop without thoughts goes on without',
  (t) => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { properties: {} } } }];
    const thinking = { reasoning_effort: 'low', temperature: 0.2, top_p: 0.9, tools };
    const translation = between('chat', 'messages', chat(thinking), { model: 'claude-3-7-sonnet' });
    const body = JSON.parse(translation.body.toString()) as Json;
    t.notOk('temperature' in body || 'top_p' in body);
    t.same(translation.dropped, ['temperature', 'top_p']);
    t.match(body['tools'], [{ input_schema: { type: 'object' } }], 'the type of the input is stated');
    const forced = between('chat', 'messages', chat({ ...thinking, tool_choice: 'required' }), {
      model: 'claude-3-7',
    });
    t.match(forced.dropped, ['reasoning_effort']);
    t.match(JSON.parse(forced.body.toString()), { tool_choice: { type: 'any' }, temperature: 0.2 });
    const loop = chat({
      ...thinking,
      messages: [HI, { role: 'assistant', tool_calls: [call('a')] }, result('a')],
    });
    t.notOk('thinking' in sent('chat', 'messages', loop, { model: 'claude-3-7-sonnet' }));
    t.end();
  },
);

t.test('newer Claude models: no sampling, thoughts that are shown, forced tools beside them', (t) => {
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const samples = { temperature: 0.2, top_p: 1, top_k: 5 };
  const asked = chat({ ...samples, tools, reasoning_effort: 'xhigh', tool_choice: 'required' });
  const told = (request: Json, model: string): Json => {
    const { body, dropped } = between('chat', 'messages', request, { model, dropParams: true });
    const {
      messages: _,
      tools: __,
      model: ___,
      max_tokens: ____,
      ...rest
    } = JSON.parse(body.toString()) as Json;
    return { ...rest, stream: dropped };
  };
  const forced = { tool_choice: { type: 'any' } };
  t.same(told(asked, 'claude-sonnet-4-6'), {
    ...forced,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'max' },
    stream: ['temperature', 'top_k'],
  });
  const thinking = { type: 'adaptive', display: 'summarized' };
  const newer = { thinking, output_config: { effort: 'xhigh' }, stream: ['temperature', 'top_k'] };
  t.same(told(asked, 'claude-opus-4-8'), { ...forced, ...newer });
  for (const model of ['claude-fable-5', 'claude-opus-5-5', 'claude-sonnet-5.5'])
    t.same(told(asked, model), { ...newer, stream: ['tool_choice', 'temperature', 'top_k'] }, model);
  const none = chat({ reasoning_effort: 'none' });
  t.same(told(none, 'claude-opus-4-8'), { stream: [] });
  t.same(told(none, 'claude-sonnet-5'), { thinking: { type: 'disabled' }, stream: [] });
  t.same(told(none, 'claude-fable-5'), { output_config: { effort: 'low' }, stream: [] });
  t.same(told(chat(samples), 'claude-opus-4-7'), { stream: ['temperature', 'top_k'] });
  t.throws(() => between('chat', 'messages', chat(samples), { model: 'claude-opus-4-7' }), {
    code: 'untranslatable_member',
    param: 'temperature',
  });
  t.end();
});

t.test('the version of a Claude model is read from the names of all resellers', (t) => {
  const older = [
    'anthropic.claude-sonnet-4-5-20250929-v1:0',
    'claude-3-7-sonnet',
    'claude-sonnet-4@20250514',
    'us.anthropic.claude-opus-4-20250514-v1:0',
    'openrouter/anthropic/claude-opus-4.1',
    'claude-35-sonnet',
    'claude-opus-41',
    'claude-sonnet-4-64k',
    'claude-sonnet-20250514',
  ];
  for (const model of older)
    t.match(sent('chat', 'messages', chat({ temperature: 0.2 }), { model }), { temperature: 0.2 }, model);
  for (const model of [
    'anthropic.claude-opus-4-7',
    'anthropic/claude-opus-4.8:beta',
    'claude-sonnet-5@default',
  ])
    t.throws(() => sent('chat', 'messages', chat({ temperature: 0.2 }), { model }), model);
  t.end();
});

t.test('thoughts that Anthropic signed go back as they were, with text or without; others do not', (t) => {
  const blocks = [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'thinking', thinking: '', signature: 'b25seQ' },
    { type: 'redacted_thinking', data: 'cmVk' },
    { type: 'thinking', thinking: 'foreign', signature: 'throughline.gemini.x' },
  ];
  const turns = [HI, { role: 'assistant', content: 'ok', thinking_blocks: blocks }, HI];
  const [, assistant] = sent('chat', 'messages', chat({ messages: turns }))['messages'] as Json[];
  t.same(assistant?.['content'], [...blocks.slice(0, 3), { type: 'text', text: 'ok' }]);
  const own = (encrypted_content: string): Json => ({
    type: 'reasoning',
    summary: [{ text: 'hm' }],
    encrypted_content,
  });
  const items = [
    { role: 'user', content: 'hi' },
    own('throughline.messages.c2ln'),
    own('throughline.messages_redacted.cmVk'),
    own('b3BlbmFp'),
    { role: 'assistant', content: 'ok' },
    { role: 'user', content: 'on' },
  ];
  const [, replayed] = sent('responses', 'messages', { input: items })['messages'] as Json[];
  t.same(replayed?.['content'], [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'cmVk' },
    { type: 'text', text: 'ok' },
  ]);
  t.end();
});

t.test('marks of caches are kept, four at most', (t) => {
  const cache_control = { type: 'ephemeral' };
  const part = (text: string): object => ({ type: 'text', text, cache_control });
  const turns = [
    { role: 'system', content: ['a', 'b', 'c'].map(part) },
    { role: 'user', content: ['d', 'e'].map(part) },
  ];
  const text = JSON.stringify(sent('chat', 'messages', { messages: turns }));
  t.equal(text.match(/cache_control/g)?.length, 4);
  t.end();
});

t.test('a schema of the output is cleaned; serial calls are asked for inside the choice', (t) => {
  const schema = {
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 1, oneOf: [{ const: 1 }] },
      list: { type: 'array', items: { minLength: 2 } },
    },
  };
  const structured = chat({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } });
  t.same(sent('chat', 'messages', structured)['output_config'], {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { n: { type: 'integer', anyOf: [{ const: 1 }] }, list: { type: 'array', items: {} } },
        additionalProperties: false,
      },
    },
  });
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const serial = { tools, parallel_tool_calls: false };
  t.same(sent('chat', 'messages', chat(serial))['tool_choice'], {
    type: 'auto',
    disable_parallel_tool_use: true,
  });
  t.same(sent('chat', 'messages', chat({ ...serial, tool_choice: 'none' }))['tool_choice'], { type: 'none' });
  t.end();
});

t.test('older models write JSON as the input of a tool, which the caller gets as text', (t) => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } } };
  const request = chat({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } });
  const older = { model: 'claude-3-5-sonnet-20241022' };
  const translation = between('chat', 'messages', request, { ...older, stream: false });
  t.match(JSON.parse(translation.body.toString()), {
    tools: [{ name: 'json_answer', input_schema: schema }],
    tool_choice: { type: 'tool', name: 'json_answer' },
  });
  const block = { type: 'tool_use', id: 't', name: 'json_answer', input: { n: 1 } };
  t.match(JSON.parse(translation.answer({ content: [block], stop_reason: 'tool_use' }).toString()), {
    choices: [{ message: { content: '{"n":1}' }, finish_reason: 'stop' }],
  });
  const stream = streamed(between('chat', 'messages', request, older), [
    named('message_start', { message: { id: 'msg_1' } }),
    named('content_block_start', { index: 0, content_block: { ...block, input: {} } }),
    named('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: '{"n":1}' } }),
    named('content_block_stop', { index: 0 }),
    named('message_stop', {}),
  ]);
  t.match(readStream('chat', stream), { texts: '{"n":1}', calls: [], reason: 'stop' });
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const beside = sent('chat', 'messages', { ...request, tools }, older);
  t.match(beside['tool_choice'], { type: 'any' });
  t.end();
});

t.test('a document that stands by its address is sent so', (t) => {
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'https://example.test/a.pdf' } };
  const request = chat({ messages: [{ role: 'user', content: [file] }] });
  const source = { type: 'url', url: 'https://example.test/a.pdf' };
  t.match(sent('chat', 'messages', request)['messages'], [{ content: [{ type: 'document', source }] }]);
  t.end();
});

t.test('of tools that may not be called, none is offered', (t) => {
  const names = (request: Json, from: 'chat' | 'responses' | 'gemini'): unknown => {
    const body = sent(from, 'messages', request);
    return [(body['tools'] as Json[]).map(({ name }) => name), body['tool_choice']];
  };
  const any = { type: 'any' };
  const own = ['a', 'b', 'c'].map((name) => ({ type: 'function', function: { name } }));
  const allowed_tools = { mode: 'required', tools: own.slice(1) };
  const choice = { type: 'allowed_tools', allowed_tools };
  t.same(names(chat({ tools: own, tool_choice: choice }), 'chat'), [['b', 'c'], any]);
  const auto = { ...choice, allowed_tools: { ...allowed_tools, mode: 'auto' } };
  t.same(names(chat({ tools: own, tool_choice: auto }), 'chat'), [['b', 'c'], { type: 'auto' }]);
  const flat = ['a', 'b', 'c'].map((name) => ({ type: 'function', name }));
  const tool_choice = { type: 'allowed_tools', mode: 'required', tools: flat.slice(1) };
  t.same(names({ input: 'hi', tools: flat, tool_choice }, 'responses'), [['b', 'c'], any]);
  const gemini = {
    contents: [{ parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['b', 'c'] } },
  };
  t.same(names(gemini, 'gemini'), [['b', 'c'], any]);
  t.end();
});

t.test('documents, pictures by address, and a conversation that the assistant begins', (t) => {
  const content = [
    { type: 'image_url', image_url: 'https://example.test/a.png' },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
    { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain,hello' } },
  ];
  const turns = [
    { role: 'assistant', content: 'Hello  ' },
    { role: 'user', content },
    { role: 'assistant', content: 'So ' },
  ];
  t.same(sent('chat', 'messages', { messages: turns })['messages'], [
    { role: 'user', content: [{ type: 'text', text: '...' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello  ' }] },
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
          title: 'a.pdf',
        },
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'hello' },
          title: 'a.txt',
        },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'So' }] },
  ]);
  t.end();
});
