// What a call reserves is never less than what it can cost by the same prices.
import t from 'tap';
import {
  mostCost,
  outputWithin,
  UNSTATED_OUTPUT_AT_MOST,
  type Candidate,
  type RequestSize,
} from '../../../../proxy/access/budgets/reservation.ts';
import type { Prices } from '../../../../config/price-table.ts';

const rate = (base: bigint) => ({ base, tiers: { flex: base / 2n, priority: base * 2n }, above: [] });
const pricesOf = (input: bigint, output: bigint, more: Prices['tokens'] = {}): Prices => ({
  version: 'v',
  tokens: { input: rate(input), output: rate(output), ...more },
  units: {},
});
const candidate = (prices: Prices | null, maxOutput: number | null = null): Candidate => ({
  model: 'm',
  maxOutput,
  prices: { deployment: prices, catalogue: null },
});
const size = (more: Partial<RequestSize> = {}): RequestSize => ({
  body: Buffer.from('{"messages":[{"role":"user","content":"hello there"}]}'),
  formParts: null,
  pricedBy: 'tokens',
  writes: true,
  maxOutput: 100,
  choices: 1,
  units: {},
  serviceTier: null,
  ...more,
});
const FREE_INPUT = pricesOf(0n, 1_000_000n); // a pico-dollar per token of output

t.test('output: what is asked for, what the model can, or a number of our own', (t) => {
  const of = (request: Partial<RequestSize>, limit: number | null = null): bigint =>
    mostCost(size(request), [candidate(FREE_INPUT, limit)]).pico;
  t.equal(of({}), 100n);
  t.equal(of({ choices: 3 }), 300n);
  t.equal(of({ maxOutput: 1_000_000 }, 64_000), 64_000n);
  t.equal(of({ maxOutput: null }, 64_000), 64_000n);
  t.equal(of({ maxOutput: null }), BigInt(UNSTATED_OUTPUT_AT_MOST));
  t.equal(of({ writes: false }), 0n);
  for (const huge of [{ maxOutput: 1e18 }, { choices: 1e18 }, { maxOutput: 1e308, choices: 1e308 }])
    t.equal(of(huge), BigInt(Number.MAX_SAFE_INTEGER), 'never nothing');
  t.equal(of({ serviceTier: 'priority' }), 200n);
  t.equal(of({ serviceTier: 'flex' }), 100n, 'the upstream may answer at the ordinary price');
  t.end();
});

t.test('a tool of the upstream is one that the request states, not a word in it', async (t) => {
  const units = {
    searches: 1_000_000n,
    fileSearches: 1_000_000n,
    mapSearches: 1_000_000n,
    containers: 1_000_000n,
  };
  const priced = { ...pricesOf(0n, 0n), units };
  const uses = (more: object): bigint => {
    const body = Buffer.from(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'w' }], ...more }),
    );
    return mostCost(size({ body }), [candidate(priced)]).pico;
  };
  for (const [tool, most] of [
    [{ type: 'web_search' }, 10n],
    [{ type: 'web_search_20250305', name: 'web_search' }, 10n],
    [{ type: 'web_search', max_uses: 30 }, 30n],
    [{ google_search: {} }, 10n],
    [{ googleSearchRetrieval: {} }, 10n],
    [{ enterprise_web_search: {} }, 10n],
    [{ type: 'file_search', vector_store_ids: ['v'] }, 10n],
    [{ googleMaps: {} }, 10n],
    [{ type: 'code_interpreter', container: { type: 'auto' } }, 1n],
  ] as const)
    t.equal(uses({ tools: [tool] }), most, JSON.stringify(tool));
  t.equal(uses({ web_search_options: {} }), 10n);
  for (const name of ['web_search', 'file_search', 'code_interpreter', 'google_search']) {
    t.equal(uses({ tools: [{ type: 'function', name }] }), 0n, `a function ${name}`);
    t.equal(uses({ tools: [{ type: 'function', function: { name } }] }), 0n);
    t.equal(uses({ input: `say ${name} and {"type": "${name}"}` }), 0n, `a text with ${name}`);
  }
});

t.test('the dearest of the deployments and of the kinds of tokens counts', (t) => {
  const dear = pricesOf(0n, 5_000_000n);
  t.equal(mostCost(size(), [candidate(FREE_INPUT), candidate(dear), candidate(null)]).pico, 500n);
  const written = pricesOf(1_000_000n, 0n, { cacheWrite: rate(2_000_000n), cacheWrite1h: rate(9_000_000n) });
  const plain = mostCost(size(), [candidate(pricesOf(1_000_000n, 0n))]).pico;
  t.equal(mostCost(size(), [candidate(written)]).pico, plain * 2n, 'a cache that writes by itself');
  const body = Buffer.from('{"messages":[{"role":"user","content":"hello there"}],"cache_control":1}');
  const cached = mostCost(size({ body }), [candidate(written)]).pico;
  t.equal(cached, mostCost(size({ body }), [candidate(pricesOf(1_000_000n, 0n))]).pico * 9n);
  t.equal(mostCost(size(), [candidate(pricesOf(0n, 1n, { reasoning: rate(7_000_000n) }))]).pico, 700n);
  t.end();
});

t.test('models that draw, and sound in the words of each protocol', (t) => {
  const drawing = candidate(pricesOf(0n, 1_000_000n, { outputImage: rate(9_000_000n) }));
  t.equal(mostCost(size(), [drawing]).pico, 900n, 'also without being asked to');
  const speaking = candidate(pricesOf(0n, 1_000_000n, { outputAudio: rate(5_000_000n) }));
  t.equal(mostCost(size(), [speaking]).pico, 100n);
  for (const asked of ['{"modalities":["text","audio"]}', '{"responseModalities":["AUDIO"]}'])
    t.equal(mostCost(size({ body: Buffer.from(asked) }), [speaking]).pico, 500n, asked);
  const listening = candidate(pricesOf(1_000_000n, 0n, { inputAudio: rate(3_000_000n) }));
  const plain = mostCost(size(), [candidate(pricesOf(1_000_000n, 0n))]).pico;
  t.equal(mostCost(size(), [listening]).pico, plain);
  const body = Buffer.from('{"inlineData":{"mimeType":"audio/mp3","data":"AAAA"}}');
  const heard = mostCost(size({ body }), [listening]).pico;
  t.equal(heard, 3n * mostCost(size({ body }), [candidate(pricesOf(1_000_000n, 0n))]).pico);
  const path = Buffer.from('{"messages":[{"role":"user","content":"see src/audio/mixer.ts"}]}');
  const asText = mostCost(size({ body: path }), [candidate(pricesOf(1_000_000n, 0n))]).pico;
  t.equal(mostCost(size({ body: path }), [listening]).pico, asText, 'a path in a text is no sound');
  const form = size({ formParts: 2, writes: false, body: Buffer.alloc(62_000) });
  t.equal(
    mostCost(form, [candidate(pricesOf(1_000_000n, 2_000_000n))]).pico,
    3_000n,
    'a thousand tokens of sound',
  );
  t.equal(
    mostCost(form, [candidate(pricesOf(1_000_000n, 2_000_000n), 200)]).pico,
    1_400n,
    'and no longer a transcript than the model writes',
  );
  const edit = (bytes: number): RequestSize =>
    size({
      formParts: 4,
      pricedBy: 'images',
      writes: false,
      units: { images: 1 },
      body: Buffer.alloc(bytes),
    });
  const editing = candidate(pricesOf(1_000_000n, 0n));
  t.equal(mostCost(edit(80_000), [editing]).pico, 10_000n);
  t.equal(mostCost(edit(8_000_000), [editing]).pico, 28_000n, 'a large file is no more of a picture');
  t.end();
});

t.test('units: images, characters, sound', (t) => {
  const by = (units: Prices['units']): Prices => ({ version: 'v', tokens: {}, units });
  const pico = 1_000_000n;
  t.equal(
    mostCost(size({ pricedBy: 'images', writes: false, units: { images: 3 } }), [
      candidate(by({ images: 40n * pico })),
    ]).pico,
    120n,
  );
  t.equal(
    mostCost(size({ pricedBy: 'characters', writes: false, units: { characters: 50 } }), [
      candidate(by({ characters: pico })),
    ]).pico,
    50n,
  );
  const unknown = size({ pricedBy: 'images', writes: false });
  t.equal(mostCost(unknown, [candidate(by({ images: pico }))]).pico, 1_000n, 'an odd number of images');
  const spoken = size({ pricedBy: 'characters', writes: false, units: { characters: 50 } });
  const voice = candidate(pricesOf(0n, 0n, { outputAudio: rate(pico) }));
  t.equal(mostCost(spoken, [voice]).pico, 250n, 'speech for a price per token of sound');
  const sound = size({ formParts: 2, writes: false, body: Buffer.alloc(20_000) });
  t.equal(mostCost(sound, [candidate(by({ seconds: pico }))]).pico, 10n, 'ten seconds at 16 kbit/s');
  t.equal(mostCost(size(), [candidate(by({ requests: 3n * pico }))]).pico, 3n);
  t.end();
});

t.test('without a price nothing is reserved, and the reason is known', (t) => {
  t.match(mostCost(size(), [candidate(null)]), { pico: 0n, reason: 'no price is known for model m' });
  t.end();
});

t.test('the longest answer that fits', (t) => {
  const cost = mostCost(size({ maxOutput: 1_000 }), [candidate(pricesOf(1_000_000n, 2_000_000n))]);
  const left = cost.inputPico() + 500n;
  t.equal(outputWithin(cost, left, 1), 250);
  t.equal(outputWithin(cost, left, 2), 125);
  t.equal(outputWithin(cost, cost.inputPico(), 1), null, 'not even the prompt');
  t.end();
});
