// An entry's own rate table, resolved to integers. US dollars per token in, pico-dollars per token out: 3e-06 is
// 3,000,000, so that sums over millions of tokens stay exact. Pure.
import type { EntryParams, ModelInfo } from '../gateway-file.ts';
import type { Prices } from '../snapshot.ts';

const PICO = 1e12;

type PriceKey =
  | 'input_cost_per_token'
  | 'output_cost_per_token'
  | 'cache_read_input_token_cost'
  | 'cache_creation_input_token_cost'
  | 'input_cost_per_request';

/** The rates of litellm_params, each else that of model_info; null when none is stated. */
export function pricesOf(params: EntryParams, info: ModelInfo | undefined): Prices | null {
  const rate = (key: PriceKey): number | null => {
    const stated = params[key] ?? info?.[key];
    return stated === undefined ? null : picoOf(Number(stated));
  };
  const prices: Prices = {
    input: rate('input_cost_per_token'),
    output: rate('output_cost_per_token'),
    cacheRead: rate('cache_read_input_token_cost'),
    cacheWrite: rate('cache_creation_input_token_cost'),
    perRequest: rate('input_cost_per_request'),
  };
  return Object.values(prices).every((one) => one === null) ? null : prices;
}

/** US dollars -> pico-dollars, an integer. */
function picoOf(dollars: number): number {
  return Math.round(dollars * PICO);
}
