// A deployment's own prices: LiteLLM's keys in US dollars per token or unit -> exact atto-dollars. The catalogue produces
// the same table, so that one calculation serves both. Pure.
import { createHash } from 'node:crypto';
import { scaledDecimal } from '../decimal.ts';
import type { EntryParams, ModelInfo } from '../gateway-file.ts';
import type { Prices, Rate, TokenKind, UnitKind } from '../snapshot.ts';

const ATTO_DIGITS = 18;
const VERSION_HEX = 12;

type Key = Exclude<Extract<keyof EntryParams, `${string}cost${string}`>, 'search_context_cost_per_query'>;
type PriceLookup = (key: Key) => bigint | null;

/** Keys of a kind of tokens; the plain price first. */
interface RateKeys {
  readonly base: readonly Key[];
  readonly flex?: Key;
  readonly priority?: Key;
  /** Highest threshold first. */
  readonly above?: readonly (readonly [promptTokens: number, key: Key])[];
}

const TOKEN_KEYS: Readonly<Record<TokenKind, RateKeys>> = {
  input: {
    base: ['input_cost_per_token'],
    flex: 'input_cost_per_token_flex',
    priority: 'input_cost_per_token_priority',
    above: [
      [200_000, 'input_cost_per_token_above_200k_tokens'],
      [128_000, 'input_cost_per_token_above_128k_tokens'],
    ],
  },
  output: {
    base: ['output_cost_per_token'],
    flex: 'output_cost_per_token_flex',
    priority: 'output_cost_per_token_priority',
    above: [
      [200_000, 'output_cost_per_token_above_200k_tokens'],
      [128_000, 'output_cost_per_token_above_128k_tokens'],
    ],
  },
  cacheRead: {
    base: ['cache_read_input_token_cost', 'input_cost_per_token_cache_hit'],
    flex: 'cache_read_input_token_cost_flex',
    priority: 'cache_read_input_token_cost_priority',
    above: [[200_000, 'cache_read_input_token_cost_above_200k_tokens']],
  },
  cacheWrite: {
    base: ['cache_creation_input_token_cost'],
    above: [[200_000, 'cache_creation_input_token_cost_above_200k_tokens']],
  },
  cacheWrite1h: { base: ['cache_creation_input_token_cost_above_1hr'] },
  inputAudio: { base: ['input_cost_per_audio_token'] },
  inputImage: { base: ['input_cost_per_image_token'] },
  reasoning: { base: ['output_cost_per_reasoning_token'] },
  outputAudio: { base: ['output_cost_per_audio_token'] },
  outputImage: { base: ['output_cost_per_image_token'] },
};

/** The first key that is set counts: LiteLLM prices a generated image or a second of speech by either key. */
const UNIT_KEYS: Readonly<Record<Exclude<UnitKind, 'searches'>, readonly Key[]>> = {
  requests: ['input_cost_per_request'],
  images: ['output_cost_per_image', 'input_cost_per_image'],
  seconds: ['output_cost_per_second', 'input_cost_per_second', 'input_cost_per_audio_per_second'],
  characters: ['input_cost_per_character'],
  queries: ['input_cost_per_query'],
};

/** A web search is priced by its context size. Responses do not state it, so LiteLLM assumes medium. */
const SEARCH_SIZES = [
  'search_context_size_medium',
  'search_context_size_low',
  'search_context_size_high',
] as const;

/** The prices of litellm_params, then those of model_info; null when there are none. */
export function pricesOf(params: EntryParams, info: ModelInfo | undefined): Prices | null {
  const priceOf: PriceLookup = (key) => attoOf(params[key] ?? info?.[key]);
  const first = (keys: readonly Key[]): bigint | null => {
    for (const key of keys) {
      const price = priceOf(key);
      if (price !== null) return price;
    }
    return null;
  };
  const tokens: Partial<Record<TokenKind, Rate>> = {};
  for (const kind of Object.keys(TOKEN_KEYS) as TokenKind[]) {
    const rate = rateOf(TOKEN_KEYS[kind], priceOf, first);
    if (rate !== null) tokens[kind] = rate;
  }
  const units: Partial<Record<UnitKind, bigint>> = {};
  for (const kind of Object.keys(UNIT_KEYS) as (keyof typeof UNIT_KEYS)[]) {
    const price = first(UNIT_KEYS[kind]);
    if (price !== null) units[kind] = price;
  }
  const searches = params.search_context_cost_per_query ?? info?.search_context_cost_per_query;
  const size = SEARCH_SIZES.find((name) => searches?.[name] !== undefined);
  const search = size === undefined ? null : attoOf(searches?.[size]);
  if (search !== null) units.searches = search;
  return tableOf(tokens, units);
}

function rateOf(
  keys: RateKeys,
  priceOf: PriceLookup,
  first: (keys: readonly Key[]) => bigint | null,
): Rate | null {
  const above: { promptTokens: number; price: bigint }[] = [];
  for (const [promptTokens, key] of keys.above ?? []) {
    const price = priceOf(key);
    if (price !== null) above.push({ promptTokens, price });
  }
  const rate: Rate = {
    base: first(keys.base),
    flex: keys.flex === undefined ? null : priceOf(keys.flex),
    priority: keys.priority === undefined ? null : priceOf(keys.priority),
    above,
  };
  const empty = rate.base === null && rate.flex === null && rate.priority === null && above.length === 0;
  return empty ? null : rate;
}

/** Which kind of tokens one costs as that has no price of its own: the line that it belongs to. */
export const COSTS_AS: Readonly<Record<TokenKind, TokenKind | null>> = {
  input: null,
  cacheRead: 'input',
  cacheWrite: 'input',
  cacheWrite1h: 'cacheWrite',
  inputAudio: 'input',
  inputImage: 'input',
  output: null,
  reasoning: 'output',
  outputAudio: 'output',
  outputImage: 'output',
};
const KINDS = Object.keys(COSTS_AS) as TokenKind[];

/** Are charged beside what tokens cost; other units are what is paid in place of tokens. */
const BESIDE_TOKENS: ReadonlySet<string> = new Set<UnitKind>(['requests', 'searches']);

/**
 * The prices that an entry charges by: its own, over those of the catalogue. A line whose price it states is its own as a
 * whole: the catalogue's price of cached input says nothing of a gateway that asks another price for input.
 */
export function pricesOver(own: Prices | null, listed: Prices | null): Prices | null {
  if (own === null || listed === null || isWhole(own)) return own;
  const tokens: Partial<Record<TokenKind, Rate>> = {};
  for (const kind of KINDS) {
    const [stated, other] = [own.tokens[kind], listed.tokens[kind]];
    const rate = isStated(kind, own) || other === undefined ? stated : rateOver(stated, other);
    if (rate !== undefined) tokens[kind] = rate;
  }
  return tableOf(tokens, { ...listed.units, ...own.units });
}

/** Nothing of the catalogue's can be missing. */
function isWhole(own: Prices): boolean {
  if (isStated('input', own) && isStated('output', own)) return true;
  return Object.keys(own.units).some((unit) => !BESIDE_TOKENS.has(unit));
}

function isStated(kind: TokenKind, own: Prices): boolean {
  if (typeof own.tokens[kind]?.base === 'bigint') return true;
  const line = COSTS_AS[kind];
  return line !== null && isStated(line, own);
}

function rateOver(own: Rate | undefined, listed: Rate): Rate {
  if (own === undefined) return listed;
  const isOwn = (tokens: number): boolean => own.above.some(({ promptTokens }) => promptTokens === tokens);
  const above = [...own.above, ...listed.above.filter(({ promptTokens }) => !isOwn(promptTokens))];
  return {
    base: own.base ?? listed.base,
    flex: own.flex ?? listed.flex,
    priority: own.priority ?? listed.priority,
    above: above.sort((a, b) => b.promptTokens - a.promptTokens),
  };
}

/** The keys of a table's prices with what they state, US dollars: as `pricesOf` reads them. */
export function shownPrices(prices: Prices): Readonly<Record<string, number>> {
  const shown: Record<string, number> = {};
  const put = (key: Key | undefined, atto: bigint | null | undefined): void => {
    if (key !== undefined && typeof atto === 'bigint') shown[key] = dollarsOf(atto);
  };
  for (const kind of KINDS) {
    const [keys, rate] = [TOKEN_KEYS[kind], prices.tokens[kind]];
    put(keys.base[0], rate?.base);
    put(keys.flex, rate?.flex);
    put(keys.priority, rate?.priority);
    for (const { promptTokens, price } of rate?.above ?? [])
      put(keys.above?.find(([tokens]) => tokens === promptTokens)?.[1], price);
  }
  for (const kind of Object.keys(UNIT_KEYS) as (keyof typeof UNIT_KEYS)[])
    put(UNIT_KEYS[kind][0], prices.units[kind]);
  return shown;
}

/** The nearest double, as a price list states it: `2.5e-6`. */
const dollarsOf = (atto: bigint): number => Number(`${atto}e-${ATTO_DIGITS}`);

/** A frozen table with its version, or null when it is empty. */
export function tableOf(
  tokens: Partial<Record<TokenKind, Rate>>,
  units: Partial<Record<UnitKind, bigint>>,
): Prices | null {
  const text = JSON.stringify([tokens, units], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  if (text === '[{},{}]') return null;
  const version = createHash('sha256').update(text).digest('hex').slice(0, VERSION_HEX);
  return Object.freeze({ version, tokens: Object.freeze(tokens), units: Object.freeze(units) });
}

/** Validated amounts are never negative; digits below an atto-dollar are rounded half up. */
function attoOf(dollars: number | string | undefined): bigint | null {
  return dollars === undefined ? null : scaledDecimal(String(dollars), ATTO_DIGITS);
}
