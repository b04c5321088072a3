// The prices of an entry, alone and over those of the catalogue.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Catalogue } from '../../../config/catalogue.ts';
import type { EntryParams } from '../../../config/gateway-file.ts';
import { pricesOf, pricesOver, shownPrices } from '../../../config/resolve/prices.ts';
import { loadConfig } from '../../../config/load.ts';
import { SCHEMA } from '../../../config/schema.ts';
import type { Prices } from '../../../config/price-table.ts';
import { LITELLM_PRICES } from '../fixture/litellm-prices.ts';

type Stated = Omit<EntryParams, 'model'>;
const prices = (stated: Stated): Prices | null => pricesOf({ model: 'm', ...stated }, undefined);
const LISTED = {
  input_cost_per_token: 2.5e-6,
  output_cost_per_token: 1e-5,
  cache_read_input_token_cost: 1.25e-6,
  input_cost_per_token_flex: 1.2e-6,
  input_cost_per_token_above_200k_tokens: 5e-6,
};
/** What an entry that states `own` charges for a model with these prices, or those of the list above. */
const charged = (own: Stated, listed: Stated = LISTED): unknown => {
  const table = pricesOver(prices(own), prices(listed));
  return table === null ? null : shownPrices(table);
};

t.test('prices are shown under the keys that state them', async (t) => {
  const stated = {
    ...LISTED,
    output_cost_per_token_priority: 2e-5,
    input_cost_per_token_above_128k_tokens: 4e-6,
    input_cost_per_token_above_200k_tokens_priority: 8e-6,
    cache_creation_input_token_cost_above_1hr_above_200k_tokens: 12e-6,
    output_cost_per_token_ultrafast: 3e-5,
    output_cost_per_image: 0.04,
    input_cost_per_request: 0.001,
  };
  t.same(charged(stated, {}), stated);
});

t.test('a fee per request is added to the prices of the catalogue', async (t) => {
  t.same(charged({ input_cost_per_request: 0.001 }), { ...LISTED, input_cost_per_request: 0.001 });
  t.same(charged({ input_cost_per_request: 0 }), { ...LISTED, input_cost_per_request: 0 });
  t.same(charged({ input_cost_per_request: 0.001 }, {}), { input_cost_per_request: 0.001 });
});

t.test('a price of one kind of tokens stands beside the others of the catalogue', async (t) => {
  t.same(charged({ cache_read_input_token_cost: 1e-6 }), { ...LISTED, cache_read_input_token_cost: 1e-6 });
  t.same(charged({ output_cost_per_reasoning_token: 2e-5 }), {
    ...LISTED,
    output_cost_per_reasoning_token: 2e-5,
  });
  t.same(charged({ input_cost_per_token_flex: 1e-6, input_cost_per_token_above_128k_tokens: 3e-6 }), {
    ...LISTED,
    input_cost_per_token_flex: 1e-6,
    input_cost_per_token_above_128k_tokens: 3e-6,
  });
});

t.test('a price of input or output takes the place of its whole line', async (t) => {
  t.same(charged({ input_cost_per_token: 1e-6 }), {
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-5,
  });
  t.same(charged({ output_cost_per_token: 5e-6 }), { ...LISTED, output_cost_per_token: 5e-6 });
  const whole = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
  t.same(charged(whole), whole);
  const written = { cache_creation_input_token_cost: 3e-6, cache_creation_input_token_cost_above_1hr: 6e-6 };
  t.same(charged({ cache_creation_input_token_cost: 2e-6 }, { ...LISTED, ...written }), {
    ...LISTED,
    cache_creation_input_token_cost: 2e-6,
  });
});

t.test('what is paid in place of tokens is all that is paid', async (t) => {
  t.same(charged({ output_cost_per_image: 0.04 }), { output_cost_per_image: 0.04 });
  t.same(charged({ output_cost_per_second: 1e-4 }), { output_cost_per_second: 1e-4 });
});

t.test(
  'an entry without prices has none of its own, and a model that nobody lists the stated ones',
  async (t) => {
    t.equal(pricesOver(null, prices(LISTED)), null);
    t.same(charged({ output_cost_per_token: 5e-6 }, {}), { output_cost_per_token: 5e-6 });
  },
);

t.test("an entry may state each price of LiteLLM's price list", async (t) => {
  const known = SCHEMA.properties?.['model_list']?.items?.properties?.['litellm_params']?.properties ?? {};
  const stated = LITELLM_PRICES.map((name) => [name, known[name]?.examples?.[0] ?? 1e-6]);
  const params = { model: 'openai/gpt-4o', api_key: 'k', ...Object.fromEntries(stated) };
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, JSON.stringify({ model_list: [{ model_name: 'a', litellm_params: params }] }));
  const loaded = loadConfig(path, {});
  t.strictSame(loaded.ok ? [] : loaded.issues.filter(({ severity }) => severity === 'error'), []);
  t.ok(LITELLM_PRICES.length > 170);
});

t.test('what a search is charged for: the entry says it, else the name of the model', async (t) => {
  const stated = {
    search_context_cost_per_query: { search_context_size_medium: 0.01 },
    google_maps_grounding_cost_per_query: 0.02,
  };
  const units = (model: string, more: Partial<EntryParams> = {}, base_model?: string): unknown =>
    Object.keys(
      pricesOf({ model, ...stated, ...more }, base_model === undefined ? undefined : { base_model })?.units ??
        {},
    );
  const each = ['searches', 'mapSearches'];
  const once = ['searchPrompts', 'mapPrompts'];
  for (const model of ['gemini/gemini-2.5-flash', 'gemini-1.5-pro', 'vertex_ai/gemini-live-2.5-flash'])
    t.same(units(model), once, model);
  for (const model of ['gemini/gemini-3-pro', 'openai/gpt-5', 'gemini/*', 'x/gemini-12', 'my-gemini-flash'])
    t.same(units(model), each, model);
  t.same(units('litellm_proxy/web', {}, 'gemini-2.5-pro'), once);
  t.same(units('gemini/gemini-2.5-flash', { web_search_billing_unit: 'per_query' }), each);
  t.same(units('openai/gpt-5', { web_search_billing_unit: 'per_prompt' }), once);
});

t.test('a price of each search stands in place of one for a whole call', async (t) => {
  const once = { search_context_cost_per_query: { search_context_size_low: 0.035 } };
  const listed = pricesOf({ model: 'gemini-2.5-pro', ...LISTED, ...once }, undefined);
  const own = prices({ search_context_cost_per_query: { search_context_size_low: 0.01 } });
  t.same(Object.keys(pricesOver(own, listed)?.units ?? {}), ['searches']);
  t.same(Object.keys(pricesOver(listed, own)?.units ?? {}), ['searchPrompts']);
  const files = prices({ file_search_cost_per_1k_calls: 0.0025 });
  t.same(pricesOver(files, listed)?.units, {
    searchPrompts: 35_000_000_000_000_000n,
    fileSearches: 2_500_000_000_000_000n,
  });
});

t.test("what an entry states as priority stands over the catalogue's price of the fast mode", async (t) => {
  const listed = new Catalogue().lookUp('claude-opus-4-8')?.prices ?? null;
  const tiers = (own: Stated): unknown => pricesOver(prices(own), listed)?.tokens.input?.tiers;
  t.same(tiers({ input_cost_per_token_priority: 9e-6 }), { priority: 9_000_000_000_000n });
  t.same(tiers({ input_cost_per_token_flex: 1e-6 }), { flex: 1_000_000_000_000n, fast: 10_000_000_000_000n });
});
