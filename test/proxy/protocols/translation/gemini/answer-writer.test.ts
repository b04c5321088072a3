// Failures in a stream, and refusals, as Gemini's clients read them.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { data, DONE, named } from '../../../relay/fixture/streams.ts';
import { between, eventsOf, streamed } from '../fixture/talk.ts';

const REQUEST = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };

t.test('a quota that is used up is 429, which clients know, and no internal error', (t) => {
  const error = { code: 'insufficient_quota', message: 'You exceeded your current quota.' };
  const [frame] = eventsOf(
    streamed(between('gemini', 'responses', REQUEST), [
      named('response.created', { response: { id: 'resp_1' } }),
      named('response.failed', { response: { status: 'failed', error } }),
    ]),
  );
  t.match(JSON.parse(frame?.data ?? ''), { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } });
  t.end();
});

const NO = 'I cannot help with that.';
const WITHHELD = [{ text: NO, finishReason: 'SAFETY' }];

/** What a client takes from frames, or from a document. */
const read = (frames: readonly Json[]): readonly Json[] =>
  frames.map((frame) => {
    const [candidate] = frame['candidates'] as [Json & { content: { parts: { text: string }[] } }];
    const text = candidate.content.parts.map((part) => part.text).join('');
    return { text, finishReason: candidate['finishReason'] ?? null };
  });
const documentOf = (from: 'chat' | 'responses', answer: Json): readonly Json[] => {
  const { answer: translated } = between('gemini', from, REQUEST, { stream: false });
  return read([JSON.parse(translated(answer).toString()) as Json]);
};
const framesOf = (from: 'chat' | 'responses', events: readonly string[]): readonly Json[] =>
  read(
    eventsOf(streamed(between('gemini', from, REQUEST), events)).map((one) => JSON.parse(one.data) as Json),
  );

t.test('a refusal keeps its text and is none of an answer that is finished', (t) => {
  const content = [{ type: 'refusal', refusal: NO }];
  const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
  const response = { id: 'resp_1', status: 'completed', output: [item] };
  t.same(documentOf('responses', response), WITHHELD);
  t.same(
    framesOf('responses', [
      named('response.created', { response: { id: 'resp_1' } }),
      named('response.refusal.delta', { output_index: 0, content_index: 0, delta: NO }),
      named('response.output_item.done', { output_index: 0, item }),
      named('response.completed', { response }),
    ]),
    WITHHELD,
  );
  const message = { role: 'assistant', content: null, refusal: NO };
  t.same(documentOf('chat', { id: 'c', choices: [{ message, finish_reason: 'stop' }] }), WITHHELD);
  const chunk = (delta: Json, finish_reason: string | null = null): string =>
    data({ id: 'c', choices: [{ index: 0, delta, finish_reason }] });
  t.same(framesOf('chat', [chunk({ refusal: NO }), chunk({}, 'stop'), DONE]), WITHHELD);
  t.end();
});

t.test('an answer without a refusal is finished', (t) => {
  const message = { role: 'assistant', content: 'yes', refusal: null };
  const finished = [{ text: 'yes', finishReason: 'STOP' }];
  t.same(documentOf('chat', { id: 'c', choices: [{ message, finish_reason: 'stop' }] }), finished);
  t.end();
});
