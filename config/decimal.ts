// Decimal text -> a whole number of a small unit, exactly. Prices are tiny and get multiplied by millions, so binary
// fractions would accumulate errors (0.1 + 0.2). Pure.

// No amount is longer. The bounds keep hostile text from creating a BigInt with a billion digits.
const LONGEST_DECIMAL = 64;
const LARGEST_EXPONENT = 64;
const DECIMAL = /^\+?(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i;

/**
 * `text` times 10 to the power of `digits`, exactly; digits below the unit are rounded half up. Returns null for anything
 * that is not a plain amount: empty, negative, NaN, hexadecimal, longer than 64 characters.
 */
export function scaledDecimal(text: string, digits: number): bigint | null {
  const trimmed = text.trim();
  const match = trimmed.length > LONGEST_DECIMAL ? null : DECIMAL.exec(trimmed);
  if (match === null) return null;
  const whole = match[1] ?? '';
  const fraction = match[2] ?? '';
  if (whole === '' && fraction === '') return null;
  const exponent = Number(match[3] ?? '0');
  if (Math.abs(exponent) > LARGEST_EXPONENT) return null;
  const value = BigInt(whole + fraction);
  const shift = digits + exponent - fraction.length;
  return shift >= 0 ? value * 10n ** BigInt(shift) : halfUp(value, 10n ** BigInt(-shift));
}

/** The quotient of two non-negative whole numbers, rounded half up. */
export function halfUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor / 2n) / divisor;
}
