// Requests of Gemini: roles, results by name and order, signatures, schemas, thinking by model.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { sent } from '../fixture/talk.ts';

const HI = { role: 'user', content: 'hi' };
const chat = (more: object): Json => ({ model: 'm', messages: [HI], ...more });
const call = (id: string, args = ''): object => ({
  id,
  type: 'function',
  function: { name: `f_${id}`, arguments: args },
});
const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: `r_${id}` });
const two = chat({
  messages: [
    HI,
    { role: 'assistant', tool_calls: [call('a'), call('b', '{"x":1}')] },
    result('b'),
    result('a'),
  ],
});

t.test('results stand in one content, by the name and the order of their calls', (t) => {
  t.same(sent('chat', 'gemini', two, { model: 'gemini-2.5-pro' })['contents'], [
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [{ functionCall: { name: 'f_a', args: {} } }, { functionCall: { name: 'f_b', args: { x: 1 } } }],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'f_a', response: { output: 'r_a' } } },
        { functionResponse: { name: 'f_b', response: { output: 'r_b' } } },
      ],
    },
  ]);
  t.end();
});

t.test('Gemini 3 gets the ids by which it pairs calls and results; older models refuse them', (t) => {
  const ids = (model: string): unknown => {
    const contents = sent('chat', 'gemini', two, { model })['contents'] as { parts: readonly Json[] }[];
    const [, calls, results] = contents.map(({ parts }) => parts);
    const idOf = (part: Json): unknown => {
      const { id } = (part['functionCall'] ?? part['functionResponse']) as Json;
      return id;
    };
    return [calls?.map(idOf), results?.map(idOf)];
  };
  for (const model of ['gemini-3.5-flash', 'vertex_ai/gemini-3-pro', 'gemini/gemini-flash-lite-latest'])
    t.same(ids(model), [
      ['a', 'b'],
      ['a', 'b'],
    ]);
  const none = [undefined, undefined];
  for (const model of ['gemini-2.5-pro', 'gemini-2.0-flash', 'gemini-pro', 'any'])
    t.same(ids(model), [none, none], model);
  const orphan = chat({ messages: [HI, { ...result('x'), name: 'f' }] });
  const [first] = sent('chat', 'gemini', orphan, { model: 'gemini-3-pro' })['contents'] as {
    parts: readonly Json[];
  }[];
  t.same(first?.parts[0], { functionResponse: { name: 'f', response: { output: 'r_x' } } }, 'of no call');
  t.end();
});

t.test('results stand in the order of their calls: those of one name are paired by nothing else', (t) => {
  const read = (id: string): object => ({
    id,
    type: 'function',
    function: { name: 'read', arguments: `{"path":"${id}"}` },
  });
  const request = chat({
    messages: [
      HI,
      { role: 'assistant', tool_calls: [read('a'), read('b'), read('c')] },
      ...['c', 'x', 'a', 'b'].map((id) => ({ ...result(id), name: 'read' })),
      { role: 'user', content: 'go on' },
    ],
  });
  const contents = sent('chat', 'gemini', request)['contents'] as { parts: readonly Json[] }[];
  t.match(contents[2]?.parts, [
    ...['r_a', 'r_b', 'r_c', 'r_x'].map((output) => ({ functionResponse: { response: { output } } })),
    { text: 'go on' },
  ]);
  t.end();
});

t.test(
  'a document of text that a tool returns is text; other media stand inside the result, or after it',
  (t) => {
    const source = { type: 'text', media_type: 'text/plain', data: 'notes' };
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'cG5n' } };
    const content = [{ type: 'text', text: 'read' }, { type: 'document', source }, image];
    const request = {
      max_tokens: 9,
      messages: [
        HI,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] },
      ],
    };
    const told = (model: string): unknown => {
      const contents = sent('messages', 'gemini', request, { model })['contents'] as Json[];
      return contents[2]?.['parts'];
    };
    const inlineData = { mimeType: 'image/png', data: 'cG5n' };
    const response = { output: 'read\nnotes' };
    t.same(told('gemini-3-pro'), [
      { functionResponse: { id: 'a', name: 'f', response, parts: [{ inlineData }] } },
    ]);
    t.same(told('gemini-2.5-pro'), [{ functionResponse: { name: 'f', response } }, { inlineData }]);
    t.end();
  },
);

t.test(
  'Gemini 3 gets a signature on the first call of a turn: its own, or the one that it takes for others',
  (t) => {
    const signatures = (request: Json, model: string): unknown => {
      const [, contents] = sent('chat', 'gemini', request, { model })['contents'] as Json[];
      const { parts } = contents as { parts: readonly Json[] };
      return parts.map((part) => part['thoughtSignature']);
    };
    t.same(signatures(two, 'gemini-2.5-flash'), [undefined, undefined]);
    for (const model of ['google/gemini-3-flash', 'gemini-pro-latest'])
      t.same(signatures(two, model), ['skip_thought_signature_validator', undefined], model);
    const thinking_blocks = [{ type: 'redacted_thinking', data: 'throughline.gemini.Z2Vt' }];
    const own = chat({
      messages: [HI, { role: 'assistant', thinking_blocks, tool_calls: [call('a'), call('b')] }],
    });
    t.same(signatures(own, 'gemini-3-pro'), ['Z2Vt', undefined]);
    t.end();
  },
);

t.test('the signature of another vendor returns through a Gemini client to where it came from', (t) => {
  const thoughtSignature = Buffer.from('throughline.messages.c2ln').toString('base64');
  const parts = (thought: object[]): Json => ({
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      {
        role: 'model',
        parts: [...thought, { text: 'ok' }, { functionCall: { name: 'f', args: {} }, thoughtSignature }],
      },
      { role: 'user', parts: [{ function_response: { name: 'f', response: { result: { a: 1 } } } }] },
    ],
  });
  const [, assistant, last] = sent('gemini', 'messages', parts([{ text: 'hm', thought: true }]))[
    'messages'
  ] as Json[];
  const id = 'call_1_f';
  t.same(assistant?.['content'], [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'text', text: 'ok' },
    { type: 'tool_use', id, name: 'f', input: {} },
  ]);
  t.same(last?.['content'], [
    { type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: '{"a":1}' }] },
  ]);
  const [, bare] = sent('gemini', 'messages', parts([]))['messages'] as Json[];
  t.match(bare?.['content'], [{ type: 'text' }, { type: 'thinking', thinking: '', signature: 'c2ln' }]);
  t.end();
});

t.test('one object stands for a list of one, as in the examples of Google’s documentation', (t) => {
  const declaration = { name: 'f', parameters: { type: 'OBJECT' } };
  const request = {
    system_instruction: { parts: { text: 'be brief' } },
    contents: { role: 'user', parts: { text: 'hi' } },
    tools: { function_declarations: declaration },
  };
  t.match(sent('gemini', 'chat', request), {
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
    ],
    tools: [{ function: { name: 'f' } }],
  });
  t.end();
});

t.test('a history that keeps a content per frame is one turn', (t) => {
  const model = (part: object): object => ({ role: 'model', parts: [part] });
  const thoughtSignature = Buffer.from('throughline.messages.c2ln').toString('base64');
  const contents = [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    ...['Both ', 'again.'].map((text) => model({ text, thought: true })),
    ...['Once ', 'more.'].map((text) => model({ text })),
    model({ functionCall: { id: 'c', name: 'f', args: {} }, thoughtSignature }),
    { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: {} } }] },
  ];
  t.match(sent('gemini', 'messages', { contents })['messages'], [
    { role: 'user', content: [{ text: 'a' }, { text: 'b' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Both again.', signature: 'c2ln' },
        { type: 'text', text: 'Once more.' },
        { type: 'tool_use', id: 'c' },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] },
  ]);
  t.end();
});

t.test('calls of one name are matched in their order', (t) => {
  const functionCall = { name: 'f', args: {} };
  const answer = (output: string): object => ({ functionResponse: { name: 'f', response: { output } } });
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [{ functionCall }, { functionCall: { ...functionCall, id: 'own' } }, { functionCall }],
    },
    {
      role: 'user',
      parts: [
        answer('1'),
        { functionResponse: { id: 'own', name: 'f', response: { error: 'e' } } },
        answer('3'),
      ],
    },
  ];
  const turns = sent('gemini', 'chat', { contents })['messages'] as Json[];
  const { tool_calls: calls } = turns[1] as { tool_calls: readonly Json[] };
  const ids = calls.map(({ id }) => id);
  t.same(ids, ['call_1_f', 'own', 'call_3_f']);
  t.same(
    turns.slice(2).map((turn) => [turn['tool_call_id'], turn['content']]),
    [
      ['call_1_f', '1'],
      ['own', 'Error: e'],
      ['call_3_f', '3'],
    ],
  );
  t.end();
});

t.test('a result with an id that no call states belongs to the first call of its name without one', (t) => {
  const functionCall = { name: 'f', args: {} };
  const answer = (id: string): object => ({ functionResponse: { id, name: 'f', response: { output: id } } });
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [{ functionCall: { ...functionCall, id: 'own' } }, { functionCall }, { functionCall }],
    },
    { role: 'user', parts: [answer('f-1'), answer('own'), answer('f-2'), answer('f-3')] },
  ];
  const turns = sent('gemini', 'chat', { contents })['messages'] as Json[];
  t.same(
    turns.slice(2).map((turn) => [turn['tool_call_id'], turn['content']]),
    [
      ['call_2_f', 'f-1'],
      ['own', 'own'],
      ['call_3_f', 'f-2'],
      ['f-3', 'f-3'],
    ],
  );
  t.end();
});

t.test('schemas keep what Gemini takes', (t) => {
  const parameters = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      const: { const: 'a' },
      ref: { $ref: '#/definitions/x' },
      s: { type: 'string', pattern: 'a', minLength: 1 },
    },
    definitions: { x: { type: 'string', default: 'y' } },
    additionalProperties: false,
  };
  const request = chat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
  t.same(sent('chat', 'gemini', request)['tools'], [
    {
      functionDeclarations: [
        {
          name: 'f',
          description: '',
          parametersJsonSchema: {
            type: 'object',
            properties: { const: { enum: ['a'] }, ref: { $ref: '#/$defs/x' }, s: { type: 'string' } },
            additionalProperties: false,
            $defs: { x: { type: 'string' } },
          },
        },
      ],
    },
  ]);
  t.end();
});

t.test('a reference stands alone, and an allOf of one is that one', (t) => {
  const $ref = '#/$defs/Address';
  const parameters = {
    type: 'object',
    properties: {
      home: { $ref, description: 'home', title: 'Home' },
      work: { allOf: [{ $ref: '#/definitions/Address' }], description: 'work', default: null },
      age: { allOf: [{ type: 'integer', title: 'Age', exclusiveMinimum: 0 }], description: 'years' },
      both: { allOf: [{ $ref }, { type: 'object' }], description: 'both' },
      more: { allOf: [{ $ref }], properties: { x: { type: 'string' } } },
    },
    $defs: { Address: { type: 'object', properties: { street: { type: 'string' } } } },
  };
  const request = chat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
  const [tool] = sent('chat', 'gemini', request)['tools'] as { functionDeclarations: readonly Json[] }[];
  const schema = tool?.functionDeclarations[0]?.['parametersJsonSchema'] as Json;
  t.same(schema['properties'], {
    home: { $ref },
    work: { $ref },
    age: { type: 'integer', title: 'Age', description: 'years' },
    both: { description: 'both' },
    more: { properties: { x: { type: 'string' } } },
  });
  t.same(schema['$defs'], parameters.$defs);
  t.end();
});

t.test('Gemini’s own schemas become JSON Schema: types, limits that are texts, what may be null', (t) => {
  const parameters = {
    type: 'OBJECT',
    properties: {
      list: { type: 'ARRAY', items: { type: 'STRING', maxLength: '64' }, minItems: '1', maxItems: 9 },
      name: { type: 'STRING', nullable: true, minLength: 'x' },
      either: { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }], nullable: true },
      word: { type: 'STRING', enum: ['a'], nullable: true },
    },
  };
  const request = {
    contents: [{ parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f', parameters }] }],
  };
  const [tool] = sent('gemini', 'chat', request)['tools'] as { function: { parameters: Json } }[];
  t.same(tool?.function.parameters, {
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'string', maxLength: 64 }, minItems: 1, maxItems: 9 },
      name: { type: ['string', 'null'], minLength: 'x' },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
      word: { type: ['string', 'null'], enum: ['a', null] },
    },
  });
  t.end();
});

t.test('thinking is a level for Gemini 3 and a budget before', (t) => {
  const config = (reasoning_effort: string, model: string): unknown =>
    (sent('chat', 'gemini', chat({ reasoning_effort }), { model })['generationConfig'] as Json)[
      'thinkingConfig'
    ];
  t.same(config('medium', 'gemini-3-pro-preview'), { includeThoughts: true, thinkingLevel: 'high' });
  t.same(config('medium', 'gemini-3-flash'), { includeThoughts: true, thinkingLevel: 'medium' });
  t.same(config('none', 'gemini-3-flash'), { thinkingLevel: 'low' });
  t.same(config('medium', 'gemini-2.5-pro'), { includeThoughts: true, thinkingBudget: 2048 });
  t.same(config('none', 'gemini-2.5-flash'), { thinkingBudget: 0 });
  t.same(config('none', 'google/gemini-2.5-pro'), { thinkingBudget: 128 }, 'it refuses 0');
  t.end();
});

t.test('a budget to think stays within what the model takes', (t) => {
  const budget = (budget_tokens: number, model: string): unknown => {
    const request = { max_tokens: 64_000, messages: [HI], thinking: { type: 'enabled', budget_tokens } };
    const config = sent('messages', 'gemini', request, { model })['generationConfig'] as Json;
    return (config['thinkingConfig'] as Json)['thinkingBudget'];
  };
  for (const [model, least, most] of [
    ['gemini-2.5-flash', 1, 24_576],
    ['google/gemini-2.5-flash-lite', 512, 24_576],
    ['gemini-2.5-pro', 128, 32_768],
  ] as const) {
    t.equal(budget(1, model), least, model);
    t.equal(budget(2_000, model), 2_000, model);
    t.equal(budget(63_999, model), most, model);
  }
  t.equal(budget(31_999, 'gemini-2.5-flash'), 24_576, 'what Claude Code asks for');
  t.end();
});

t.test('settings, a choice by name, structured output', (t) => {
  const schema = { type: 'object', properties: {} };
  const request = chat({
    max_tokens: 5,
    temperature: 0,
    top_p: 0.5,
    seed: 1,
    stop: 'x',
    presence_penalty: 1,
    tools: [{ type: 'function', function: { name: 'f' } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
  });
  t.match(sent('chat', 'gemini', request), {
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      maxOutputTokens: 5,
      temperature: 0,
      topP: 0.5,
      seed: 1,
      stopSequences: ['x'],
      presencePenalty: 1,
      responseMimeType: 'application/json',
      responseJsonSchema: schema,
    },
  });
  t.end();
});
