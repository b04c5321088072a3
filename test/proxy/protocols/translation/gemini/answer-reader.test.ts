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
  for (const reason of ['SAFETY', 'MODEL_ARMOR', 'IMAGE_SAFETY'])
    t.match(answered(reason), { choices: [{ finish_reason: 'content_filter' }] }, reason);
  t.end();
});

t.test('an answer that the model wrote wrongly is an error', (t) => {
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE'])
    t.throws(() => answered(reason), { code: 'bad_upstream_answer', message: new RegExp(reason) }, reason);
  t.end();
});
