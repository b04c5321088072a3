// The table of usage cases: the bytes of an upstream's answer, the buckets they fill, and what they cost. The oracle of
// the cost is written another way than the code: by hand, as decimal prices times counts, multiplied digit by digit.
import t from 'tap';
import type { EntryParams } from '../../../config/gateway-file.ts';
import { gatewayOf } from '../../../config/resolve/gateways/table.ts';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { pricesOf } from '../../../config/resolve/prices.ts';
import { priceOf } from '../../../proxy/spend/record/reprice.ts';
import { statedPico, usedBy } from '../../../proxy/pipeline/charge.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { NO_BILLABLE_UNITS, type BillableUnits } from '../../../proxy/pipeline/billable-units.ts';
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { tapFor } from '../../../proxy/relay/tap.ts';
import { bucketsOf, type Buckets } from '../../../proxy/protocols/usage.ts';

const json = (value: unknown): string => JSON.stringify(value);
const data = (...values: unknown[]): string => values.map((one) => `data: ${json(one)}\n\n`).join('');
const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`;
const chunk = (more: object): object => ({ id: 'c', model: 'm', choices: [], ...more });
const word = (finish: string | null, more: object = {}): object =>
  chunk({ choices: [{ index: 0, delta: { content: 'w' }, finish_reason: finish }], ...more });
const DONE = 'data: [DONE]\n\n';
const CHAT = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

type Stated = Omit<EntryParams, 'model'>;
const PLAIN: Stated = {
  input_cost_per_token: 0.000003,
  output_cost_per_token: 0.000015,
  cache_read_input_token_cost: 0.0000003,
  cache_creation_input_token_cost: 0.00000375,
  cache_creation_input_token_cost_above_1hr: 0.000006,
};

interface Case {
  readonly what: string;
  readonly path: string;
  /** One that begins with `{` is a JSON answer, any other a stream. */
  readonly answer: string;
  readonly buckets: Partial<Buckets> | null;
  readonly prices?: Stated;
  readonly measures?: Partial<BillableUnits>;
  /** The bill: dollars apiece and how many; null = no cost. */
  readonly bill: readonly (readonly [dollars: string, count: number])[] | null;
}

const CASES: readonly Case[] = [
  {
    what: 'chat',
    path: 'chat/completions',
    answer: json({ id: 'c', choices: [{}], usage: CHAT }),
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
  {
    what: 'chat, streamed: usage in an event of its own, null before it',
    path: 'chat/completions',
    answer: data(word(null, { usage: null }), word('stop', { usage: null }), chunk({ usage: CHAT })) + DONE,
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
  {
    what: 'chat, streamed: usage beside the last choice, and once more, grown',
    path: 'chat/completions',
    answer:
      data(
        word(null, { usage: { ...CHAT, completion_tokens: 1, total_tokens: 101 } }),
        word('stop', { usage: CHAT }),
        chunk({ usage: CHAT }),
      ) + DONE,
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
  {
    what: 'chat, streamed: usage before the end, and none or null after it',
    path: 'chat/completions',
    answer: data(word(null, { usage: CHAT }), word('stop', { usage: null }), word(null)) + DONE,
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
  {
    what: 'chat, streamed: usage after [DONE], without choices',
    path: 'chat/completions',
    answer: data(word('stop')) + DONE + data({ id: 'c', usage: CHAT }),
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
  {
    what: 'chat, streamed: usage in members of vendors',
    path: 'chat/completions',
    answer:
      data(
        chunk({
          choices: [
            { index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 7, completion_tokens: 1 } },
          ],
        }),
        chunk({ x_groq: { id: 'r', usage: CHAT } }),
      ) + DONE,
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
  {
    what: 'completions with cached, audio and reasoning tokens',
    path: 'completions',
    answer: json({
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 300,
        total_tokens: 1300,
        prompt_tokens_details: { cached_tokens: 600, audio_tokens: 50 },
        completion_tokens_details: { reasoning_tokens: 120, audio_tokens: 30 },
      },
    }),
    prices: { ...PLAIN, input_cost_per_audio_token: '1e-4', output_cost_per_reasoning_token: '0.00002' },
    buckets: { input: 350, cacheRead: 600, inputAudio: 50, output: 150, reasoning: 120, outputAudio: 30 },
    bill: [
      ['0.000003', 350],
      ['0.0000003', 600],
      ['0.0001', 50],
      ['0.000015', 180],
      ['0.00002', 120],
    ],
  },
  {
    what: 'responses',
    path: 'responses',
    answer: json({
      id: 'r',
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 64 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 8 },
        total_tokens: 120,
      },
    }),
    buckets: { input: 36, cacheRead: 64, output: 12, reasoning: 8 },
    bill: [
      ['0.000003', 36],
      ['0.0000003', 64],
      ['0.000015', 20],
    ],
  },
  {
    what: 'responses, streamed, of the flex tier',
    path: 'responses',
    answer: [
      event('response.created', { response: { id: 'r', model: 'm', usage: null, service_tier: 'auto' } }),
      event('response.output_text.delta', { delta: '"usage":{"input_tokens":9}' }),
      event('response.completed', {
        response: {
          id: 'r',
          service_tier: 'flex',
          usage: { input_tokens: 100, output_tokens: 20, input_tokens_details: {} },
        },
      }),
    ].join(''),
    prices: { ...PLAIN, input_cost_per_token_flex: 0.0000015, output_cost_per_token_flex: 0.0000075 },
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.0000015', 100],
      ['0.0000075', 20],
    ],
  },
  {
    what: 'messages with both caches and a web search',
    path: 'messages',
    answer: json({
      usage: {
        input_tokens: 10,
        cache_read_input_tokens: 500,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
        output_tokens: 40,
        server_tool_use: { web_search_requests: 2 },
      },
    }),
    prices: { ...PLAIN, search_context_cost_per_query: { search_context_size_medium: 0.01 } },
    buckets: { input: 10, cacheRead: 500, cacheWrite: 200, cacheWrite1h: 100, output: 40 },
    bill: [
      ['0.000003', 10],
      ['0.0000003', 500],
      ['0.00000375', 200],
      ['0.000006', 100],
      ['0.000015', 40],
      ['0.01', 2],
    ],
  },
  {
    what: 'messages, streamed: the parts are put together',
    path: 'messages',
    answer: [
      event('message_start', {
        message: {
          id: 'x',
          model: 'm',
          usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 },
        },
      }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 40 } }),
      event('message_stop', {}),
    ].join(''),
    buckets: { input: 10, cacheRead: 90, output: 40 },
    bill: [
      ['0.000003', 10],
      ['0.0000003', 90],
      ['0.000015', 40],
    ],
  },
  {
    what: 'embeddings',
    path: 'embeddings',
    answer: json({ data: [], usage: { prompt_tokens: 8, total_tokens: 8 } }),
    prices: { input_cost_per_token: '0.00000002' },
    buckets: { input: 8 },
    bill: [['0.00000002', 8]],
  },
  {
    what: 'images by tokens: all output is image tokens',
    path: 'images/generations',
    answer: json({
      data: [],
      usage: {
        input_tokens: 50,
        output_tokens: 1056,
        total_tokens: 1106,
        input_tokens_details: { text_tokens: 40, image_tokens: 10 },
      },
    }),
    prices: {
      input_cost_per_token: 0.000005,
      input_cost_per_image_token: 0.00001,
      output_cost_per_image_token: 0.00004,
    },
    buckets: { input: 40, inputImage: 10, outputImage: 1056 },
    bill: [
      ['0.000005', 40],
      ['0.00001', 10],
      ['0.00004', 1056],
    ],
  },
  {
    what: 'images by the piece',
    path: 'images/generations',
    answer: json({ data: [{}, {}] }),
    measures: { units: { images: 2 } },
    prices: { output_cost_per_image: 0.04 },
    buckets: null,
    bill: [['0.04', 2]],
  },
  {
    what: 'a transcript by its duration',
    path: 'audio/transcriptions',
    answer: json({ text: 't', usage: { type: 'duration', seconds: 12.5 } }),
    prices: { input_cost_per_second: 0.0001 },
    buckets: null,
    bill: [['0.0000001', 12_500]],
  },
  {
    what: 'a verbose transcript',
    path: 'audio/transcriptions',
    answer: json({ text: 't', duration: 8.470000267028809 }),
    prices: { input_cost_per_second: 0.0001 },
    buckets: null,
    bill: [['0.0000001', 8_470]],
  },
  {
    what: 'a transcript, streamed, by tokens',
    path: 'audio/transcriptions',
    answer: event('transcript.text.done', {
      text: 't',
      usage: {
        type: 'tokens',
        input_tokens: 30,
        input_token_details: { audio_tokens: 30 },
        output_tokens: 4,
        total_tokens: 34,
      },
    }),
    prices: { ...PLAIN, input_cost_per_audio_token: 0.000006 },
    buckets: { inputAudio: 30, output: 4 },
    bill: [
      ['0.000006', 30],
      ['0.000015', 4],
    ],
  },
  {
    what: 'speech by its characters',
    path: 'audio/speech',
    answer: json({}),
    measures: { units: { characters: 1000 } },
    prices: { input_cost_per_character: '0.000015' },
    buckets: null,
    bill: [['0.000015', 1000]],
  },
  {
    what: 'rerank by search units',
    path: 'rerank',
    answer: json({ results: [], meta: { billed_units: { search_units: 3 } } }),
    prices: { input_cost_per_query: 0.002 },
    buckets: null,
    bill: [['0.002', 3]],
  },
  {
    what: 'rerank by tokens, of which the total alone is stated',
    path: 'rerank',
    answer: json({ results: [], usage: { total_tokens: 40 } }),
    prices: { input_cost_per_token: '0.00000002' },
    buckets: { input: 40 },
    bill: [['0.00000002', 40]],
  },
  {
    what: 'a tier that was asked for counts where the answer does not tell',
    path: 'chat/completions',
    answer: json({ usage: CHAT }),
    measures: { serviceTier: 'priority' },
    prices: { ...PLAIN, input_cost_per_token_priority: '6e-6' },
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000006', 100],
      ['0.000015', 20],
    ],
  },
  ...[
    { serviceTier: 'priority', trafficType: 'ON_DEMAND' },
    { serviceTier: 'SERVICE_TIER_PRIORITY' },
    { trafficType: 'ON_DEMAND_PRIORITY' },
  ].map((stated) => ({
    what: `Gemini states its tier in its usage: ${json(stated)}`,
    path: 'models/{model}:generateContent',
    answer: json({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120, ...stated },
    }),
    prices: { ...PLAIN, input_cost_per_token_priority: '6e-6' },
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000006', 100],
      ['0.000015', 20],
    ] as const,
  })),
  ...[{ serviceTier: 'standard' }, { trafficType: 'ON_DEMAND' }].map((stated) => ({
    what: `Gemini had no room in the tier that was asked for: ${json(stated)}`,
    path: 'models/{model}:streamGenerateContent',
    answer: data({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120, ...stated },
    }),
    measures: { serviceTier: 'priority' },
    prices: { ...PLAIN, input_cost_per_token_priority: '6e-6' },
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ] as const,
  })),
  {
    what: "Anthropic's fast mode is a tier, whatever the tier beside it",
    path: 'messages',
    answer:
      event('message_start', {
        message: { id: 'm', usage: { input_tokens: 100, service_tier: 'standard', speed: 'fast' } },
      }) +
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 20 } }) +
      event('message_stop', {}),
    prices: {
      ...PLAIN,
      input_cost_per_token_priority: '18e-6',
      output_cost_per_token_priority: '90e-6',
    },
    buckets: { input: 100, output: 20 },
    bill: [
      ['0.000018', 100],
      ['0.00009', 20],
    ],
  },
  {
    what: 'negative and fractional counts are no counts',
    path: 'chat/completions',
    answer: json({ usage: { prompt_tokens: -5, completion_tokens: 1.5 } }),
    buckets: null,
    bill: null,
  },
  {
    what: 'a total beyond its parts is told apart and not billed',
    path: 'chat/completions',
    answer: json({ usage: { ...CHAT, total_tokens: 150 } }),
    buckets: { input: 100, output: 20, unassigned: 30 },
    bill: [
      ['0.000003', 100],
      ['0.000015', 20],
    ],
  },
];

/** Dollars of a bill as pico-dollars, by schoolbook multiplication of digit strings. */
function oracle(bill: NonNullable<Case['bill']>): bigint {
  return bill.reduce((sum, [dollars, count]) => {
    const [whole = '', fraction = ''] = dollars.split('.');
    let product = 0n;
    for (const digit of whole + fraction.padEnd(12, '0')) product = product * 10n + BigInt(digit);
    return sum + product * BigInt(count);
  }, 0n);
}

const endpointOf = (path: string): Endpoint => ENDPOINTS.find((one) => one.path === path) as Endpoint;

/** Runs an answer through the very tap that the relay uses, in pieces of `size` bytes. */
function outcomeOf(one: Case, size: number): Outcome {
  const streams = !one.answer.startsWith('{');
  const head = { contentType: streams ? 'text/event-stream' : 'application/json', contentEncoding: null };
  const tap = tapFor(
    { ...head, pass: [], contentLength: null, cost: null, callId: null, retryAfter: null },
    endpointOf(one.path).protocol,
    {
      stripUsage: false,
      keepText: true,
      priceUsage: null,
      askedModel: null,
      lastEvent: 'finish',
      expectsAnswer: true,
    },
  );
  const bytes = Buffer.from(one.answer);
  for (let at = 0; at < bytes.length; at += size) tap.push(bytes.subarray(at, at + size));
  tap.end();
  return {
    end: 'complete',
    status: 200,
    fault: null,
    firstByteAt: null,
    upstreamMs: 1,
    responseBytes: bytes.length,
    readOn: null,
    reading: tap.reading(),
    upstreamCallId: null,
    upstreamCost: null,
    retryAfter: null,
    isStream: false,
    contentEncoding: null,
    unsent: null,
    finish: () => undefined,
  };
}

t.test("from the upstream's bytes to buckets and cost", async (t) => {
  const none = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, inputAudio: 0, inputImage: 0 };
  const empty = { ...none, output: 0, reasoning: 0, outputAudio: 0, outputImage: 0, unassigned: 0 };
  for (const one of CASES) {
    for (const size of [1, 7, 100_000]) {
      const used = usedBy(
        endpointOf(one.path),
        { ...NO_BILLABLE_UNITS, ...one.measures },
        outcomeOf(one, size),
        null,
      );
      const found = bucketsOf(used.tokens);
      t.same(found, one.buckets === null ? null : { ...empty, ...one.buckets }, `${one.what}, ${size}`);
      const total = used.tokens.total ?? used.tokens.prompt ?? 0;
      if (found !== null)
        t.equal(
          Object.values(found).reduce((a, b) => a + b),
          total,
          'nothing is lost',
        );
      const prices = pricesOf({ model: 'm', ...(one.prices ?? PLAIN) }, undefined);
      const cost = priceOf({ ...used, endReason: 'complete', model: 'm' }, null, {
        deployment: prices,
        catalogue: null,
      });
      t.equal(
        cost.spendPico === null ? null : BigInt(cost.spendPico),
        one.bill === null ? null : oracle(one.bill),
        `${one.what}: ${cost.costReason}`,
      );
    }
  }
});

t.test('the cost that a gateway states is read where its dialect has it', async (t) => {
  const dialect = dialectOf(DEFAULT_WORDS);
  const stated = (
    name: 'litellm' | 'bifrost' | 'plain',
    header: string | null,
    usage: object | null,
  ): number | null =>
    statedPico(gatewayOf(name, 'proxy', dialect), header, usage as Record<string, unknown> | null);
  t.equal(stated('litellm', '0.00125', { cost: 9 }), 1_250_000_000, 'the header first');
  t.equal(stated('litellm', 'None', { cost: 0.002 }), 2_000_000_000);
  t.equal(stated('bifrost', null, { cost: { input_tokens_cost: 1, total_cost: 1.5e-5 } }), 15_000_000);
  t.equal(stated('plain', null, { cost: 5 }), null, 'nobody knows in which currency');
  for (const wrong of [-1, '1', {}, NaN, { total_cost: null }])
    t.equal(stated('bifrost', null, { cost: wrong }), null);
});

t.test('usage of any size and kind is bounded, and told', async (t) => {
  const answer = json({ usage: { ...CHAT, padding: 'x'.repeat(10_000) } });
  const one = { what: '', path: 'chat/completions', answer, buckets: null, bill: null };
  const used = usedBy(endpointOf('chat/completions'), NO_BILLABLE_UNITS, outcomeOf(one, 100_000), null);
  t.match(used, {
    usage: null,
    usageSource: 'upstream',
    tokens: { prompt: 100 },
    warnings: [/its counts were read/],
  });
  const odd = json({ usage: { ...CHAT, 'nul\0': 'a\ud800b\0' } });
  const cleaned = usedBy(
    endpointOf('chat/completions'),
    NO_BILLABLE_UNITS,
    outcomeOf({ ...one, answer: odd }, 100_000),
    null,
  );
  t.same(cleaned.usage, { ...CHAT, 'nul\ufffd': 'a\ufffdb\ufffd' });
});
