// What counts as text of a prompt and of an answer, in every protocol, and what does not.
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { gemini } from '../../../proxy/protocols/gemini.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { answerTexts, promptTexts } from '../../../proxy/protocols/text.ts';

const prompt = (value: unknown): readonly string[] => promptTexts(JSON.stringify(value), chat.text).texts;

t.test('the texts of a prompt, wherever a protocol puts them', async (t) => {
  t.same(
    prompt({
      model: 'not me',
      user: 'nor me',
      messages: [
        { role: 'system', content: 's' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'u' },
            { type: 'image_url', image_url: { url: 'x' } },
          ],
        },
        {
          role: 'assistant',
          tool_calls: [{ id: 'i', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'i', content: 'r' },
      ],
    }),
    ['s', 'u', 'f', '{}', 'r'],
  );
  t.same(
    prompt({
      system: [{ type: 'text', text: 's', cache_control: {} }],
      messages: [{ role: 'user', content: 'u' }],
    }),
    ['u', 's'],
  );
  t.same(
    prompt({ instructions: 'i', input: [{ role: 'user', content: [{ type: 'input_text', text: 'u' }] }] }),
    ['u', 'i'],
  );
  t.same(prompt({ prompt: ['a', 'b'], tools: [{ name: 't' }] }), ['a', 'b', '[{"name":"t"}]']);
  t.same(prompt({ messages: [{ content: 'data:image/png;base64,AAAA' }] }), []);
  t.same(promptTexts('{"messages":[{"content":"cut', chat.text).texts, ['{"messages":[{"content":"cut']);
  t.equal(promptTexts('{"input":[1,2,3]}', chat.text).tokens, 3, 'tokens are tokens');
  const lists = promptTexts('{"input":[[1,2,3],"a",[4,5],[]],"prompt":[[6]]}', chat.text);
  t.same(lists, { texts: ['a'], tokens: 6 }, 'also in a list of prompts');
  t.equal(promptTexts('{"messages":[{},{}]}', chat.text).tokens, 8);
});

t.test("what is no text in Gemini's requests is none in either spelling", async (t) => {
  const data = 'aGVsbG8=';
  const said = (contents: object, instruction: object): readonly string[] =>
    promptTexts(JSON.stringify({ contents: [contents], ...instruction }), gemini.text).texts;
  const parts = [{ text: 's' }];
  t.same(
    said(
      {
        parts: [{ text: 'a', thoughtSignature: data }, { fileData: { fileUri: 'gs://x', mimeType: 'b/c' } }],
      },
      { systemInstruction: { parts } },
    ),
    ['a', 's'],
  );
  t.same(
    said(
      {
        parts: [
          { text: 'a', thought_signature: data },
          { file_data: { file_uri: 'gs://x', mime_type: 'b/c' } },
        ],
      },
      { system_instruction: { parts } },
    ),
    ['a', 's'],
  );
});

t.test('the texts of an answer are what its events add', async (t) => {
  const of = (protocol: Protocol, ...events: unknown[]): readonly string[] => {
    const text = events.map((one) => `event: x\ndata: ${JSON.stringify(one)}\n\n`).join('');
    const head = Buffer.from(`${text}data: [DONE]\n\ndata: {"choices":[{"delta":{"content":"cut`);
    return answerTexts({ form: 'events', head, bytes: head.length }, protocol.text).texts;
  };
  t.same(
    of(
      chat,
      {
        id: 'c',
        model: 'm',
        choices: [{ index: 0, delta: { role: 'assistant', content: 'a' }, finish_reason: null }],
      },
      {
        choices: [
          { delta: { reasoning_content: 'r', tool_calls: [{ id: 'i', function: { arguments: '{' } }] } },
        ],
      },
    ),
    ['a', 'r', '{'],
  );
  t.same(
    of(
      messages,
      { type: 'message_start', message: { content: [] } },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } },
      { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{' } },
      { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 'no text' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ),
    ['a', '{'],
  );
  t.same(
    of(
      responses,
      { type: 'response.output_text.delta', delta: 'a' },
      { type: 'response.output_text.done', text: 'a' },
      { type: 'response.function_call_arguments.delta', delta: '{' },
    ),
    ['a', '{'],
  );
  const json = Buffer.from('{"content":[{"type":"text","text":"a"}],"id":"i","model":"m"}');
  t.same(answerTexts({ form: 'json', head: json, bytes: 1 }, messages.text).texts, ['a']);
});

t.test('what is said beside an answer is no text of it', async (t) => {
  const of = (protocol: Protocol, answer: object): readonly string[] => {
    const head = Buffer.from(JSON.stringify(answer));
    return answerTexts({ form: 'json', head, bytes: head.length }, protocol.text).texts;
  };
  t.same(
    of(gemini, {
      candidates: [
        { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'no call', citationMetadata: { a: 'b' } },
      ],
    }),
    [],
  );
  t.same(of(chat, { choices: [{ message: { content: 'a' }, error: { message: 'x' }, matched_stop: 'y' }] }), [
    'a',
  ]);
  t.same(prompt({ messages: [{ role: 'user', content: [{ error: 'of a user' }] }] }), ['of a user']);
});

t.test('of an answer that is larger than what is kept the beginning counts', async (t) => {
  const whole = JSON.stringify({
    id: 'c',
    choices: [{ index: 0, message: { content: 'many words '.repeat(9) } }],
  });
  for (const end of [60, 80, 100]) {
    const head = Buffer.from(whole.slice(0, end));
    t.same(answerTexts({ form: 'json', head, bytes: whole.length }, chat.text).texts, [
      whole.slice(whole.indexOf('many'), end),
    ]);
    t.same(
      answerTexts({ form: 'json', head, bytes: end }, chat.text).texts,
      [],
      'one that broke off is none',
    );
  }
});

t.test('of an event that is larger than what is kept the beginning counts, wherever it is cut', async (t) => {
  const text = 'a "quoted" \\ line\nand \u0007 more of it';
  const whole = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}`;
  const from = whole.indexOf('"content":"') + '"content":"'.length;
  let longest = 0;
  for (let end = from; end < whole.length; end += 1) {
    const delivered = {
      form: 'events',
      head: Buffer.from(whole.slice(0, end)),
      bytes: whole.length,
    } as const;
    const [found = ''] = answerTexts(delivered, chat.text).texts;
    t.ok(text.startsWith(found), `${end}: ${found}`);
    t.ok(found.length >= longest, 'the more is kept, the more is read');
    longest = found.length;
  }
  t.equal(longest, text.length);
});
