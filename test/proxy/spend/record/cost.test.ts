// Costs are exact or null with a reason; they are never guessed.
import fc from 'fast-check';
import t from 'tap';
import type { EntryParams } from '../../../../config/gateway-file.ts';
import { pricesOf } from '../../../../config/resolve/prices.ts';
import type { Prices } from '../../../../config/price-table.ts';
import {
  costOf,
  dollarsOf,
  picoDollars,
  picoOf,
  usd,
  type Charge,
  type Cost,
} from '../../../../proxy/spend/record/cost.ts';
import type { Tokens } from '../../../../proxy/protocols/usage.ts';
import { emptyBuckets, NO_TOKENS } from '../../../../proxy/protocols/usage.ts';
import { runs } from '../../../support/runs.ts';

type Stated = Omit<EntryParams, 'model'>;
const prices = (stated: Stated): Prices => pricesOf({ model: 'm', ...stated }, undefined) as Prices;
const tokens = (some: Partial<Tokens>): Tokens => ({ ...NO_TOKENS, ...some });
const PLAIN = prices({ input_cost_per_token: 3e-6, output_cost_per_token: '0.000015' });
const USED = tokens({ prompt: 1000, completion: 200, total: 1200 });

t.test('tokens that are not used yet cost what their record will say, or have the same reason', async (t) => {
  const terms = { units: { queries: 1 }, serviceTier: 'priority', model: 'm' };
  const half = prices({ input_cost_per_token: 3e-6 });
  const huge = prices({ input_cost_per_token: 1e6, output_cost_per_token: 1 });
  for (const deployment of [PLAIN, half, huge, null])
    for (const catalogue of [PLAIN, half, null]) {
      const charge = { ...terms, tokens: USED, estimated: false, statedPico: null };
      const { spendPico, costReason } = costOf(charge, { deployment, catalogue });
      const buckets = { ...emptyBuckets(), input: 1000, output: 200 };
      t.equal(picoOf(terms, buckets, { deployment, catalogue }), spendPico ?? costReason);
    }
});

t.test('a decimal of dollars is read exactly', async (t) => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['0.00125', 1_250_000_000],
    ['1.5e-05', 15_000_000],
    ['1E-6', 1_000_000],
    ['0', 0],
    ['0.0', 0],
    ['3', 3_000_000_000_000],
    ['+2.5', 2_500_000_000_000],
    ['.5', 500_000_000_000],
    ['5.', 5_000_000_000_000],
    [' 0.1 ', 100_000_000_000],
    ['0.000000000001', 1],
    ['0.0000000000014', 1],
    ['0.0000000000015', 2],
    ['4.9e-13', 0],
    ['0.1234567890123456789', 123_456_789_012],
    ['9007.199254740991', Number.MAX_SAFE_INTEGER],
    ['9007.199254740992', null],
    ['1e30', null],
    ['1e999', null],
    ['1e-99999999999', null],
    ['None', null],
    ['', null],
    ['.', null],
    ['e5', null],
    ['-0.5', null],
    ['NaN', null],
    ['Infinity', null],
    ['0x10', null],
    ['1,5', null],
    ['1 2', null],
    ['1'.repeat(1000), null],
  ];
  for (const [text, pico] of cases) t.equal(picoDollars(text), pico, JSON.stringify(text.slice(0, 30)));
});

t.test('pico-dollars become the nearest double of dollars', async (t) => {
  t.equal(dollarsOf(1_250_000_000), 0.00125);
  t.equal(dollarsOf(1), 1e-12);
  t.equal(dollarsOf(12_345_678_901_234_567_890n), 12345678.901234567);
});

t.test('pico-dollars are written as a plain decimal', async (t) => {
  const cases = [
    [0, '0'],
    [1, '0.000000000001'],
    [1_250_000_000, '0.00125'],
    [3_000_000_000_000, '3'],
    [12_500_000_000_000, '12.5'],
  ] as const;
  for (const [pico, text] of cases) t.equal(usd(pico), text);
});

/** The cost of a charge by the entry's prices, the upstream's statement and the catalogue's prices. */
function cost(
  charge: Partial<Charge>,
  entry: Prices | null,
  stated: string | null = null,
  catalogue: Prices | null = null,
): Cost {
  const statedPico = stated === null ? null : picoDollars(stated);
  const whole = { tokens: NO_TOKENS, estimated: false, units: {}, serviceTier: null, model: 'm', statedPico };
  return costOf({ ...whole, ...charge }, { deployment: entry, catalogue });
}
const pico = (charge: Partial<Charge>, stated: Stated): number | null =>
  cost(charge, prices(stated)).spendPico;

t.test('entry before upstream before catalogue; what each says is kept', async (t) => {
  const catalogue = prices({ input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 });
  const all = cost({ tokens: USED }, PLAIN, '0.5', catalogue);
  t.same(all, {
    spendPico: 6_000_000_000,
    costSource: 'entry',
    costReason: '',
    costs: { entry: 6_000_000_000, upstream_header: 500_000_000_000, catalogue: 1_400_000_000 },
    priceVersion: PLAIN.version,
  });
  t.match(cost({ tokens: USED }, null, '0.5', PLAIN), { costSource: 'upstream_header', priceVersion: null });
  t.match(cost({ tokens: USED }, null, null, PLAIN), {
    spendPico: 6_000_000_000,
    costSource: 'catalogue',
    priceVersion: PLAIN.version,
  });
  t.match(
    cost({ tokens: USED, estimated: true }, PLAIN, null, catalogue),
    { spendPico: 6_000_000_000, costSource: 'entry' },
    'of an estimate, too, the entry comes before the catalogue',
  );
  t.match(cost({ tokens: USED, estimated: true }, null, null, PLAIN), { costSource: 'catalogue' });
  t.match(
    cost({ tokens: USED, estimated: true }, PLAIN, '0.5'),
    { spendPico: 500_000_000_000, costSource: 'upstream_header' },
    'the upstream knows better than an estimate',
  );
  t.match(cost({}, PLAIN, '0.25'), { spendPico: 250_000_000_000, costSource: 'upstream_header' });
});

t.test('a price table has a version of its own, the same for the same prices', async (t) => {
  t.equal(PLAIN.version, prices({ input_cost_per_token: '3E-6', output_cost_per_token: 1.5e-5 }).version);
  t.not(PLAIN.version, prices({ input_cost_per_token: 3e-6 }).version);
  t.equal(pricesOf({ model: 'm' }, undefined), null);
  const info = { input_cost_per_token: 3e-6, output_cost_per_token: 1 };
  t.equal(pricesOf({ model: 'm', output_cost_per_token: 1.5e-5 }, info)?.version, PLAIN.version);
});

t.test('a kind of tokens without a price of its own costs what its whole costs', async (t) => {
  const used = tokens({ prompt: 1000, completion: 100, cacheRead: 400, cacheWrite: 300, cacheWrite1h: 100 });
  const more = { ...used, inputAudio: 50, inputImage: 20, reasoning: 60, outputAudio: 10, outputImage: 5 };
  const base = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-5 };
  t.equal(pico({ tokens: more }, base), 1000 * 1e6 + 100 * 1e7);
  t.equal(
    pico(
      { tokens: more },
      {
        ...base,
        cache_read_input_token_cost: 1e-7,
        cache_creation_input_token_cost: 2e-6,
        cache_creation_input_token_cost_above_1hr: 3e-6,
        input_cost_per_audio_token: 4e-6,
        input_cost_per_image_token: 5e-6,
        output_cost_per_reasoning_token: 2e-5,
        output_cost_per_audio_token: 3e-5,
        output_cost_per_image_token: 4e-5,
      },
    ),
    230e6 + 400e5 + 200 * 2e6 + 100 * 3e6 + 50 * 4e6 + 20 * 5e6 + 25 * 1e7 + 60 * 2e7 + 10 * 3e7 + 5 * 4e7,
  );
  t.equal(pico({ tokens: tokens({ prompt: 10, completion: 0, cacheRead: 5000 }) }, base), 10e6, 'never more');
});

t.test(
  'a long prompt changes the price of all its tokens, a service tier that of the short ones',
  async (t) => {
    const stated = {
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-5,
      input_cost_per_token_flex: 5e-7,
      input_cost_per_token_priority: 2e-6,
      output_cost_per_token_priority: 2e-5,
      input_cost_per_token_above_128k_tokens: 3e-6,
      input_cost_per_token_above_200k_tokens: 4e-6,
      output_cost_per_token_above_200k_tokens: 3e-5,
    };
    const of = (prompt: number, serviceTier: string | null = null): number | null =>
      pico({ tokens: tokens({ prompt, completion: 10 }), serviceTier }, stated);
    t.equal(of(128_000), 128_000 * 1e6 + 10 * 1e7);
    t.equal(of(128_001), 128_001 * 3e6 + 10 * 1e7, 'output has no price above 128k');
    t.equal(of(200_001), 200_001 * 4e6 + 10 * 3e7);
    t.equal(of(100, 'flex'), 100 * 5e5 + 10 * 1e7, 'output has no flex price');
    t.equal(of(100, 'priority'), 100 * 2e6 + 10 * 2e7);
    t.equal(of(100, 'default'), 100 * 1e6 + 10 * 1e7);
    t.equal(
      of(200_001, 'priority'),
      200_001 * 4e6 + 10 * 3e7,
      'the dearer of the two where both is not stated',
    );
    t.equal(of(200_001, 'flex'), 200_001 * 4e6 + 10 * 3e7);
    const both = {
      ...stated,
      input_cost_per_token_above_200k_tokens_priority: 8e-6,
      output_cost_per_token_above_200k_tokens_priority: 6e-5,
    };
    const long = { tokens: tokens({ prompt: 200_001, completion: 10 }), serviceTier: 'priority' };
    t.equal(pico(long, both), 200_001 * 8e6 + 10 * 6e7);
    const dear = { ...stated, input_cost_per_token_priority: 5e-6 };
    t.equal(pico(long, dear), 200_001 * 5e6 + 10 * 3e7);
  },
);

t.test('a price of one tier at one length hides no other price of a shorter prompt', async (t) => {
  const of = (own: Stated, prompt: number, serviceTier: string | null): readonly [number | null, string] => {
    const charge = { tokens: tokens({ prompt, completion: 0 }), units: {}, serviceTier };
    const { spendPico, costReason } = costOf(
      { ...charge, estimated: false, statedPico: null, model: 'm' },
      { deployment: prices({ output_cost_per_token: 0, ...own }), catalogue: null },
    );
    return [spendPico, costReason];
  };
  const highTier = {
    input_cost_per_token: 1e-6,
    input_cost_per_token_above_128k_tokens: 3e-6,
    input_cost_per_token_above_200k_tokens_priority: 9e-6,
  };
  t.strictSame(of(highTier, 150_000, null), [150_000 * 3e6, '']);
  t.strictSame(of(highTier, 300_000, null), [300_000 * 3e6, '']);
  t.strictSame(of(highTier, 300_000, 'priority'), [300_000 * 9e6, '']);
  t.match(of(highTier, 150_000, 'priority'), [150_000 * 3e6, /no price of service tier priority/]);
  t.match(of(highTier, 300_000, 'flex'), [300_000 * 3e6, /no price of service tier flex/]);
  const highBase = {
    input_cost_per_token: 1e-6,
    input_cost_per_token_above_128k_tokens_priority: 8e-6,
    input_cost_per_token_above_200k_tokens: 4e-6,
  };
  t.strictSame(of(highBase, 150_000, 'priority'), [150_000 * 8e6, '']);
  t.match(of(highBase, 300_000, 'priority'), [300_000 * 8e6, /no price of service tier priority/]);
  const dearBase = { ...highBase, input_cost_per_token_above_200k_tokens: 1e-5 };
  t.match(of(dearBase, 300_000, 'priority'), [300_000 * 1e7, /no price of service tier priority/]);
});

t.test('a cost says when the price of its service tier is not known', async (t) => {
  const stated = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-5, input_cost_per_token_flex: 5e-7 };
  const of = (serviceTier: string | null, own: Stated = stated): string =>
    costOf(
      { tokens: USED, estimated: false, units: {}, serviceTier, statedPico: null, model: 'm' },
      { deployment: prices(own), catalogue: null },
    ).costReason;
  t.equal(
    of('flex'),
    'no price of service tier flex is known for model m (output); another price of the model was taken',
  );
  t.match(of('scale'), /no price of service tier scale is known for model m \(input, output\)/);
  for (const tier of [null, 'default', 'standard', 'auto']) t.equal(of(tier), '', String(tier));
  t.equal(of('flex', { ...stated, output_cost_per_token_flex: 5e-6 }), '');
  const free = { input_cost_per_token: 0, output_cost_per_token: 0 };
  t.equal(of('flex', free), '', 'free is free in every tier');
});

t.test('a prompt is as long as all its tokens together, of whatever kind', async (t) => {
  const stated = {
    input_cost_per_token: 1e-12,
    output_cost_per_token: 0,
    input_cost_per_token_above_128k_tokens: 3e-12,
  };
  const kinds: readonly Partial<Tokens>[] = [
    {},
    { cacheRead: 50_000 },
    { cacheWrite: 50_000 },
    { cacheWrite: 50_000, cacheWrite1h: 50_000 },
    { inputAudio: 50_000 },
    { inputImage: 50_000 },
  ];
  for (const kind of kinds) {
    const of = (prompt: number): number | null =>
      pico({ tokens: tokens({ prompt, completion: 0, ...kind }) }, stated);
    t.equal(of(128_000), 128_000, JSON.stringify(kind));
    t.equal(of(128_001), 3 * 128_001, JSON.stringify(kind));
  }
});

t.test('requests, images, seconds, characters, search units and web searches', async (t) => {
  const request = { input_cost_per_request: 7e-12 };
  t.equal(
    pico({ tokens: USED }, { input_cost_per_token: 1e-12, output_cost_per_token: 1e-12, ...request }),
    1207,
  );
  t.equal(pico({}, request), 7);
  t.equal(pico({ units: { images: 3 } }, { output_cost_per_image: 0.04 }), 120_000_000_000);
  t.equal(pico({ units: { images: 3 } }, { input_cost_per_image: 0.04 }), 120_000_000_000);
  t.equal(pico({ units: { milliseconds: 1_234 } }, { input_cost_per_second: 0.0001 }), 123_400_000);
  t.equal(pico({ units: { characters: 12 } }, { input_cost_per_character: 0.000015 }), 180_000_000);
  t.equal(pico({ units: { queries: 2 } }, { input_cost_per_query: 0.002 }), 4_000_000_000);
  const search = { search_context_cost_per_query: { search_context_size_medium: 0.01 } };
  t.equal(
    pico(
      { tokens: USED, units: { searches: 2 } },
      { input_cost_per_token: 0, output_cost_per_token: 0, ...search },
    ),
    20_000_000_000,
  );
});

t.test('fast mode has its own price, else the one of priority', async (t) => {
  const entry = prices({
    input_cost_per_token: 1e-6,
    output_cost_per_token: 0,
    input_cost_per_token_priority: 3e-6,
  });
  const of = (table: Prices, serviceTier: string): Cost =>
    cost({ tokens: tokens({ prompt: 10, completion: 0 }), serviceTier }, table);
  t.match(of(entry, 'fast'), { spendPico: 30_000_000, costReason: '' });
  const input = entry.tokens.input ?? { base: null, tiers: {}, above: [] };
  const own = { ...input, tiers: { ...input.tiers, fast: 2_000_000_000_000n } };
  const catalogue = { ...entry, tokens: { ...entry.tokens, input: own } };
  t.match(of(catalogue, 'fast'), { spendPico: 20_000_000, costReason: '' });
  t.match(of(catalogue, 'priority'), { spendPico: 30_000_000, costReason: '' });
});

t.test('tools of the upstream are charged each, or once for a call', async (t) => {
  const tools = {
    search_context_cost_per_query: { search_context_size_medium: 0.01 },
    google_maps_grounding_cost_per_query: 0.025,
    file_search_cost_per_1k_calls: 0.0025,
    code_interpreter_cost_per_session: 0.03,
  };
  const units = { searches: 3, mapSearches: 2, fileSearches: 4, containers: 1 };
  const own = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, ...tools };
  const each = 1_200_000_000 + 30_000_000_000 + 50_000_000_000 + 10_000_000_000 + 30_000_000_000;
  const of = (stated: Stated, used: Charge['units'] = units): Cost =>
    cost({ tokens: USED, units: used }, prices(stated));
  t.match(of(own), { spendPico: each, costReason: '' });
  const once = each - 2 * 10_000_000_000 - 25_000_000_000;
  t.match(of({ ...own, web_search_billing_unit: 'per_prompt' }), { spendPico: once, costReason: '' });
  t.match(of(own, { searches: 0 }), { spendPico: 1_200_000_000, costReason: '' });
  const half = {
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
    file_search_cost_per_1k_calls: 0.0025,
  };
  const rest = 'web search (3 not charged), search on a map (2 not charged), code container (1 not charged)';
  t.match(of(half), {
    spendPico: 11_200_000_000,
    costReason: `no price of a ${rest} is known for model m`,
  });
  t.match(
    of({ input_cost_per_token: 0, output_cost_per_token: 0 }),
    { spendPico: 0, costReason: '' },
    'free',
  );
});

t.test('a model with prices of both kinds is charged by what the upstream counted', async (t) => {
  const both = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, input_cost_per_second: 0.001 };
  t.equal(pico({ units: { milliseconds: 2_000 } }, both), 2_000_000_000, 'seconds alone');
  t.equal(
    pico({ tokens: tokens({ prompt: 10, completion: 0 }), units: { milliseconds: 2_000 } }, both),
    2_010_000_000,
  );
  const search = { ...both, search_context_cost_per_query: { search_context_size_medium: 0.01 } };
  t.match(
    cost({ units: { searches: 1 } }, prices(search)),
    { spendPico: null, costReason: 'the upstream sent no usage' },
    'a search says nothing of the tokens',
  );
  const perToken = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 };
  for (const units of [{ images: 2 }, { characters: 9 }, { milliseconds: 9 }, { queries: 1 }])
    for (const more of [{}, { input_cost_per_request: 0.01 }])
      t.match(
        cost({ units }, prices({ ...perToken, ...more })),
        { spendPico: null, costReason: 'the upstream sent no usage' },
        `${Object.keys(units)} without a price of their own are not free`,
      );
  t.match(
    cost(
      { tokens: USED, units: { milliseconds: 2_000 } },
      prices({ input_cost_per_token: 1e-6, input_cost_per_second: 0.001 }),
    ),
    { spendPico: null, costReason: 'no output price is known for model m' },
    'tokens that were counted must have a price',
  );
});

t.test('the largest cost that a number holds exactly is recorded', async (t) => {
  t.equal(pico({}, { input_cost_per_request: '9007.199254740991' }), Number.MAX_SAFE_INTEGER);
  t.equal(pico({}, { input_cost_per_request: '9007.199254740992' }), null);
});

t.test('a price finer than a pico-dollar is exact; only the sum is rounded, half up', async (t) => {
  const of = (count: number, price: string): number | null =>
    pico({ tokens: tokens({ prompt: count, completion: 0 }) }, { input_cost_per_token: price });
  t.equal(of(1, '4.9e-13'), 0);
  t.equal(of(1_000_000, '4.9e-13'), 490_000);
  t.equal(of(3, '0.5e-12'), 2);
  t.equal(of(7, '0.000000000000000001'), 0);
});

t.test('a count that is not stated follows from the others', async (t) => {
  const rates = { input_cost_per_token: 10e-12, output_cost_per_token: 50e-12 };
  t.equal(pico({ tokens: tokens({ prompt: 8, total: 8 }) }, rates), 80, 'embeddings');
  t.equal(pico({ tokens: tokens({ prompt: 8, total: 10 }) }, rates), 180);
  t.equal(pico({ tokens: tokens({ completion: 2, total: 10 }) }, rates), 180);
});

t.test('a free model costs nothing, whatever the usage', async (t) => {
  const free = prices({ input_cost_per_token: 0, output_cost_per_token: 0 });
  t.match(cost({}, free), { spendPico: 0, costSource: 'entry' });
});

t.test('an unknown cost is null and says why', async (t) => {
  const reason = (charge: Partial<Charge>, stated: Stated | null): string => {
    const found = cost(charge, stated === null ? null : prices(stated));
    t.match(found, { spendPico: null, costSource: 'none', priceVersion: null, costs: {} });
    return found.costReason;
  };
  const plain = { input_cost_per_token: 3e-6, output_cost_per_token: 1.5e-5 };
  t.equal(reason({}, plain), 'the upstream sent no usage');
  t.equal(
    reason({ tokens: tokens({ completion: 5 }) }, plain),
    'the upstream sent no count of prompt tokens',
  );
  t.equal(reason({ tokens: USED, model: 'm-1' }, null), 'no price is known for model m-1');
  t.equal(reason({ tokens: USED }, { input_cost_per_token: 1 }), 'no output price is known for model m');
  t.equal(reason({ tokens: USED }, { output_cost_per_token: 1 }), 'no input price is known for model m');
  t.equal(reason({ tokens: USED }, { output_cost_per_image: 1 }), 'the number of images is not known');
  t.equal(
    reason({}, { input_cost_per_request: 1, input_cost_per_second: 1 }),
    'the number of seconds is not known',
  );
  const kinds: readonly (readonly [Partial<Tokens>, string])[] = [
    [{ cacheRead: 5 }, 'cached input'],
    [{ cacheWrite: 5 }, 'cache write'],
    [{ cacheWrite: 5, cacheWrite1h: 5 }, 'one-hour cache write'],
    [{ inputAudio: 5 }, 'audio input'],
    [{ inputImage: 5 }, 'image input'],
  ];
  for (const [kind, says] of kinds) {
    const used = tokens({ prompt: 5, completion: 0, ...kind });
    t.equal(reason({ tokens: used }, { output_cost_per_token: 1 }), `no ${says} price is known for model m`);
  }
  const answered: readonly (readonly [Partial<Tokens>, string])[] = [
    [{ reasoning: 5 }, 'reasoning'],
    [{ outputAudio: 5 }, 'audio output'],
    [{ outputImage: 5 }, 'image output'],
  ];
  for (const [kind, says] of answered) {
    const used = tokens({ prompt: 0, completion: 5, ...kind });
    t.equal(reason({ tokens: used }, { input_cost_per_token: 1 }), `no ${says} price is known for model m`);
  }
  t.equal(reason({}, { input_cost_per_character: 1 }), 'the number of characters is not known');
  t.equal(reason({}, { input_cost_per_query: 1 }), 'the number of search units is not known');
  const huge = tokens({ prompt: 1e12, completion: 1e12 });
  t.equal(reason({ tokens: huge }, plain), 'the cost is too large to be recorded exactly');
});

t.test('the dollars of every amount of any price are what exact decimals give', async () => {
  // The oracle: schoolbook multiplication of decimal strings, no powers of ten and no rounding until the end.
  const oracle = (price: string, count: number): bigint => {
    const [whole = '0', fraction = ''] = price.split('.');
    let product = BigInt(whole + fraction.padEnd(18, '0')) * BigInt(count);
    const rest = product % 1_000_000n;
    product -= rest;
    return product / 1_000_000n + (rest * 2n >= 1_000_000n ? 1n : 0n);
  };
  const price = fc
    .tuple(fc.nat(9), fc.nat(999_999_999), fc.nat(999_999_999))
    .map(([whole, high, low]) => `${whole}.${String(high).padStart(9, '0')}${String(low).padStart(9, '0')}`);
  fc.assert(
    fc.property(price, fc.nat(900), (one, count) => {
      const got = pico({ tokens: tokens({ prompt: count, completion: 0 }) }, { input_cost_per_token: one });
      return BigInt(got ?? -1) === oracle(one, count);
    }),
    { numRuns: runs(125) },
  );
});
