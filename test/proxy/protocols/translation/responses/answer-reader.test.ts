// Whole answers of responses: what is one, and what goes on behind it.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { between } from '../fixture/talk.ts';

const asked: Json = { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 };
const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }];
const answered = (status: string): Json =>
  JSON.parse(
    between('messages', 'responses', asked, { stream: false })
      .answer({ id: 'resp_1', status, output })
      .toString(),
  ) as Json;

t.test('an answer that goes on in the background is not told as finished', (t) => {
  for (const status of ['queued', 'in_progress'])
    t.throws(() => answered(status), { code: 'bad_upstream_answer', message: 'not finished' }, status);
  t.match(answered('completed'), { stop_reason: 'end_turn', content: [{ text: 'a' }] });
  t.end();
});
