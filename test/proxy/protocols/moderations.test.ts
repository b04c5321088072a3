// Moderations: the shape that OpenAI sends.
import t from 'tap';
import { moderations } from '../../../proxy/protocols/moderations.ts';
import { readAnswer } from './fixture/read.ts';

t.test('an answer states no usage, and nothing is counted in its place', async (t) => {
  const results = [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.01 } }];
  const reading = readAnswer(moderations, { id: 'modr-1', model: 'omni-moderation-latest', results });
  t.match(reading, { id: 'modr-1', model: 'omni-moderation-latest', usage: null });
  t.equal(moderations.endpoints[0]?.counted, 'nothing');
});
