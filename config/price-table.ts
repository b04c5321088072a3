// A table of prices: what a deployment states and what the catalogue lists have this one form. Types only.

/** Kinds of tokens that can have their own price; without one, a kind costs the same as its parent kind. */
export type TokenKind =
  | 'input'
  | 'cacheRead'
  | 'cacheWrite'
  | 'cacheWrite1h'
  | 'inputAudio'
  | 'inputImage'
  | 'output'
  | 'reasoning'
  | 'outputAudio'
  | 'outputImage';

/**
 * Other units that are counted and priced. Seconds are counted in milliseconds, all others one by one. `...Prompts`: calls with
 * such searches, however many they are.
 */
export type UnitKind =
  | 'requests'
  | 'images'
  | 'seconds'
  | 'characters'
  | 'queries'
  | 'searches'
  | 'searchPrompts'
  | 'fileSearches'
  | 'mapSearches'
  | 'mapPrompts'
  | 'containers';

/** `fast`: Anthropic's fast mode, which has prices of its own in the catalogue alone; an entry states them as `priority`. */
export type ServiceTier = 'flex' | 'balanced' | 'priority' | 'ultrafast' | 'fast';

/** Prices of one kind of tokens, atto-dollars (1e-18 USD) per token, by service tier; base: of ordinary calls, null = not set. */
export interface TierPrices {
  readonly base: bigint | null;
  readonly tiers: Readonly<Partial<Record<ServiceTier, bigint>>>;
}

/** The same with those of long prompts, highest first: the first that is exceeded and states a price holds for all tokens. */
export interface Rate extends TierPrices {
  readonly above: readonly (TierPrices & { readonly promptTokens: number })[];
}

/** A price table in atto-dollars (1e-18 USD), so that 3e-06 USD per token and a hundredth of it are whole numbers. */
export interface Prices {
  /** SHA-256 (first 12 hex) over the table; each spend record stores which prices it used. */
  readonly version: string;
  readonly tokens: Readonly<Partial<Record<TokenKind, Rate>>>;
  readonly units: Readonly<Partial<Record<UnitKind, bigint>>>;
}
