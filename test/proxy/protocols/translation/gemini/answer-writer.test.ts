// Failures in a stream, as Gemini's clients read them.
import t from 'tap';
import { named } from '../../../relay/fixture/streams.ts';
import { between, eventsOf, streamed } from '../fixture/talk.ts';

t.test('a quota that is used up is 429, which clients know, and no internal error', (t) => {
  const error = { code: 'insufficient_quota', message: 'You exceeded your current quota.' };
  const request = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
  const [frame] = eventsOf(
    streamed(between('gemini', 'responses', request), [
      named('response.created', { response: { id: 'resp_1' } }),
      named('response.failed', { response: { status: 'failed', error } }),
    ]),
  );
  t.match(JSON.parse(frame?.data ?? ''), { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } });
  t.end();
});
