// Pico-dollars as the scripts in Valkey count them: two numbers, because Lua's are doubles, exact up to 2^53 (9,007 dollars).

const BASE = 1_000_000_000_000_000n; // two of them are below 2^53

/** Thousands of dollars, and pico-dollars below that. */
type AmountParts = readonly [hi: number, lo: number];

/** @throws RangeError for less than nothing, or more than 10^30 pico-dollars: no such amount is money */
export function partsOf(pico: bigint): AmountParts {
  if (pico >= 0n && pico < BASE) return [0, Number(pico)];
  if (pico < 0n || pico >= BASE * BASE)
    throw new RangeError('an amount must be from 0 to 10^30 pico-dollars');
  return [Number(pico / BASE), Number(pico % BASE)];
}

/** @param lo as Valkey gives them: text */
export function picoOf(lo: string, hi: string): bigint {
  return BigInt(hi) * BASE + BigInt(lo);
}
