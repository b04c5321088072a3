// Embeddings: shapes as OpenAI, Cohere and vLLM send them.
import t from 'tap';
import { embeddings } from '../../../proxy/protocols/embeddings.ts';
import { asked, readAnswer, stated } from './fixture/read.ts';

const answer = (more: object): object => ({
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.1, -0.2] }],
  model: 'emb',
  ...more,
});

t.test('usage states the prompt alone', async (t) => {
  const openai = readAnswer(embeddings, answer({ usage: { prompt_tokens: 8, total_tokens: 8 } }));
  t.equal(openai.model, 'emb');
  t.strictSame(stated(embeddings, openai.usage), { prompt: 8, total: 8 });
  const vllm = { prompt_tokens: 8, total_tokens: 8, completion_tokens: 0, prompt_tokens_details: null };
  t.strictSame(stated(embeddings, vllm), { prompt: 8, completion: 0, total: 8 });
  const cohere = readAnswer(embeddings, answer({ meta: { billed_units: { input_tokens: 3 } } }));
  t.strictSame(stated(embeddings, cohere.usage), { prompt: 3 });
});

t.test('of a call without usage the prompt is counted, and no answer', async (t) => {
  t.same(
    embeddings.endpoints.map(({ path, counted }) => [path, counted]),
    [['embeddings', 'prompt']],
  );
  t.same(asked(embeddings, { model: 'm', input: ['a', 'b'], encoding_format: 'float' }), ['a', 'b']);
});
