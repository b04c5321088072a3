// How answers of Gemini end, and what callers are told of it.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { between } from '../fixture/talk.ts';

const asked: Json = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const answered = (finishReason: string): Json =>
  JSON.parse(
    between('chat', 'gemini', asked, { stream: false })
      .answer({ candidates: [{ content: { role: 'model', parts: [] }, finishReason }] })
      .toString(),
  ) as Json;

t.test('an answer that a policy withheld is no finished one', (t) => {
  for (const reason of ['SAFETY', 'MODEL_ARMOR', 'IMAGE_SAFETY', 'ESCALATION', 'PUP_LIMITED_DISABLED'])
    t.match(answered(reason), { choices: [{ finish_reason: 'content_filter' }] }, reason);
  t.end();
});

t.test('an answer that the model wrote wrongly is an error', (t) => {
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE'])
    t.throws(() => answered(reason), { code: 'bad_upstream_answer', message: new RegExp(reason) }, reason);
  t.end();
});

t.test('pieces of a thought are one, with the signature that one of them has', (t) => {
  const thought = (text: string, more: object = {}): object => ({ text, thought: true, ...more });
  const parts = [thought('a'), thought('b', { thoughtSignature: 'Zw' }), { text: 'x' }];
  const translation = between('messages', 'gemini', { ...asked, max_tokens: 9 }, { stream: false });
  const answer = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] };
  t.match(JSON.parse(translation.answer(answer).toString()), {
    content: [
      { type: 'thinking', thinking: 'ab', signature: 'throughline.gemini.Zw' },
      { type: 'text', text: 'x' },
    ],
  });
  t.end();
});
