// Token buckets out of the usage objects that gateways were seen to send.
import { inspect } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { bucketsOf, NO_TOKENS, readTokens, readUnits, type Tokens } from '../../../proxy/protocols/usage.ts';
import { runs } from '../../support/runs.ts';

const tokens = (given: Partial<Tokens>): Tokens => ({ ...NO_TOKENS, ...given });

t.test('the usage of every protocol fills the same buckets', (t) => {
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
      { prompt: 100, completion: 20, total: 120, cacheRead: 60, inputAudio: 0, reasoning: 5 },
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
    [
      'messages: what a compaction used is billed, and not in the counts',
      {
        input_tokens: 23_000,
        output_tokens: 1_000,
        cache_read_input_tokens: 500,
        iterations: [
          {
            type: 'compaction',
            input_tokens: 180_000,
            output_tokens: 3_500,
            cache_read_input_tokens: 7,
            cache_creation_input_tokens: 30,
            cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
          },
          { type: 'message', input_tokens: 23_000, output_tokens: 1_000, cache_read_input_tokens: 500 },
        ],
      },
      {
        prompt: 203_537,
        completion: 4_500,
        total: 208_037,
        cacheRead: 507,
        cacheWrite: 30,
        cacheWrite1h: 20,
      },
    ],
    [
      'messages: a pause after a compaction has nothing else',
      {
        input_tokens: 0,
        output_tokens: 0,
        iterations: [{ type: 'compaction', input_tokens: 10, output_tokens: 3 }],
      },
      { prompt: 10, completion: 3, total: 13 },
    ],
    [
      'messages: an advisor is billed beside the counts, a model that declined is not',
      {
        input_tokens: 100,
        output_tokens: 20,
        iterations: [
          { type: 'message', model: 'declined', input_tokens: 90, output_tokens: 1 },
          { type: 'advisor_message', input_tokens: 40, output_tokens: 8 },
          { type: 'fallback_message', model: 'served', input_tokens: 100, output_tokens: 20 },
        ],
      },
      { prompt: 140, completion: 28, total: 168 },
    ],
    [
      'messages: turns of a tool of the vendor are in the counts',
      {
        input_tokens: 30,
        output_tokens: 5,
        iterations: [
          { type: 'message', input_tokens: 10, output_tokens: 2 },
          { type: 'message', input_tokens: 20, output_tokens: 3 },
        ],
      },
      { prompt: 30, completion: 5, total: 35 },
    ],
    [
      'a gateway that has added the compaction to the counts',
      {
        input_tokens: 13,
        output_tokens: 4,
        iterations: [
          { type: 'compaction', input_tokens: 10, output_tokens: 3 },
          { type: 'message', input_tokens: 3, output_tokens: 1 },
        ],
      },
      { prompt: 13, completion: 4, total: 17 },
    ],
    [
      'the same in the spelling of chat completions',
      {
        prompt_tokens: 13,
        completion_tokens: 4,
        total_tokens: 17,
        iterations: [{ type: 'compaction', input_tokens: 10, output_tokens: 3 }],
      },
      { prompt: 13, completion: 4, total: 17 },
    ],
    ['embeddings', { prompt_tokens: 8, total_tokens: 8 }, { prompt: 8, total: 8 }],
    [
      'images',
      { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
      { prompt: 5, completion: 7, total: 12 },
    ],
    ['rerank', { search_units: 1 }, {}],
    [
      'a total that is more than the sum is kept',
      { prompt_tokens: 1, completion_tokens: 1, total_tokens: 9 },
      { prompt: 1, completion: 1, total: 9 },
    ],
    [
      'a total that is less than the sum is none',
      { prompt_tokens: 5, completion_tokens: 5, total_tokens: 1 },
      { prompt: 5, completion: 5, total: 10 },
    ],
    [
      'reasoning beside the completion belongs to it',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 22,
        completion_tokens_details: { reasoning_tokens: 7 },
      },
      { prompt: 10, completion: 12, total: 22, reasoning: 7 },
    ],
    [
      'both lifetimes of a cache',
      {
        input_tokens: 1,
        output_tokens: 1,
        cache_creation_input_tokens: 30,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
      { prompt: 31, completion: 1, total: 32, cacheWrite: 30, cacheWrite1h: 20 },
    ],
    [
      'audio that was read from a cache is no audio to bill',
      {
        prompt_tokens: 100,
        completion_tokens: 9,
        prompt_tokens_details: {
          audio_tokens: 80,
          cached_tokens: 60,
          cached_tokens_details: { audio_tokens: 50, text_tokens: 10 },
        },
        completion_tokens_details: { audio_tokens: 4 },
      },
      { prompt: 100, completion: 9, total: 109, cacheRead: 60, inputAudio: 30, outputAudio: 4 },
    ],
    [
      'parts that the whole leaves out',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 1_000, cache_creation_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      { prompt: 1_020, completion: 300, total: 1_320, cacheRead: 1_000, cacheWrite: 20, reasoning: 300 },
    ],
    ['zeros are counts', { prompt_tokens: 0, completion_tokens: 0 }, { prompt: 0, completion: 0, total: 0 }],
  ];
  for (const [what, usage, expected] of cases) t.strictSame(readTokens(usage).tokens, tokens(expected), what);
  t.equal(readTokens(null).tokens, NO_TOKENS);
  t.end();
});

t.test('what is no count leaves its bucket empty and never makes a sum too small', (t) => {
  for (const wrong of [-1, 1.5, 2 ** 53, Infinity, NaN, '5', true, {}, [], null]) {
    const usage = {
      prompt_tokens: wrong,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: wrong },
    };
    t.strictSame(readTokens(usage).tokens, tokens({ completion: 2 }), inspect(wrong));
  }
  t.strictSame(
    readTokens({ input_tokens: 5, cache_read_input_tokens: -1, output_tokens: 1 }).tokens,
    tokens({ completion: 1 }),
    'a cache count that is wrong leaves the whole prompt unknown',
  );
  t.strictSame(
    readTokens({ input_tokens: 2 ** 53 - 1, cache_read_input_tokens: 1, output_tokens: 1 }).tokens,
    tokens({ completion: 1, cacheRead: 1 }),
  );
  t.strictSame(
    readTokens({ prompt_tokens: 1, prompt_tokens_details: [], input_tokens_details: 'x' }).tokens,
    tokens({ prompt: 1 }),
  );
  t.end();
});

t.test('what cannot be used of a usage object is told', (t) => {
  t.same(readTokens({ prompt_tokens: -4, completion_tokens: 2 }).doubts, [
    'usage: prompt_tokens is no count of tokens',
  ]);
  t.same(readTokens({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 9 }).doubts, [
    'usage: total_tokens is 9, its parts are 2',
  ]);
  t.same(readTokens({ prompt_tokens: 1, completion_tokens: null, total_tokens: 1 }).doubts, []);
  t.same(
    readTokens({
      input_tokens: 1,
      output_tokens: 1,
      iterations: [
        { type: 'compaction', input_tokens: '9', output_tokens: 1 },
        { type: 'message', input_tokens: 1, output_tokens: 1 },
        null,
      ],
    }),
    {
      tokens: tokens({ completion: 2 }),
      doubts: ['usage: input_tokens is no count of tokens'],
    },
  );
  t.same(readTokens({ prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } }).doubts, [
    'usage: the prompt has 3 tokens, its parts have 4',
  ]);
  t.end();
});

t.test('every token is in one bucket, whatever an upstream states', (t) => {
  const count = fc.oneof(
    { weight: 6, arbitrary: fc.nat(2_000) },
    fc.constantFrom(undefined, null, -1, 1.5, '7', 2 ** 53, 2 ** 40, 2 ** 40 + 1, {}, []),
  );
  const details = fc.record(
    {
      cached_tokens: count,
      cache_creation_tokens: count,
      audio_tokens: count,
      image_tokens: count,
      reasoning_tokens: count,
      cached_tokens_details: fc.record({ audio_tokens: count, image_tokens: count }),
    },
    { requiredKeys: [] },
  );
  const usage = fc.record(
    {
      prompt_tokens: count,
      completion_tokens: count,
      input_tokens: count,
      output_tokens: count,
      total_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
      cache_creation: fc.record({ ephemeral_1h_input_tokens: count }),
      prompt_tokens_details: details,
      completion_tokens_details: details,
      input_tokens_details: details,
      output_tokens_details: details,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(usage, (given) => {
      const { tokens } = readTokens(given);
      const buckets = bucketsOf(tokens);
      if (buckets === null)
        return tokens.prompt === null && (tokens.completion === null || tokens.total === null);
      const values = Object.values(buckets);
      const sum = values.reduce((all, one) => all + BigInt(one), 0n);
      const total = tokens.total ?? (tokens.prompt ?? 0) + (tokens.completion ?? 0);
      return sum === BigInt(total) && values.every((one) => one >= 0);
    }),
    { numRuns: runs(500) },
  );
  t.end();
});

t.test('what is counted beside tokens', (t) => {
  t.same(readUnits({ type: 'duration', seconds: 12.3456 }), { milliseconds: 12_346 });
  t.same(readUnits({ search_units: 2, input_tokens: 5 }), { queries: 2 });
  t.same(readUnits({ server_tool_use: { web_search_requests: 3 } }), { searches: 3 });
  t.same(readUnits({ server_side_tool_usage_details: { web_search_calls: 2 } }), { searches: 2 });
  for (const wrong of [-1, NaN, 1e300, '4', null])
    t.same(readUnits({ seconds: wrong, search_units: -1 }), {}, inspect(wrong));
  t.end();
});
