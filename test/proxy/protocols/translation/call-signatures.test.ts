// Signatures of Gemini behind the ids of calls, as LiteLLM sends them: histories that were begun there go on here, and it stays a
// server that has Gemini behind chat completions.
import { createHash } from 'node:crypto';
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import type { Name } from './fixture/requests.ts';
import { between, eventsOf, sent, streamed } from './fixture/talk.ts';

const SIGNATURE = 'Ab+/9A==';
const ID = 'call_0a1b';
const SIGNED = `${ID}__thought__${SIGNATURE}`;
const GEMINI = { model: 'gemini/gemini-3-pro' };
const HI = { role: 'user', content: 'hi' };

/** Two calls at once, of which the first is signed, in the protocols whose clients keep ids alone. */
const histories = (call: string, result: string): readonly (readonly [Name, Json])[] => {
  const chatCall = (id: string): object => ({
    id,
    type: 'function',
    function: { name: 'f', arguments: '{}' },
  });
  const block = (id: string): object => ({ type: 'tool_use', id, name: 'f', input: {} });
  const item = (call_id: string): object => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' });
  const outputs = [result, 'call_2'];
  return [
    [
      'chat',
      {
        messages: [
          HI,
          { role: 'assistant', tool_calls: [chatCall(call), chatCall('call_2')] },
          ...outputs.map((id) => ({ role: 'tool', tool_call_id: id, content: `r ${id === result}` })),
        ],
      },
    ],
    [
      'messages',
      {
        max_tokens: 9,
        messages: [
          HI,
          { role: 'assistant', content: [block(call), block('call_2')] },
          {
            role: 'user',
            content: outputs.map((id) => ({
              type: 'tool_result',
              tool_use_id: id,
              content: `r ${id === result}`,
            })),
          },
        ],
      },
    ],
    [
      'responses',
      {
        input: [
          { type: 'message', ...HI },
          item(call),
          item('call_2'),
          ...outputs.map((id) => ({
            type: 'function_call_output',
            call_id: id,
            output: `r ${id === result}`,
          })),
        ],
      },
    ],
  ];
};

t.test('reach Gemini, and the result finds its call with the signature in its id or without', (t) => {
  for (const result of [SIGNED, ID])
    for (const [from, request] of histories(SIGNED, result)) {
      const contents = sent(from, 'gemini', request, GEMINI)['contents'] as Json[];
      const call = (id: string): object => ({ functionCall: { id, name: 'f', args: {} } });
      const response = (id: string, output: string): object => ({
        functionResponse: { id, name: 'f', response: { output } },
      });
      t.same(
        contents.slice(1),
        [
          { role: 'model', parts: [{ ...call(ID), thoughtSignature: SIGNATURE }, call('call_2')] },
          { role: 'user', parts: [response(ID, 'r true'), response('call_2', 'r false')] },
        ],
        `${from}, ${result}`,
      );
    }
  t.end();
});

t.test('one that was spoiled on its way is none', (t) => {
  for (const spoiled of [`${ID}__thought__Ab__9A__`, `${ID}__thought__`]) {
    const [first = ['chat', {}]] = histories(spoiled, spoiled);
    const contents = sent('chat', 'gemini', first[1], GEMINI)['contents'] as { parts: Json[] }[];
    t.equal(contents[1]?.parts[0]?.['thoughtSignature'], 'skip_thought_signature_validator', spoiled);
  }
  t.end();
});

t.test(
  'calls whose ids differ in their signatures alone stay two, each with its own and with its result',
  (t) => {
    const call = (id: string): Json => ({
      role: 'assistant',
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
    const result = (tool_call_id: string, content: string): Json => ({ role: 'tool', tool_call_id, content });
    for (const isKept of [true, false]) {
      const [first, second] = ['call_0__thought__AAAA', 'call_0__thought__BBBB'];
      const told = (id: string): string => (isKept ? id : 'call_0');
      const messages = [
        HI,
        call(first),
        result(told(first), 'one'),
        call(second),
        result(told(second), 'two'),
        call(first),
        result(first, 'three'),
      ];
      const contents = sent('chat', 'gemini', { messages }, GEMINI)['contents'] as { parts: Json[] }[];
      const read = contents.slice(1).map(({ parts: [part] }) => {
        const { functionCall, functionResponse, thoughtSignature } = part as Readonly<Record<string, Json>>;
        return { id: functionCall?.['id'] ?? functionResponse?.['id'], signature: thoughtSignature };
      });
      const other = 'call_0_' + createHash('sha256').update(second).digest('hex').slice(0, 12);
      t.same(
        read,
        [
          { id: 'call_0', signature: 'AAAA' },
          { id: 'call_0', signature: undefined },
          { id: other, signature: 'BBBB' },
          { id: other, signature: undefined },
          { id: 'call_0', signature: 'AAAA' },
          { id: 'call_0', signature: undefined },
        ],
        isKept ? 'results with the signature' : 'and without',
      );
      const input = sent('chat', 'responses', { messages }, GEMINI)['input'] as Json[];
      t.same(
        input.slice(1).map((item) => item['call_id']),
        [first, first, `${other}__thought__BBBB`, `${other}__thought__BBBB`, first, first],
      );
    }
    t.end();
  },
);

t.test('no other vendor sees them, and ids are as each takes them', (t) => {
  for (const [from, request] of histories(SIGNED, SIGNED))
    for (const to of ['chat', 'messages', 'responses'] as const) {
      if (from === to) continue;
      const text = JSON.stringify(sent(from, to, request, { model: 'any' }));
      t.notMatch(text, '__thought__', `${from} to ${to}`);
      t.equal(text.split(`"${ID}"`).length - 1, 2, `${from} to ${to}`);
      t.same(between(from, to, request).dropped, ['messages.thinking']);
    }
  const [[, chat] = ['chat', {}]] = histories(`__thought__${SIGNATURE}`, `__thought__${SIGNATURE}`);
  const [, said, told] = sent('chat', 'messages', chat)['messages'] as { content: Json[] }[];
  t.match(said?.content[0]?.['id'], /^call_[0-9a-f]{28}$/);
  t.equal(told?.content[0]?.['tool_use_id'], said?.content[0]?.['id']);
  t.end();
});

t.test('a member of the call states it, as Google’s API for OpenAI’s clients and LiteLLM do', (t) => {
  for (const member of [
    { extra_content: { google: { thought_signature: SIGNATURE } } },
    { provider_specific_fields: { thought_signature: SIGNATURE } },
  ]) {
    const call = { id: ID, type: 'function', function: { name: 'f', arguments: '{}' }, ...member };
    const messages = [HI, { role: 'assistant', tool_calls: [call] }];
    const contents = sent('chat', 'gemini', { messages }, GEMINI)['contents'] as Json[];
    t.match(contents[1], { parts: [{ thoughtSignature: SIGNATURE }] });
  }
  t.end();
});

const called = (id: string, more: object = {}): object => ({
  tool_calls: [{ index: 0, id, type: 'function', function: { name: 'f', arguments: '{}' }, ...more }],
});

t.test('pass through a client of messages to the chat server that stated them, and back', (t) => {
  const asked = { max_tokens: 9, messages: [HI] };
  const calls = [called(SIGNED), called(ID, { extra_content: { google: { thought_signature: SIGNATURE } } })];
  for (const delta of calls) {
    const thought = { type: 'redacted_thinking', data: `throughline.gemini.${SIGNATURE}` };
    const use = { type: 'tool_use', id: ID, name: 'f', input: {} };
    const whole = between('messages', 'chat', asked, { stream: false }).answer({
      choices: [{ message: delta, finish_reason: 'tool_calls' }],
    });
    t.same((JSON.parse(whole.toString()) as Json)['content'], [thought, use]);
    const chunk = (choice: object): string => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
    const stream = streamed(between('messages', 'chat', asked), [
      chunk({ delta }),
      chunk({ delta: {}, finish_reason: 'tool_calls' }),
    ]);
    const opened = eventsOf(stream).flatMap(
      ({ data }) => (JSON.parse(data) as { content_block?: object }).content_block ?? [],
    );
    t.same(opened, [thought, use]);
    const result = { type: 'tool_result', tool_use_id: ID, content: 'r' };
    const messages = [
      HI,
      { role: 'assistant', content: [thought, use] },
      { role: 'user', content: [result] },
    ];
    const back = between('messages', 'chat', { max_tokens: 9, messages }, GEMINI);
    t.match((JSON.parse(back.body.toString()) as Json)['messages'], [
      HI,
      {
        tool_calls: [{ id: SIGNED, extra_content: { google: { thought_signature: SIGNATURE } } }],
        thinking_blocks: undefined,
      },
      { role: 'tool', tool_call_id: SIGNED },
    ]);
    t.same(back.dropped, []);
  }
  t.end();
});

t.test('likewise to a server that has Gemini behind responses', (t) => {
  const thinking_blocks = [{ type: 'redacted_thinking', data: `throughline.gemini.${SIGNATURE}` }];
  const messages = [
    HI,
    { role: 'assistant', thinking_blocks, ...called(ID) },
    { role: 'tool', tool_call_id: ID, content: 'r' },
  ];
  t.match(sent('chat', 'responses', { messages }, GEMINI)['input'], [
    { role: 'user' },
    { type: 'function_call', call_id: SIGNED },
    { type: 'function_call_output', call_id: SIGNED },
  ]);
  t.end();
});
