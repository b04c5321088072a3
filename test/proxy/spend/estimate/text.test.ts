// What counts as text of a prompt and of an answer, in every family, and what does not.
import t from 'tap';
import { answerTexts, promptTexts } from '../../../../proxy/spend/estimate/text.ts';

const prompt = (value: unknown): readonly string[] => promptTexts(JSON.stringify(value)).texts;

t.test('the texts of a prompt, wherever a family puts them', async (t) => {
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
  t.same(promptTexts('{"messages":[{"content":"cut').texts, ['{"messages":[{"content":"cut']);
  t.equal(promptTexts('{"input":[1,2,3]}').tokens, 3, 'tokens are tokens');
  t.equal(promptTexts('{"messages":[{},{}]}').tokens, 8);
});

t.test('the texts of an answer are what its events add', async (t) => {
  const of = (family: 'chat' | 'messages' | 'responses', ...events: unknown[]): readonly string[] => {
    const text = events.map((one) => `event: x\ndata: ${JSON.stringify(one)}\n\n`).join('');
    const head = Buffer.from(`${text}data: [DONE]\n\ndata: {"choices":[{"delta":{"content":"cut`);
    return answerTexts({ form: 'events', head, bytes: head.length }, family).texts;
  };
  t.same(
    of(
      'chat',
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
      'messages',
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
      'responses',
      { type: 'response.output_text.delta', delta: 'a' },
      { type: 'response.output_text.done', text: 'a' },
      { type: 'response.function_call_arguments.delta', delta: '{' },
    ),
    ['a', '{'],
  );
  const json = Buffer.from('{"content":[{"type":"text","text":"a"}],"id":"i","model":"m"}');
  t.same(answerTexts({ form: 'json', head: json, bytes: 1 }, 'messages').texts, ['a']);
});
