// Requests of chat completions: what third-party servers take.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { between, sent } from '../fixture/talk.ts';

const HI = { role: 'user', content: 'hi' };
const messages = (more: object): Json => ({ model: 'm', max_tokens: 9, messages: [HI], ...more });
const input = (...items: readonly object[]): Json => ({ input: items });
const user = { type: 'message', role: 'user', content: 'go' };

t.test('the member for the output limit follows the model', (t) => {
  t.match(sent('messages', 'chat', messages({}), { model: 'llama-3' }), { max_tokens: 9 });
  for (const model of ['gpt-5.2', 'openai/o3-mini', 'o1']) {
    const body = sent('messages', 'chat', messages({}), { model });
    t.equal(body['max_completion_tokens'], 9, model);
    t.notOk('max_tokens' in body);
  }
  t.end();
});

t.test('sound goes by the name of its format; OpenAI takes wav and mp3 alone, and no video', (t) => {
  const said = (mimeType: string): Json => ({
    contents: [{ parts: [{ inlineData: { mimeType, data: 'QUJD' } }] }],
  });
  const part = (mimeType: string, model: string): unknown => {
    const [message] = sent('gemini', 'chat', said(mimeType), { model })['messages'] as Json[];
    return (message as { content: unknown[] }).content[0];
  };
  for (const [type, format] of [
    ['audio/mpeg', 'mp3'],
    ['audio/mp3', 'mp3'],
    ['audio/x-wav', 'wav'],
    ['audio/wav;codecs=1', 'wav'],
  ] as const)
    t.match(part(type, 'gpt-4o-audio-preview'), { input_audio: { data: 'QUJD', format } }, type);
  for (const type of ['audio/ogg', 'video/mp4'])
    t.throws(() => part(type, 'openai/gpt-4o'), { code: 'untranslatable_member', param: 'messages.content' });
  t.match(part('audio/ogg', 'google/gemini-2.5-pro'), { input_audio: { format: 'ogg' } });
  t.same(part('video/mp4', 'google/gemini-2.5-pro'), {
    type: 'file',
    file: { filename: 'video', file_data: 'data:video/mp4;base64,QUJD' },
  });
  t.end();
});

t.test('a developer message becomes one of the system, also in the middle', (t) => {
  const developer = (content: string): object => ({ type: 'message', role: 'developer', content });
  const body = sent('responses', 'chat', {
    instructions: 'a',
    ...input(developer('b'), user, developer('c')),
  });
  t.same(body['messages'], [
    { role: 'system', content: 'a\n\nb' },
    { role: 'user', content: 'go' },
    { role: 'system', content: 'c' },
  ]);
  t.end();
});

t.test('parallel calls stay in one message, and their results right behind it', (t) => {
  const call = (id: string): object => ({
    type: 'function_call',
    call_id: id,
    name: 'f',
    arguments: '{}',
    id: 'fc_9',
  });
  const output = (id: string): object => ({
    type: 'function_call_output',
    call_id: id,
    output: id,
    id: 'fco_9',
  });
  const note = { type: 'message', role: 'developer', content: 'note' };
  const body = sent(
    'responses',
    'chat',
    input(user, call('a'), call('b'), note, output('b'), output('a'), user),
  );
  t.match(body['messages'], [
    { role: 'user' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'a' }, { id: 'b' }] },
    { role: 'tool', tool_call_id: 'b', content: 'b' },
    { role: 'tool', tool_call_id: 'a', content: 'a' },
    { role: 'system', content: 'note' },
    { role: 'user', content: 'go' },
  ]);
  t.end();
});

t.test('an output without a call_id is told as text of the user', (t) => {
  const body = sent('responses', 'chat', input(user, { type: 'function_call_output', output: 'done' }));
  t.match(body['messages'], [{ role: 'user', content: [{ text: 'go' }, { text: 'done' }] }]);
  t.end();
});

t.test('ids of calls: long ones and those for Mistral become others, the same on call and result', (t) => {
  const long = 'x'.repeat(90);
  const items = input(
    user,
    { type: 'function_call', call_id: long, name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: long, output: 'y' },
  );
  for (const [model, form] of [
    ['m', /^call_[0-9a-f]{40}$/],
    ['mistral-large', /^[a-z0-9]{9}$/],
  ] as const) {
    const [, call, result] = sent('responses', 'chat', items, { model })['messages'] as Json[];
    const [{ id }] = (call as { tool_calls: [{ id: string }] }).tool_calls;
    t.match(id, form, model);
    t.equal(result?.['tool_call_id'], id);
  }
  t.end();
});

t.test('names of tools that are too long or in a namespace are shortened, and answers get them back', (t) => {
  const name = `mcp__server__${'very_'.repeat(12)}long`;
  const tool = { type: 'function', name, parameters: { type: 'object' } };
  const request = {
    ...input(user),
    tools: [tool, { type: 'namespace', name: 'fs', tools: [{ ...tool, name: 'read' }] }],
  };
  const translation = between('responses', 'chat', request, { stream: false });
  const body = JSON.parse(translation.body.toString()) as { tools: { function: { name: string } }[] };
  const [short, flat] = body.tools.map((one) => one.function.name);
  t.match(short, /^mcp__server__[a-z_]+_[0-9a-f]{8}$/);
  t.equal(short?.length, 64);
  t.equal(flat, 'fs__read');
  const calls = [short, flat].map((one, index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name: one, arguments: '{}' },
  }));
  const answer = { id: 'a', choices: [{ message: { tool_calls: calls }, finish_reason: 'tool_calls' }] };
  t.match(JSON.parse(translation.answer(answer).toString()), {
    output: [
      { type: 'function_call', name },
      { type: 'function_call', name: 'read', namespace: 'fs' },
    ],
  });
  t.end();
});

t.test('a custom tool is a function with one text, and its grammar is told', (t) => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch"' };
  const request = {
    ...input(user),
    tools: [{ type: 'custom', name: 'apply_patch', description: 'Edits.', format }],
  };
  const translation = between('responses', 'chat', request, { stream: false });
  t.match(JSON.parse(translation.body.toString()), {
    tools: [
      {
        function: {
          name: 'apply_patch',
          description: /Edits\.[^]*Begin Patch/,
          parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
        },
      },
    ],
  });
  const call = {
    id: 'c',
    type: 'function',
    function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
  };
  const answer = { choices: [{ message: { tool_calls: [call] }, finish_reason: 'stop' }] };
  t.match(JSON.parse(translation.answer(answer).toString()), {
    output: [{ type: 'custom_tool_call', name: 'apply_patch', call_id: 'c', input: '*** Begin' }],
  });
  t.end();
});

t.test('a thought goes back only where it came from', (t) => {
  const thought = (signature: string): Json =>
    messages({
      messages: [
        HI,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] },
      ],
    });
  const assistant = (signature: string): Json => {
    const [, message] = sent('messages', 'chat', thought(signature))['messages'] as Json[];
    return message ?? {};
  };
  t.equal(assistant('throughline.chat.')['reasoning_content'], 'hm');
  t.match(assistant('throughline.chat.c2ln'), {
    reasoning_content: 'hm',
    thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }],
  });
  for (const signature of ['c2ln', 'throughline.gemini.c2ln', '', 'throughline.unknown.c2ln'])
    t.notOk('reasoning_content' in assistant(signature), signature);
  const blocks = (...content: readonly object[]): unknown => {
    const turns = [HI, { role: 'assistant', content: [...content, { type: 'text', text: 'a' }] }];
    const [, message] = sent('messages', 'chat', messages({ messages: turns }))['messages'] as Json[];
    return message?.['thinking_blocks'];
  };
  t.same(
    blocks(
      { type: 'redacted_thinking', data: 'throughline.chat_unshown.c2ln' },
      { type: 'redacted_thinking', data: 'throughline.chat_redacted.ZGF0YQ' },
    ),
    [
      { type: 'thinking', thinking: '', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'ZGF0YQ' },
    ],
    'a signed thought that was not shown is none that was redacted',
  );
  const redacted = { type: 'redacted_thinking', data: 'ZGF0YQ' };
  const old = 'throughline.chat.ZGF0YQ';
  t.same(blocks({ type: 'redacted_thinking', data: old }), [redacted], 'as version 0.1.0 wrote it');
  const items = [
    user,
    { type: 'reasoning', summary: [], encrypted_content: old },
    { type: 'reasoning', summary: [], encrypted_content: 'throughline.chat_unshown.c2ln' },
    { type: 'message', role: 'assistant', content: 'a' },
  ];
  const [, message] = sent('responses', 'chat', input(...items))['messages'] as Json[];
  t.same(message?.['thinking_blocks'], [redacted, { type: 'thinking', thinking: '', signature: 'c2ln' }]);
  t.end();
});

t.test("Claude Code's user is a label, and its session the key of the cache", (t) => {
  const session = '8f3e1c7a-1111-4222-8333-444455556666';
  const user_id = JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: session });
  const body = sent('messages', 'chat', messages({ metadata: { user_id } }), {
    sessionId: 'other',
    model: 'gpt-5',
  });
  t.match(body['user'], /^user_[0-9a-f]{32}$/);
  t.equal(body['prompt_cache_key'], session);
  t.end();
});

t.test('marks and keys of caches go where they are taken', (t) => {
  const cache_control = { type: 'ephemeral' };
  const request = messages({
    system: [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', cache_control },
    ],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] }],
  });
  const claude = sent('messages', 'chat', request, { model: 'anthropic/claude-sonnet-4-5', sessionId: 's' });
  t.same(claude['messages'], [
    {
      role: 'system',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b', cache_control },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'hi', cache_control }] },
  ]);
  t.notOk('prompt_cache_key' in claude);
  const other = sent('messages', 'chat', request, { model: 'gpt-4.1', sessionId: 's' });
  t.match(other, { prompt_cache_key: 's', messages: [{ content: 'a\n\nb' }, { content: 'hi' }] });
  t.end();
});

t.test('thinking becomes an effort; a tool choice goes only with tools', (t) => {
  const effort = (more: object): unknown => sent('messages', 'chat', messages(more))['reasoning_effort'];
  t.equal(effort({ thinking: { type: 'enabled', budget_tokens: 10_000 } }), 'high');
  t.equal(effort({ thinking: { type: 'enabled', budget_tokens: 2048 } }), 'medium');
  t.equal(effort({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }), 'max');
  t.equal(effort({ thinking: { type: 'disabled' } }), undefined);
  const choice = { type: 'any', disable_parallel_tool_use: true };
  t.notOk('tool_choice' in sent('messages', 'chat', messages({ tool_choice: choice })));
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  t.match(sent('messages', 'chat', messages({ tool_choice: choice, tools })), {
    tool_choice: 'required',
    parallel_tool_calls: false,
  });
  t.end();
});

t.test('a structure with members that may be missing is not strict: OpenAI refuses it so', (t) => {
  const strict = (required: readonly string[]): unknown => {
    const schema = { type: 'object', properties: { a: {}, b: {} }, required, additionalProperties: false };
    const output_config = { format: { type: 'json_schema', schema: { anyOf: [schema] } } };
    const request = { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], output_config };
    const format = sent('messages', 'chat', request)['response_format'];
    return (format as { json_schema: Json }).json_schema['strict'];
  };
  t.equal(strict(['a', 'b']), true);
  t.equal(strict(['a']), undefined);
  t.end();
});
