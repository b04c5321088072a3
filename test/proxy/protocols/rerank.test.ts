// Rerank: shapes as Cohere, Jina and vLLM send them.
import t from 'tap';
import { rerank } from '../../../proxy/protocols/rerank.ts';
import { readUnits } from '../../../proxy/protocols/usage.ts';
import { readAnswer, stated } from './fixture/read.ts';

const results = [{ index: 1, relevance_score: 0.98 }];

t.test('Cohere counts search units in `meta`', async (t) => {
  const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } };
  const cohere = readAnswer(rerank, { id: '07734bd2', results, meta }).usage;
  t.strictSame(cohere, { search_units: 1 });
  t.strictSame(readUnits(cohere), { queries: 1 });
  const both = { billed_units: { search_units: 2 }, tokens: { input_tokens: 40, output_tokens: 0 } };
  const litellm = readAnswer(rerank, { results, meta: both }).usage;
  t.strictSame(litellm, { search_units: 2, input_tokens: 40, output_tokens: 0 });
  t.strictSame(stated(rerank, litellm), { prompt: 40, completion: 0, total: 40 });
});

t.test('Jina and vLLM count tokens in `usage`', async (t) => {
  t.strictSame(
    stated(rerank, readAnswer(rerank, { results, usage: { total_tokens: 38 } }).usage),
    { prompt: 38, total: 38 },
    'the total alone was read',
  );
  const vllm = { prompt_tokens: 38, total_tokens: 38 };
  t.strictSame(stated(rerank, readAnswer(rerank, { results, usage: vllm }).usage), { prompt: 38, total: 38 });
});
