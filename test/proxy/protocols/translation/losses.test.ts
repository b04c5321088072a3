// What cannot be carried: refused with 400 that names the member, or dropped and named.
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { Fault } from '../../../../proxy/errors/fault.ts';
import { between, sent } from './fixture/talk.ts';
import { REQUESTS, type Name } from './fixture/requests.ts';

const HI = { role: 'user', content: 'hi' };
const chat = (more: object): Json => ({ model: 'm', messages: [HI], ...more });
const messages = (more: object): Json => ({ model: 'm', max_tokens: 9, messages: [HI], ...more });
const responses = (more: object): Json => ({ model: 'm', input: 'hi', ...more });
const gemini = (more: object): Json => ({ contents: [{ parts: [{ text: 'hi' }] }], ...more });

function faultOf(from: Name, to: Name, request: Json, dropParams = false): Fault | null {
  try {
    between(from, to, request, { dropParams });
    return null;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
}

const CANNOT: readonly (readonly [Name, Name, Json, string])[] = [
  ['chat', 'messages', chat({ n: 2 }), 'n'],
  ['chat', 'messages', chat({ logprobs: true }), 'logprobs'],
  ['chat', 'messages', chat({ seed: 7 }), 'seed'],
  ['chat', 'messages', chat({ frequency_penalty: 0.5 }), 'frequency_penalty'],
  ['chat', 'messages', chat({ logit_bias: { 1: 2 } }), 'logit_bias'],
  ['chat', 'messages', chat({ temperature: 1.5 }), 'temperature'],
  ['chat', 'messages', chat({ response_format: { type: 'json_object' } }), 'response_format'],
  ['chat', 'messages', chat({ stop: [' '] }), 'stop'],
  ['chat', 'messages', chat({ web_search_options: {} }), 'web_search_options'],
  ['chat', 'messages', chat({ modalities: ['audio'] }), 'modalities'],
  ['chat', 'responses', chat({ stop: 'x' }), 'stop'],
  ['chat', 'gemini', chat({ surprising: 1 }), 'surprising'],
  ['messages', 'chat', messages({ top_k: 5 }), 'top_k'],
  ['messages', 'chat', messages({ stop_sequences: ['1', '2', '3', '4', '5'] }), 'stop_sequences'],
  ['messages', 'chat', messages({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }), 'tools'],
  ['messages', 'responses', messages({ mcp_servers: [{}] }), 'mcp_servers'],
  ['responses', 'chat', responses({ tools: [{ type: 'web_search' }] }), 'tools'],
  ['responses', 'messages', responses({ top_logprobs: 3 }), 'top_logprobs'],
  ['responses', 'chat', responses({ input: [{ type: 'computer_call' }] }), 'input.computer_call'],
  ['gemini', 'chat', gemini({ tools: [{ googleSearch: {} }] }), 'tools'],
  ['gemini', 'chat', gemini({ generationConfig: { candidateCount: 2 } }), 'generationConfig.candidateCount'],
  [
    'gemini',
    'messages',
    gemini({ generation_config: { speech_config: {} } }),
    'generationConfig.speechConfig',
  ],
];

t.test('what would change the answer is refused by its name, or dropped and named', (t) => {
  for (const [from, to, request, member] of CANNOT) {
    const fault = faultOf(from, to, request);
    t.equal(fault?.status, 400, `${from} to ${to}: ${member}`);
    t.equal(fault?.code, 'untranslatable_member', member);
    t.equal(fault?.param, member);
    t.match(fault?.message, member);
    const alone = request['input'] !== undefined && member.startsWith('input.');
    if (!alone) t.has(between(from, to, request, { dropParams: true }).dropped, [member], member);
  }
  t.end();
});

const said = (part: object): object => ({ role: 'user', content: [part] });
const CHAT_FILE = { type: 'file', file: { file_id: 'file-1' } };
const FILE = { type: 'input_file', file_id: 'file-1' };
const PICTURE = { type: 'input_image', file_id: 'file-1', detail: 'auto' };
const BLOCK = { type: 'document', source: { type: 'file', file_id: 'file-1' } };

/** Stored by Google. */
const GS = 'gs://bucket/a.png';
const UPLOADED = 'https://generativelanguage.googleapis.com/v1beta/files/abc-123';
const fileData = (fileUri: string): Json => ({ fileData: { mimeType: 'image/png', fileUri } });
const stored = (fileUri: string): Json => ({ role: 'user', parts: [fileData(fileUri)] });
const RESULT = { parts: [{ functionResponse: { name: 'f', response: {}, parts: [fileData(GS)] } }] };
const RESULT_MEMBER = 'contents[0].parts[0].functionResponse.parts[0].fileData.fileUri';
const image = (url: string): Json => ({ type: 'image_url', image_url: { url } });
const source = (url: string): Json => ({ type: 'image', source: { type: 'url', url } });
const file = (file_url: string): Json => ({ type: 'input_file', file_url });

const REFUSED: readonly (readonly [Name, Name, Json, string])[] = [
  ['responses', 'chat', responses({ previous_response_id: 'resp_1' }), 'previous_response_id'],
  ['responses', 'messages', responses({ conversation: 'conv_1' }), 'conversation'],
  ['responses', 'gemini', responses({ background: true }), 'background'],
  ['responses', 'chat', responses({ input: [{ type: 'item_reference', id: 'rs_1' }] }), 'input[0]'],
  ['responses', 'chat', responses({ prompt: { id: 'p' } }), 'prompt'],
  [
    'responses',
    'messages',
    responses({
      input: [said({ type: 'input_text', text: 'a' }), { type: 'compaction', encrypted_content: 'e' }],
    }),
    'input[1]',
  ],
  ['gemini', 'chat', gemini({ cachedContent: 'cachedContents/1' }), 'cachedContent'],
  ['chat', 'messages', { messages: [{ role: 'function', name: 'f', content: '' }] }, 'messages[0].role'],
  ['chat', 'messages', chat({ messages: [said(CHAT_FILE)] }), 'messages[0].content[0].file.file_id'],
  ['chat', 'gemini', chat({ messages: [said(CHAT_FILE)] }), 'messages[0].content[0].file.file_id'],
  ['messages', 'chat', messages({ messages: [said(BLOCK)] }), 'messages[0].content[0].source.file_id'],
  ['responses', 'messages', responses({ input: [said(FILE)] }), 'input[0].content[0].file_id'],
  ['responses', 'gemini', responses({ input: [said(PICTURE)] }), 'input[0].content[0].file_id'],
  ['gemini', 'chat', gemini({ contents: [stored(GS)] }), 'contents[0].parts[0].fileData.fileUri'],
  ['gemini', 'messages', gemini({ contents: [stored(UPLOADED)] }), 'contents[0].parts[0].fileData.fileUri'],
  ['gemini', 'responses', gemini({ contents: [RESULT] }), RESULT_MEMBER],
  ['chat', 'messages', chat({ messages: [said(image(GS))] }), 'messages[0].content[0].image_url.url'],
  ['messages', 'chat', messages({ messages: [said(source(GS))] }), 'messages[0].content[0].source.url'],
  ['responses', 'messages', responses({ input: [said(file(UPLOADED))] }), 'input[0].content[0].file_url'],
];

t.test(
  'without what a vendor has stored a request means something else: refused, whatever the setting',
  (t) => {
    for (const [from, to, request, member] of REFUSED) {
      const fault = faultOf(from, to, request, true);
      t.equal(fault?.status, 400, member);
      t.equal(fault?.param, member);
    }
    t.end();
  },
);

t.test('a file that Google stores goes to Google’s models, and addresses that all can fetch to all', (t) => {
  const GEMINI = { model: 'gemini/gemini-2.5-pro' };
  for (const url of [GS, UPLOADED]) {
    const [{ parts }] = sent('chat', 'gemini', chat({ messages: [said(image(url))] }))['contents'] as [Json];
    t.match(parts, [{ fileData: { fileUri: url } }]);
    const text = JSON.stringify(sent('gemini', 'chat', gemini({ contents: [stored(url)] }), GEMINI));
    t.match(text, `{"url":"${url}"}`, 'behind a server of chat completions, too');
    const alias = { model: 'fast', baseModel: 'gemini-2.5-flash' };
    const behind = JSON.stringify(sent('gemini', 'chat', gemini({ contents: [stored(url)] }), alias));
    t.match(behind, `{"url":"${url}"}`, 'whatever the gateway calls the model');
  }
  for (const url of ['https://storage.googleapis.com/a/files/b', 'https://a.example/files/gs://b'])
    t.match(JSON.stringify(sent('gemini', 'chat', gemini({ contents: [stored(url)] }))), url);
  t.end();
});

t.test('who refers to an item of an earlier answer is told how to send the item itself', (t) => {
  const request = responses({ input: [{ type: 'item_reference', id: 'rs_1' }] });
  t.match(
    faultOf('responses', 'chat', request, true)?.message,
    /translated answers are not stored.*store: false/,
  );
  const next = responses({ previous_response_id: 'resp_1' });
  t.match(
    faultOf('responses', 'chat', next, true)?.message,
    /translated answers are not stored.*whole conversation.*store: false/,
    'and who goes on from one, that clients can send all of it',
  );
  t.end();
});

t.test('a turn of which nothing can be carried is not left out, and no list is empty', (t) => {
  const sound = { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } };
  const heard = { role: 'user', content: [sound] };
  const talk = [HI, { role: 'assistant', content: 'a' }, heard];
  const video = {
    role: 'user',
    parts: [{ fileData: { mimeType: 'video/mp4', fileUri: 'https://a.example/b' } }],
  };
  const clip = { role: 'user', parts: [{ inlineData: { mimeType: 'audio/wav', data: 'QUJD' } }] };
  const watched = [{ parts: [{ text: 'hi' }] }, { role: 'model', parts: [{ text: 'a' }] }, video];
  const output = { type: 'function_call_output', call_id: 'c', output: [sound] };
  const called = [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, output];
  const options = { dropParams: true };
  const block = { role: 'user', content: [{ type: 'text', text: '...' }] };
  const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: '...' }] };
  for (const [from, to, request, member, last] of [
    ['chat', 'messages', chat({ messages: [heard] }), 'messages', block],
    ['chat', 'messages', chat({ messages: talk }), 'messages', block],
    ['gemini', 'messages', gemini({ contents: [clip] }), 'messages', block],
    ['chat', 'responses', chat({ messages: [heard] }), 'input', item],
    ['chat', 'responses', chat({ messages: talk }), 'input', item],
    ['gemini', 'chat', gemini({ contents: [video] }), 'messages', { role: 'user', content: '...' }],
    ['gemini', 'chat', gemini({ contents: watched }), 'messages', { role: 'user', content: '...' }],
    [
      'messages',
      'chat',
      messages({ messages: [{ role: 'user', content: '' }] }),
      'messages',
      { content: '...' },
    ],
  ] as const) {
    const turns = sent(from, to, request, options)[member] as readonly Json[];
    t.match(turns.at(-1), last, `${from} to ${to}`);
    if (from === 'chat' || from === 'gemini')
      t.ok(between(from, to, request, options).dropped.length > 0, `${from} to ${to}: named`);
  }
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const asked = { role: 'assistant', tool_calls: [call] };
  const played = chat({ messages: [HI, asked, { role: 'tool', tool_call_id: 'c', content: [sound] }] });
  t.match((sent('chat', 'responses', played, options)['input'] as Json[]).at(-1), { output: '' });
  t.match(sent('responses', 'messages', responses({ input: called }), options), {
    messages: [{}, {}, { content: [{ type: 'tool_result', tool_use_id: 'c' }] }],
  });
  t.end();
});

t.test('what only hints is dropped and named, whatever the setting', (t) => {
  const openAi = { store: true, service_tier: 'flex', metadata: { a: 'b' }, prompt_cache_retention: '24h' };
  const named = ['metadata', 'prompt_cache_retention', 'service_tier', 'store'];
  t.same(between('chat', 'messages', chat(openAi)).dropped.toSorted(), named);
  t.same(
    between(
      'responses',
      'chat',
      responses({ ...openAi, include: [], truncation: 'auto' }),
    ).dropped.toSorted(),
    [...named, 'truncation'],
  );
  const claudeCode = messages({
    context_management: { edits: [] },
    metadata: { user_id: 'u', session: 1 },
    system: [{ type: 'text', text: 'x-anthropic-billing-header: cc_version=1' }],
  });
  t.same(between('messages', 'chat', claudeCode).dropped, [
    'context_management',
    'system.x-anthropic-billing-header',
  ]);
  t.same(between('gemini', 'chat', gemini({ safetySettings: [{}] })).dropped, ['safetySettings']);
  t.same(between('chat', 'gemini', chat({ tags: ['a'], guardrails: ['g'] })).dropped, ['tags', 'guardrails']);
  t.end();
});

t.test(
  'a top_k of 1 is no default: a model that takes none refuses it, one that thinks goes without',
  (t) => {
    const request = gemini({ generationConfig: { topK: 1, topP: 1, temperature: 1 } });
    t.throws(() => between('gemini', 'messages', request, { model: 'claude-opus-4-7' }), {
      code: 'untranslatable_member',
      param: 'generationConfig.topK',
    });
    t.equal(sent('gemini', 'messages', request, { model: 'claude-sonnet-4-5' })['top_k'], 1);
    const thinking = gemini({
      generationConfig: { topK: 1, topP: 1, temperature: 1, thinkingConfig: { thinkingBudget: 2_000 } },
    });
    t.same(between('gemini', 'messages', thinking, { model: 'claude-sonnet-4-5' }).dropped, [
      'generationConfig.topK',
    ]);
    t.end();
  },
);

t.test('defaults say nothing: neither refused nor named', (t) => {
  const request = chat({
    n: 1,
    logprobs: false,
    presence_penalty: 0,
    top_p: 1,
    stop: null,
    tools: null,
    seed: null,
  });
  t.same(between('chat', 'messages', request).dropped, []);
  t.notOk('top_p' in sent('chat', 'messages', request));
  t.end();
});

const INVALID: readonly (readonly [Name, Json, string])[] = [
  ['chat', {}, 'messages'],
  ['chat', { messages: [] }, 'messages'],
  ['chat', { messages: 'hi' }, 'messages'],
  ['chat', { messages: [null] }, 'messages[0]'],
  ['chat', { messages: [{ role: 'robot' }] }, 'messages[0].role'],
  ['chat', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
  [
    'chat',
    { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
    'messages[0].content[0].image_url',
  ],
  ['chat', chat({ messages: [said({ type: 'file', file: {} })] }), 'messages[0].content[0].file.file_data'],
  ['responses', responses({ input: [said({ type: 'input_image' })] }), 'input[0].content[0].image_url'],
  ['chat', chat({ temperature: 'hot' }), 'temperature'],
  ['chat', chat({ reasoning_effort: 'huge' }), 'reasoning_effort'],
  ['chat', chat({ tools: [{ type: 'function', function: {} }] }), 'tools[0].function.name'],
  ['messages', {}, 'messages'],
  ['messages', messages({ messages: [{ role: 'user' }] }), 'messages[0].content'],
  ['messages', messages({ tools: [{ name: 'f' }] }), 'tools[0].input_schema'],
  ['messages', messages({ thinking: { type: 'enabled' } }), 'thinking.budget_tokens'],
  ['responses', {}, 'input'],
  ['responses', { input: [] }, 'input'],
  ['responses', { input: [{ type: 'function_call', name: 'f' }] }, 'input[0].call_id'],
  ['gemini', {}, 'contents'],
  ['gemini', { contents: [{ role: 'bot', parts: [] }] }, 'contents[0].role'],
  ['gemini', gemini({ tools: [{ function_declarations: [{}] }] }), 'tools[0].functionDeclarations[0].name'],
];

t.test('a request that is wrong in its own protocol is 400 and names the member', (t) => {
  for (const [from, request, member] of INVALID) {
    const fault = faultOf(from, from === 'gemini' ? 'chat' : 'gemini', request);
    t.equal(fault?.code, 'invalid_member', `${from}: ${member}`);
    t.equal(fault?.param, member);
    t.equal(fault?.status, 400);
  }
  t.end();
});

t.test('the example conversation is carried without a refusal', (t) => {
  for (const from of ['chat', 'messages', 'responses'] as const)
    t.equal(faultOf(from, 'gemini', REQUESTS[from]), null, from);
  t.end();
});
