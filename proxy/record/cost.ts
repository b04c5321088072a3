// What a request cost, in whole pico-dollars, so that sums are exact. Pure. Never guesses: a cost that cannot be
// derived is null with the reason, never 0. Rates come resolved from the snapshot.
import type { Prices } from '../../config/snapshot.ts';
import type { Tokens } from '../wire/usage.ts';
import type { CostSource } from './record.ts';

export interface Cost {
  /** Pico-dollars (1e-12 USD), or null when unknown. */
  readonly spendPico: number | null;
  readonly costSource: CostSource;
  /** Why `spendPico` is null, or ''. */
  readonly costReason: string;
}

const PICO_DIGITS = 12;
const PICO_PER_DOLLAR = 1e12;
// Longer texts are not prices; the bounds keep a hostile header from asking for a BigInt of a billion digits.
const LONGEST_DECIMAL = 64;
const LARGEST_EXPONENT = 64;
const DECIMAL = /^\+?(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i;

/** Dollars of pico-dollars: the nearest double. Sums are made in pico-dollars before, never after. */
export function dollarsOf(pico: number | bigint): number {
  return Number(pico) / PICO_PER_DOLLAR;
}

/**
 * Pico-dollars of a decimal dollar amount such as `0.00125` or `1.5e-05`, exactly; digits below one pico-dollar are
 * rounded half up. null for anything that is no cost (`None`, empty, negative, NaN) or is above 2^53 pico-dollars
 * (about 9,007 USD).
 */
export function picoDollars(text: string): number | null {
  const trimmed = text.trim();
  const match = trimmed.length > LONGEST_DECIMAL ? null : DECIMAL.exec(trimmed);
  if (match === null) return null;
  const whole = match[1] ?? '';
  const fraction = match[2] ?? '';
  if (whole === '' && fraction === '') return null;
  const exponent = Number(match[3] ?? '0');
  if (Math.abs(exponent) > LARGEST_EXPONENT) return null;
  const digits = BigInt(whole + fraction);
  const shift = PICO_DIGITS + exponent - fraction.length;
  const pico = shift >= 0 ? digits * 10n ** BigInt(shift) : roundedShift(digits, 10n ** BigInt(-shift));
  return pico <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(pico) : null;
}

function roundedShift(digits: bigint, divisor: bigint): bigint {
  return (digits + divisor / 2n) / divisor;
}

/**
 * The cost of one request: by the entry's prices, else as the upstream's `x-litellm-response-cost` header states it,
 * else by the catalogue. A source that cannot give a number (no usage, no rate for a bucket that has tokens) gives
 * way to the next; the reason is that of the first source that had prices.
 * @param tokens `prompt` includes cached tokens
 * @param model the upstream's name of the model, for the reason
 */
export function costOf(
  tokens: Tokens,
  prices: Prices | null,
  upstreamCostHeader: string | null,
  cataloguePrices: Prices | null,
  model: string,
): Cost {
  let reason = '';
  if (prices !== null) {
    const priced = priceOf(tokens, prices, model);
    if (typeof priced === 'number') return { spendPico: priced, costSource: 'entry', costReason: '' };
    reason = priced;
  }
  const stated = upstreamCostHeader === null ? null : picoDollars(upstreamCostHeader);
  if (stated !== null) return { spendPico: stated, costSource: 'upstream_header', costReason: '' };
  if (cataloguePrices !== null) {
    const priced = priceOf(tokens, cataloguePrices, model);
    if (typeof priced === 'number') return { spendPico: priced, costSource: 'catalogue', costReason: '' };
    reason ||= priced;
  }
  return { spendPico: null, costSource: 'none', costReason: reason || noPrice(model) };
}

function noPrice(model: string): string {
  return `no price is known for model ${model}`;
}

/** Pico-dollars, or the sentence why there are none. */
function priceOf(tokens: Tokens, prices: Prices, model: string): number | string {
  const { input, output, perRequest } = prices;
  const perToken = input !== null || output !== null;
  if (!perToken) return perRequest ?? noPrice(model);
  const cacheReadRate = prices.cacheRead ?? input;
  const cacheWriteRate = prices.cacheWrite ?? input;
  if (input === 0 && output === 0 && cacheReadRate === 0 && cacheWriteRate === 0) return perRequest ?? 0; // free, whatever the usage

  const total = count(tokens.total);
  let prompt = count(tokens.prompt);
  let completion = count(tokens.completion);
  if (prompt === null && completion === null) return 'the upstream sent no usage';
  // Embeddings state prompt and total only; some upstreams state completion and total only.
  completion ??= Math.max(0, (total ?? 0) - (prompt ?? 0));
  if (prompt === null) {
    if (total === null) return 'the upstream sent no count of prompt tokens';
    prompt = Math.max(0, total - completion);
  }
  const cacheRead = Math.min(count(tokens.cacheRead) ?? 0, prompt);
  const cacheWrite = Math.min(count(tokens.cacheWrite) ?? 0, prompt - cacheRead);
  const buckets = [
    [prompt - cacheRead - cacheWrite, input, 'input'],
    [cacheRead, cacheReadRate, 'cached input'],
    [cacheWrite, cacheWriteRate, 'cache write'],
    [completion, output, 'output'],
  ] as const;
  let pico = perRequest ?? 0;
  for (const [amount, rate, name] of buckets) {
    if (amount === 0) continue;
    if (rate === null) return `no ${name} price is known for model ${model}`;
    pico += amount * rate;
  }
  // No term is negative, so a safe sum means that every product was safe, hence exact.
  return Number.isSafeInteger(pico) ? pico : 'the cost is too large to be recorded exactly';
}

/** A count the upstream may have sent as anything. */
function count(value: number | null): number | null {
  return value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
