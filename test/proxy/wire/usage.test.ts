// Token buckets out of the usage objects that gateways were seen to send.
import { inspect } from 'node:util';
import t from 'tap';
import { NO_TOKENS, readTokens, type Tokens } from '../../../proxy/wire/usage.ts';

const tokens = (given: Partial<Tokens>): Tokens => ({ ...NO_TOKENS, ...given });

t.test('the usage of every wire family fills the same buckets', (t) => {
  const cases: [what: string, usage: Record<string, unknown>, expected: Partial<Tokens>][] = [
    [
      'chat completions',
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 60, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
      { prompt: 100, completion: 20, total: 120, cacheRead: 60, reasoning: 5 },
    ],
    [
      'chat completions of a proxy before a provider with cache writes',
      {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 60, cache_creation_tokens: 10 },
        cache_read_input_tokens: 60,
        cache_creation_input_tokens: 10,
      },
      { prompt: 100, completion: 20, total: 120, cacheRead: 60, cacheWrite: 10 },
    ],
    [
      'cache counts at the top level only',
      { prompt_tokens: 9, completion_tokens: 1, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 },
      { prompt: 9, completion: 1, total: 10, cacheRead: 4, cacheWrite: 2 },
    ],
    [
      'cache hits and misses',
      {
        prompt_tokens: 9,
        completion_tokens: 1,
        total_tokens: 10,
        prompt_cache_hit_tokens: 6,
        prompt_cache_miss_tokens: 3,
      },
      { prompt: 9, completion: 1, total: 10, cacheRead: 6 },
    ],
    [
      'responses: input includes the cached tokens',
      {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 8 },
        total_tokens: 120,
      },
      { prompt: 100, completion: 20, total: 120, cacheRead: 60, reasoning: 8 },
    ],
    [
      'messages: input leaves them out',
      { input_tokens: 30, cache_read_input_tokens: 60, cache_creation_input_tokens: 10, output_tokens: 20 },
      { prompt: 100, completion: 20, total: 120, cacheRead: 60, cacheWrite: 10 },
    ],
    [
      'messages without a cache',
      { input_tokens: 30, cache_read_input_tokens: null, output_tokens: 20, service_tier: 'standard' },
      { prompt: 30, completion: 20, total: 50 },
    ],
    ['embeddings', { prompt_tokens: 8, total_tokens: 8 }, { prompt: 8, total: 8 }],
    [
      'images',
      { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
      { prompt: 5, completion: 7, total: 12 },
    ],
    ['rerank', { search_units: 1 }, {}],
    [
      'a total that differs from the sum is kept as sent',
      { prompt_tokens: 1, completion_tokens: 1, total_tokens: 9 },
      { prompt: 1, completion: 1, total: 9 },
    ],
    ['zeros are counts', { prompt_tokens: 0, completion_tokens: 0 }, { prompt: 0, completion: 0, total: 0 }],
  ];
  for (const [what, usage, expected] of cases) t.strictSame(readTokens(usage), tokens(expected), what);
  t.equal(readTokens(null), NO_TOKENS);
  t.end();
});

t.test('what is no count leaves its bucket empty and never makes a sum too small', (t) => {
  for (const wrong of [-1, 1.5, 2 ** 53, Infinity, NaN, '5', true, {}, [], null]) {
    const usage = {
      prompt_tokens: wrong,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: wrong },
    };
    t.strictSame(readTokens(usage), tokens({ completion: 2 }), inspect(wrong));
  }
  t.strictSame(
    readTokens({ input_tokens: 5, cache_read_input_tokens: -1, output_tokens: 1 }),
    tokens({ completion: 1 }),
    'a cache count that is wrong leaves the whole prompt unknown',
  );
  t.strictSame(
    readTokens({ input_tokens: 2 ** 53 - 1, cache_read_input_tokens: 1, output_tokens: 1 }),
    tokens({ completion: 1, cacheRead: 1 }),
  );
  t.strictSame(
    readTokens({ prompt_tokens: 1, prompt_tokens_details: [], input_tokens_details: 'x' }),
    tokens({ prompt: 1 }),
  );
  t.end();
});
