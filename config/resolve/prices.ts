// A deployment's own prices: LiteLLM's keys in US dollars per token or unit -> exact atto-dollars. The catalogue produces
// the same table, so that one calculation serves both. Pure.
import { createHash } from 'node:crypto';
import { scaledDecimal } from '../decimal.ts';
import type { EntryParams, ModelInfo } from '../gateway-file.ts';
import type { Prices, Rate, ServiceTier, TierPrices, TokenKind, UnitKind } from '../price-table.ts';

const ATTO_DIGITS = 18;
const VERSION_HEX = 12;

type Key = Exclude<Extract<keyof EntryParams, `${string}cost${string}`>, 'search_context_cost_per_query'>;
type UnitPrices = Partial<Record<UnitKind, bigint>>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The key of each kind of tokens; those of long prompts and of service tiers end in what they are for. */
const TOKEN_KEYS: Readonly<Record<TokenKind, Key>> = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  cacheWrite1h: 'cache_creation_input_token_cost_above_1hr',
  inputAudio: 'input_cost_per_audio_token',
  inputImage: 'input_cost_per_image_token',
  reasoning: 'output_cost_per_reasoning_token',
  outputAudio: 'output_cost_per_audio_token',
  outputImage: 'output_cost_per_image_token',
};
const OLDER_CACHE_READ: Key = 'input_cost_per_token_cache_hit';
const THRESHOLDS = [32, 100, 128, 200, 256, 272, 512];
const TIERS: readonly ServiceTier[] = ['flex', 'balanced', 'priority', 'ultrafast', 'fast'];

/** What a key is the price of. */
interface Place {
  readonly kind: TokenKind;
  /** 0 = of any prompt. */
  readonly promptTokens: number;
  /** null = of ordinary calls. */
  readonly tier: ServiceTier | null;
}

const keyOf = ({ kind, promptTokens, tier }: Place): string =>
  `${TOKEN_KEYS[kind]}${promptTokens === 0 ? '' : `_above_${promptTokens / 1000}k_tokens`}${tier === null ? '' : `_${tier}`}`;

const PLACES: ReadonlyMap<string, Place> = new Map(
  (Object.keys(TOKEN_KEYS) as TokenKind[]).flatMap((kind) =>
    [0, ...THRESHOLDS].flatMap((thousands) =>
      [null, ...TIERS].map((tier) => {
        const place = { kind, promptTokens: thousands * 1000, tier };
        return [keyOf(place), place] as const;
      }),
    ),
  ),
);

/** Uses of tools that an upstream runs; they are charged beside tokens. */
const TOOL_UNITS = [
  'searches',
  'searchPrompts',
  'fileSearches',
  'mapSearches',
  'mapPrompts',
  'containers',
] as const satisfies readonly UnitKind[];
type ToolUnit = (typeof TOOL_UNITS)[number];

/** The first key that is set counts: LiteLLM prices a generated image or a second of speech by either key. */
const UNIT_KEYS: Readonly<Record<Exclude<UnitKind, ToolUnit>, readonly [Key, ...Key[]]>> = {
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
  const stated = { ...info, ...params };
  const units: UnitPrices = {};
  for (const kind of Object.keys(UNIT_KEYS) as (keyof typeof UNIT_KEYS)[]) {
    const price = UNIT_KEYS[kind].map((key) => attoOf(stated[key])).find((atto) => atto !== null);
    if (price !== undefined) units[kind] = price;
  }
  const searches = stated.search_context_cost_per_query;
  const size = SEARCH_SIZES.find((name) => searches?.[name] !== undefined);
  const files = attoOf(stated.file_search_cost_per_1k_calls);
  const container = attoOf(stated.code_interpreter_cost_per_session);
  if (files !== null) units.fileSearches = files; // of one search, whatever the key is called: as LiteLLM charges it
  if (container !== null) units.containers = container;
  const grounding = {
    search: size === undefined ? null : searches?.[size],
    map: stated.google_maps_grounding_cost_per_query,
    unit: stated.web_search_billing_unit,
  };
  return tableOf(ratesOf(stated), {
    ...units,
    ...groundingPrices(grounding, [params.model, stated.base_model ?? '']),
  });
}

/** Gemini up to 2.5 charges a prompt that was grounded, later ones each query (ai.google.dev/gemini-api/docs/pricing). */
const PER_PROMPT = /\bgemini-(?:[a-z]+-)*[12]\b/;

/**
 * What searches on the web and on maps cost, each or once for a call.
 * @param grounding US dollars, and what they are for: `per_query`, `per_prompt`, else the names of the model tell
 */
export function groundingPrices(
  { search, map, unit }: { readonly search: unknown; readonly map: unknown; readonly unit: unknown },
  models: readonly string[],
): UnitPrices {
  const isPerPrompt =
    unit === 'per_prompt' || (unit !== 'per_query' && models.some((one) => PER_PROMPT.test(one)));
  const units: UnitPrices = {};
  const [ofSearch, ofMap] = [attoOf(search), attoOf(map)];
  if (ofSearch !== null) units[isPerPrompt ? 'searchPrompts' : 'searches'] = ofSearch;
  if (ofMap !== null) units[isPerPrompt ? 'mapPrompts' : 'mapSearches'] = ofMap;
  return units;
}

/** Prices of tokens as their keys state them. */
export function ratesOf(stated: Readonly<Record<string, unknown>>): Partial<Record<TokenKind, Rate>> {
  const found = new Map<TokenKind, Map<number, Mutable<TierPrices>>>();
  const put = ({ kind, promptTokens, tier }: Place, atto: bigint | null): void => {
    if (atto === null) return;
    const byLength = found.get(kind) ?? new Map<number, Mutable<TierPrices>>();
    found.set(kind, byLength);
    const prices = byLength.get(promptTokens) ?? { base: null, tiers: {} };
    byLength.set(promptTokens, prices);
    if (tier === null) prices.base = atto;
    else prices.tiers = { ...prices.tiers, [tier]: atto };
  };
  const older = attoOf(stated[OLDER_CACHE_READ]);
  put({ kind: 'cacheRead', promptTokens: 0, tier: null }, older);
  for (const [key, value] of Object.entries(stated)) {
    const place = PLACES.get(key);
    if (place !== undefined) put(place, attoOf(value));
  }
  const rates: Partial<Record<TokenKind, Rate>> = {};
  for (const kind of KINDS) {
    const byLength = found.get(kind);
    if (byLength === undefined) continue;
    const { base, tiers } = byLength.get(0) ?? { base: null, tiers: {} };
    byLength.delete(0);
    const above = Array.from(byLength, ([promptTokens, prices]) => ({ promptTokens, ...prices }));
    rates[kind] = { base, tiers, above: above.sort((a, b) => b.promptTokens - a.promptTokens) };
  }
  return rates;
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
const LINES = KINDS.filter((kind) => COSTS_AS[kind] === null);

/** Are charged beside what tokens cost; other units are what is paid in place of tokens. */
const BESIDE_TOKENS: ReadonlySet<string> = new Set<UnitKind>(['requests', ...TOOL_UNITS]);

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
  return tableOf(tokens, unitsOver(own.units, listed.units));
}

/** A price of each search stands in place of one for all of a call, and the other way round. */
const REPLACES: readonly (readonly [UnitKind, UnitKind])[] = [
  ['searches', 'searchPrompts'],
  ['mapSearches', 'mapPrompts'],
];

export function unitsOver(own: UnitPrices, listed: UnitPrices): UnitPrices {
  const units = { ...listed, ...own };
  for (const [each, once] of REPLACES) {
    if (own[each] !== undefined) delete units[once];
    else if (own[once] !== undefined) delete units[each];
  }
  return units;
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
  const lengths = new Set([...own.above, ...listed.above].map(({ promptTokens }) => promptTokens));
  const at = (rate: Rate, length: number): TierPrices | undefined =>
    rate.above.find(({ promptTokens }) => promptTokens === length);
  return {
    ...tiersOver(own, listed),
    above: Array.from(lengths, (promptTokens) => ({
      promptTokens,
      ...tiersOver(at(own, promptTokens), at(listed, promptTokens)),
    })).sort((a, b) => b.promptTokens - a.promptTokens),
  };
}

function tiersOver(own: TierPrices | undefined, listed: TierPrices | undefined): TierPrices {
  const { fast, ...others } = listed?.tiers ?? {};
  // What an entry states as `priority` is its price of the fast mode, too.
  const ofFastMode = fast === undefined || own?.tiers.priority !== undefined ? {} : { fast };
  return {
    base: own?.base ?? listed?.base ?? null,
    tiers: { ...others, ...ofFastMode, ...own?.tiers },
  };
}

/**
 * The prices that calls of an entry are charged by. Where the entry asks for units in place of tokens, a call without such
 * units is charged by the catalogue, so that its prices of tokens stand beside.
 * @param stated the keys that the entry states
 */
export function shownCharges(
  own: Prices,
  listed: Prices | null,
  stated: Readonly<Record<string, unknown>>,
): Readonly<Record<string, number>> {
  const shown = shownPrices(own, stated);
  const lacksLine = LINES.some(
    (line) => own.tokens[line] === undefined && listed?.tokens[line] !== undefined,
  );
  return listed === null || !lacksLine ? shown : { ...shown, ...shownPrices({ ...listed, units: {} }) };
}

/**
 * The keys of a table's prices with what they state, US dollars: as `pricesOf` reads them.
 * @param stated keys of the entry: a unit that has several stands under the one that was written
 */
export function shownPrices(
  prices: Prices,
  stated: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, number>> {
  const shown: Record<string, number> = {};
  const put = (kind: TokenKind, promptTokens: number, { base, tiers }: TierPrices): void => {
    if (base !== null) shown[keyOf({ kind, promptTokens, tier: null })] = dollarsOf(base);
    for (const tier of TIERS) {
      const price = tiers[tier];
      if (price !== undefined) shown[keyOf({ kind, promptTokens, tier })] = dollarsOf(price);
    }
  };
  for (const kind of KINDS) {
    const rate = prices.tokens[kind];
    if (rate === undefined) continue;
    put(kind, 0, rate);
    for (const { promptTokens, ...long } of rate.above) put(kind, promptTokens, long);
  }
  for (const kind of Object.keys(UNIT_KEYS) as (keyof typeof UNIT_KEYS)[]) {
    const price = prices.units[kind];
    if (price === undefined) continue;
    const written = UNIT_KEYS[kind].find((key) => attoOf(stated[key]) !== null);
    shown[written ?? UNIT_KEYS[kind][0]] = dollarsOf(price);
  }
  return shown;
}

/** The nearest double, as a price list states it: `2.5e-6`. */
const dollarsOf = (atto: bigint): number => Number(`${atto}e-${ATTO_DIGITS}`);

/** A frozen table with its version, or null when it is empty. */
export function tableOf(tokens: Partial<Record<TokenKind, Rate>>, units: UnitPrices): Prices | null {
  const text = JSON.stringify([tokens, units], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  if (text === '[{},{}]') return null;
  const version = createHash('sha256').update(text).digest('hex').slice(0, VERSION_HEX);
  return Object.freeze({ version, tokens: Object.freeze(tokens), units: Object.freeze(units) });
}

/** Validated amounts are never negative; digits below an atto-dollar are rounded half up. */
function attoOf(dollars: unknown): bigint | null {
  const isAmount = typeof dollars === 'number' || typeof dollars === 'string';
  return isAmount ? scaledDecimal(String(dollars), ATTO_DIGITS) : null;
}
