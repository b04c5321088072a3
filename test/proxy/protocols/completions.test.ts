// Completions: shapes as OpenAI and vLLM send them.
import t from 'tap';
import { completions } from '../../../proxy/protocols/completions.ts';
import { DONE, USAGE, data, run, stateOf } from '../relay/fixture/streams.ts';
import { asked, openings, readAnswer, stated, written } from './fixture/read.ts';

const text = (value: string, finish: string | null = null): string =>
  data({
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1_760_000_000,
    model: 'babbage',
    choices: [{ text: value, index: 0, logprobs: null, finish_reason: finish }],
    usage: null,
  });
const usageOnly = data({ id: 'cmpl-1', model: 'babbage', choices: [], usage: USAGE });

t.test('usage of a JSON answer and of a stream', async (t) => {
  const answer = {
    id: 'cmpl-1',
    model: 'babbage',
    choices: [{ text: 'x', finish_reason: 'length' }],
    usage: USAGE,
  };
  const reading = readAnswer(completions, answer);
  t.match(reading, { id: 'cmpl-1', model: 'babbage' });
  t.strictSame(stated(completions, reading.usage), { prompt: 3, completion: 2, total: 5 });
  t.strictSame(run(completions, [text('x', 'stop'), usageOnly, DONE]).tap.usage, USAGE);
});

t.test('the end is a finish reason, and [DONE] is the very last', async (t) => {
  t.match(stateOf(run(completions, [text('a'), text('b')]).tap), { terminal: false, id: 'cmpl-1' });
  t.match(stateOf(run(completions, [text('a'), text('', 'length')]).tap), {
    terminal: true,
    finished: false,
  });
  t.match(stateOf(run(completions, [text('a'), DONE]).tap), { terminal: true, finished: true });
});

t.test('first token, texts, and no continuation', async (t) => {
  t.equal(openings(completions, [': ping\n\n', text(''), text(' a')]), 2);
  t.same(asked(completions, { model: 'm', prompt: ['a', 'b'], max_tokens: 3 }), ['a', 'b']);
  t.same(asked(completions, { model: 'm', prompt: [1, 2] }), [], 'tokens are counted as they stand');
  t.equal(written(completions, [text('a'), text('b', 'stop'), DONE]), 'ab');
  t.equal(completions.continuation, null);
});
