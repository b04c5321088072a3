// What a request cost, in whole pico-dollars, so that sums are exact. Pure. Never guesses: a cost that cannot be
// derived is null with the reason, never 0. Prices come resolved from the snapshot, in atto-dollars; a request is added
// up in these and rounded once, at the end.
import { halfUp, scaledDecimal } from '../../../config/decimal.ts';
import { ownText } from '../../../config/own-text.ts';
import { COSTS_AS } from '../../../config/resolve/prices.ts';
import type { Mutable } from '../../base/mutable.ts';
import { bucketsOf, type Buckets, type Tokens, type Units } from '../../protocols/usage.ts';
import type {
  Prices,
  Rate,
  ServiceTier,
  TierPrices,
  TokenKind,
  UnitKind,
} from '../../../config/price-table.ts';
import { dollarText } from './dollars.ts';
import type { CostSource, KnownCosts } from './record.ts';

/** What a call has cost, by the source that counts. */
export interface Cost {
  /** Pico-dollars (1e-12 USD), or null when unknown. */
  readonly spendPico: number | null;
  readonly costSource: CostSource;
  /** Why `spendPico` is null, or which price it lacks; else ''. */
  readonly costReason: string;
  /** The cost by each source that knows it, the one that counts included. */
  readonly costs: KnownCosts;
  /** Version of the price table that was used; null when none was. */
  readonly priceVersion: string | null;
}

/** What is charged. */
export interface Charge {
  readonly tokens: Tokens;
  /** The tokens are an estimate; a cost that the upstream states is then nearer the truth. */
  readonly estimated: boolean;
  readonly units: Units;
  /** Service tier of the answer, as the vendor calls it; null = not stated. */
  readonly serviceTier: string | null;
  /** Pico-dollars that the upstream states; null = none. */
  readonly statedPico: number | null;
  /** The upstream's name of the model, for the reason. */
  readonly model: string;
}

/** Where prices of a deployment stand. */
export interface PriceSources {
  /** The deployment's own prices (`model_list`). */
  readonly deployment: Prices | null;
  readonly catalogue: Prices | null;
}

/** Why there is no cost above 2^53 pico-dollars. */
export const TOO_LARGE = 'the cost is too large to be recorded exactly';

const PICO_DIGITS = 12;
const PICO_PER_USD = 1e12;
const ATTO_PER_PICO = 1_000_000n;

/** Dollars of pico-dollars: the nearest double. Sums are made in pico-dollars before, never after. */
export function dollarsOf(pico: number | bigint): number {
  return Number(pico) / PICO_PER_USD;
}

/** Pico-dollars as a plain decimal of US dollars: `0.00125`, exact, never an exponent. */
export function usd(pico: number): string {
  return dollarText(BigInt(Math.max(0, pico)));
}

/**
 * Pico-dollars of a decimal dollar amount such as `0.00125` or `1.5e-05`, exactly; digits below one pico-dollar are
 * rounded half up. null for anything that is no cost (`None`, empty, negative, NaN) or is above 2^53 pico-dollars
 * (about 9,007 USD).
 */
export function picoDollars(text: string): number | null {
  const pico = scaledDecimal(text, PICO_DIGITS);
  return pico !== null && pico <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(pico) : null;
}

/**
 * The cost of one request: by the deployment's prices, else as the upstream states it, else by the catalogue; of estimated
 * tokens the upstream's statement comes first. A source that cannot give a number (no usage, no price for tokens that
 * were used) gives way to the next; the reason is that of the first that had prices.
 */
export function costOf(charge: Charge, prices: PriceSources): Cost {
  const buckets = bucketsOf(charge.tokens) ?? noUsage(charge.tokens);
  const entry = priced(charge, buckets, prices.deployment);
  const catalogue = priced(charge, buckets, prices.catalogue);
  const known: Mutable<KnownCosts> = {};
  if (typeof entry === 'number') known.entry = entry;
  if (charge.statedPico !== null) known.upstream_header = charge.statedPico;
  if (typeof catalogue === 'number') known.catalogue = catalogue;
  const doubtful = charge.estimated && (prices.deployment === null || isByTokens(prices.deployment));
  for (const source of doubtful ? ESTIMATED_ORDER : COST_SOURCES) {
    const spendPico = known[source];
    if (spendPico === undefined) continue;
    return {
      spendPico,
      costSource: source,
      costReason: lackOf(charge, buckets, tableOf(source, prices)),
      costs: known,
      priceVersion: tableOf(source, prices)?.version ?? null,
    };
  }
  const reason = [entry, catalogue].find((one) => typeof one === 'string') ?? noPrice(charge.model);
  return {
    spendPico: null,
    costSource: 'none',
    costReason: reason,
    costs: known,
    priceVersion: null,
  };
}

/** What decides beside the counts of tokens. */
export type ChargeTerms = Pick<Charge, 'units' | 'serviceTier' | 'model'>;

/**
 * Pico-dollars of tokens that are not used yet, by the deployment's prices, else by the catalogue's; or why there is no cost.
 * As `costOf` says it, without what a record states beside it.
 */
export function picoOf(
  terms: ChargeTerms,
  buckets: Buckets,
  { deployment, catalogue }: PriceSources,
): number | string {
  const entry = priced(terms, buckets, deployment);
  if (typeof entry === 'number') return entry;
  const listed = priced(terms, buckets, catalogue);
  return typeof listed === 'number' ? listed : (entry ?? listed ?? noPrice(terms.model));
}

/** The first that knows a cost counts. */
export const COST_SOURCES = ['entry', 'upstream_header', 'catalogue'] as const;
const ESTIMATED_ORDER = ['upstream_header', 'entry', 'catalogue'] as const;

function noPrice(model: string): string {
  return ownText(`no price is known for model ${model}`); // one for each call
}

/** How messages call a kind of tokens. */
const SAYS: Readonly<Record<TokenKind, string>> = {
  input: 'input',
  cacheRead: 'cached input',
  cacheWrite: 'cache write',
  cacheWrite1h: 'one-hour cache write',
  inputAudio: 'audio input',
  inputImage: 'image input',
  output: 'output',
  reasoning: 'reasoning',
  outputAudio: 'audio output',
  outputImage: 'image output',
};
const TOKEN_KINDS = Object.keys(SAYS) as TokenKind[];

const COUNTED: readonly (readonly [unit: UnitKind, count: keyof Units, perPrice: bigint, says: string])[] = [
  ['images', 'images', 1n, 'images'],
  ['seconds', 'milliseconds', 1000n, 'seconds'],
  ['characters', 'characters', 1n, 'characters'],
  ['queries', 'queries', 1n, 'search units'],
];

/** What a use of a tool of the upstream costs: each, or once for a call with some. */
interface ToolCharge {
  readonly count: keyof Units;
  readonly each: UnitKind;
  readonly once: UnitKind | null;
  /** One of them. */
  readonly says: string;
}

const TOOLS: readonly ToolCharge[] = [
  { count: 'searches', each: 'searches', once: 'searchPrompts', says: 'web search' },
  { count: 'fileSearches', each: 'fileSearches', once: null, says: 'search in files' },
  { count: 'mapSearches', each: 'mapSearches', once: 'mapPrompts', says: 'search on a map' },
  { count: 'containers', each: 'containers', once: null, says: 'code container' },
];

/** null: no price of them is known. */
function attoOfTool({ each, once }: ToolCharge, count: number, { units }: Prices): bigint | null {
  const price = units[each];
  return price === undefined ? ((once === null ? null : units[once]) ?? null) : price * BigInt(count);
}

/**
 * Pico-dollars, the sentence why there are none, or null where there are no prices.
 * @param buckets or the sentence why there are none
 */
function priced(
  terms: ChargeTerms,
  buckets: Buckets | string,
  prices: Prices | null,
): number | string | null {
  if (prices === null) return null;
  const { units } = terms;
  let atto = prices.units.requests ?? 0n;
  let counted = false;
  let missing: string | null = null;
  for (const [unit, name, per, says] of COUNTED) {
    const price = prices.units[unit];
    const count = units[name];
    if (price === undefined) continue;
    if (count === undefined) missing ??= `the number of ${says} is not known`;
    else {
      atto += halfUp(price * BigInt(count), per);
      counted = true;
    }
  }
  for (const tool of TOOLS) {
    const count = units[tool.count];
    if (count !== undefined && count > 0) atto += attoOfTool(tool, count, prices) ?? 0n;
  }
  if (isByTokens(prices)) {
    const tokens = typeof buckets === 'string' ? buckets : attoOfTokens(buckets, terms, prices);
    if (typeof tokens === 'bigint') atto += tokens;
    // Audio that is billed by the second has no tokens, and a deployment may state both prices.
    else if (typeof buckets !== 'string' || !counted) return tokens;
  } else if (!hasTokenPrices(prices)) {
    if (missing !== null) return missing;
    if (!counted && prices.units.requests === undefined) return noPrice(terms.model);
  }
  const pico = halfUp(atto, ATTO_PER_PICO);
  return pico <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(pico) : TOO_LARGE;
}

function noUsage({ completion }: Tokens): string {
  return completion === null ? 'the upstream sent no usage' : 'the upstream sent no count of prompt tokens';
}

function hasTokenPrices({ tokens }: Prices): boolean {
  return tokens.input !== undefined || tokens.output !== undefined;
}

/** The cost depends on how many tokens there were. */
function isByTokens(prices: Prices): boolean {
  return hasTokenPrices(prices) && !isFree(prices);
}

/** Every price that is stated is 0: free, whatever the usage. Every call asks several times, so no lists are made. */
function isFree({ tokens }: Prices): boolean {
  for (const kind of TOKEN_KINDS) {
    const rate = tokens[kind];
    if (rate === undefined) {
      if (COSTS_AS[kind] === null) return false;
    } else if (hasPrice(rate) || rate.above.some(hasPrice)) return false;
  }
  return true;
}

function hasPrice({ base, tiers }: TierPrices): boolean {
  if (base !== null && base !== 0n) return true;
  for (const tier of TIERS.values()) if ((tiers[tier] ?? 0n) !== 0n) return true;
  return false;
}

function attoOfTokens(
  buckets: Buckets,
  { serviceTier, model }: ChargeTerms,
  prices: Prices,
): bigint | string {
  const prompt = promptOf(buckets);
  const tier = serviceTier === null ? null : (TIERS.get(serviceTier) ?? null);
  let atto = 0n;
  for (const kind of TOKEN_KINDS) {
    const count = buckets[kind];
    if (count === 0) continue;
    const price = priceOf(kind, prices, prompt, tier);
    if (price === null) return `no ${SAYS[kind]} price is known for model ${model}`;
    atto += price * BigInt(count);
  }
  return atto;
}

function priceOf(kind: TokenKind, prices: Prices, prompt: number, tier: ServiceTier | null): bigint | null {
  const rate = prices.tokens[kind];
  const found = rate === undefined ? null : rateAt(rate, prompt, tier);
  const other = COSTS_AS[kind];
  return found?.price ?? (other === null ? null : priceOf(other, prices, prompt, tier));
}

/** A price with the length of prompts that it is stated for; 0 = of any. */
interface Stated {
  readonly price: bigint;
  readonly promptTokens: number;
}

/**
 * The price of the longest prompts below this one that states one for the tier (null = of ordinary calls): it holds for the
 * whole request. What a length states for other tiers says nothing of this one.
 */
function statedAt(rate: Rate, prompt: number, tier: ServiceTier | null): Stated | null {
  for (const long of rate.above) {
    if (prompt <= long.promptTokens) continue;
    const price = tierPrice(long, tier);
    if (price !== null) return { price, promptTokens: long.promptTokens };
  }
  const price = tierPrice(rate, tier);
  return price === null ? null : { price, promptTokens: 0 };
}

const tierPrice = ({ base, tiers }: TierPrices, tier: ServiceTier | null): bigint | null =>
  tier === null ? base : (tiers[tier] ?? (tier === 'fast' ? tiers.priority : undefined) ?? null); // as in the dialect

/**
 * What a token costs, and whether that is stated for the tier. Where an ordinary price is known of longer prompts than the tier's,
 * the dearer of both: no vendor asks less for a long prompt in a tier.
 */
function rateAt(
  rate: Rate,
  prompt: number,
  tier: ServiceTier | null,
): { readonly price: bigint; readonly isOfTier: boolean } | null {
  const base = statedAt(rate, prompt, null);
  const own = tier === null ? null : statedAt(rate, prompt, tier);
  if (own === null) return base === null ? null : { price: base.price, isOfTier: false };
  if (base === null || own.promptTokens >= base.promptTokens) return { price: own.price, isOfTier: true };
  return { price: own.price > base.price ? own.price : base.price, isOfTier: false };
}

/** Whether a kind of tokens is charged at a price that is stated for the tier. */
function isTierPriced(kind: TokenKind, prices: Prices, prompt: number, tier: ServiceTier): boolean {
  const rate = prices.tokens[kind];
  const found = rate === undefined ? null : rateAt(rate, prompt, tier);
  if (found !== null) return found.isOfTier;
  const other = COSTS_AS[kind];
  return other !== null && isTierPriced(other, prices, prompt, tier);
}

/** What vendors call a call that is served as any other. */
const ORDINARY: ReadonlySet<string> = new Set(['auto', 'default', 'on_demand', 'standard', 'standard_only']);
const TIERS: ReadonlyMap<string, ServiceTier> = new Map([
  ['flex', 'flex'],
  ['balanced', 'balanced'],
  ['priority', 'priority'],
  ['fast', 'fast'],
  ['ultrafast', 'ultrafast'],
]);

/** What the cost leaves out, or is not sure of; '' = nothing. */
function lackOf(charge: Charge, buckets: Buckets | string, prices: Prices | null): string {
  const ofTier = tierLack(charge, buckets, prices);
  const ofTools = prices === null ? '' : toolLack(charge, prices);
  return ofTier === '' || ofTools === '' ? ofTier || ofTools : `${ofTier}; ${ofTools}`;
}

/** That tools were used whose price is not known; '' = it is of all of them. */
function toolLack({ units, model }: Charge, prices: Prices): string {
  const lacks: string[] = [];
  for (const tool of TOOLS) {
    const count = units[tool.count] ?? 0;
    if (count > 0 && attoOfTool(tool, count, prices) === null)
      lacks.push(`${tool.says} (${count} not charged)`);
  }
  if (lacks.length === 0 || (hasTokenPrices(prices) && isFree(prices))) return '';
  return `no price of a ${lacks.join(', ')} is known for model ${model}`;
}

/** That the price of a call's service tier is not known, and another was taken; '' = all of it was. */
function tierLack({ serviceTier, model }: Charge, buckets: Buckets | string, prices: Prices | null): string {
  if (serviceTier === null || ORDINARY.has(serviceTier)) return '';
  if (prices === null || typeof buckets === 'string' || !isByTokens(prices)) return '';
  const tier = TIERS.get(serviceTier);
  const prompt = promptOf(buckets);
  const lacks = TOKEN_KINDS.filter(
    (kind) => buckets[kind] > 0 && (tier === undefined || !isTierPriced(kind, prices, prompt, tier)),
  );
  if (lacks.length === 0) return '';
  const kinds = lacks.map((kind) => SAYS[kind]).join(', ');
  return `no price of service tier ${serviceTier} is known for model ${model} (${kinds}); another price of the model was taken`;
}

const promptOf = (buckets: Buckets): number =>
  buckets.input +
  buckets.cacheRead +
  buckets.cacheWrite +
  buckets.cacheWrite1h +
  buckets.inputAudio +
  buckets.inputImage;

function tableOf(source: keyof KnownCosts, { deployment, catalogue }: PriceSources): Prices | null {
  if (source === 'entry') return deployment;
  return source === 'catalogue' ? catalogue : null;
}
