// Pico-dollars as texts of US dollars, for whoever adds them up again. Pure; nothing here passes through a double.

const PICO_DIGITS = 12;

/** Exact decimal of US dollars: `0.000022`, `-1.5`; never an exponent, no zeros at the end. */
export function dollarText(pico: bigint): string {
  const { sign, whole, fraction } = parts(pico);
  const digits = fraction.replace(/0+$/, '');
  return digits === '' ? `${sign}${whole}` : `${sign}${whole}.${digits}`;
}

/** The pico-dollars of a `dollarText`. */
export function picoOfDollarText(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole + fraction.padEnd(PICO_DIGITS, '0'));
  return text.startsWith('-') ? -size : size;
}

/** US dollars for people, with `places` digits behind the point (0 to 12), rounded half away from zero. */
export function roundedDollars(pico: bigint, places: number): string {
  const unit = 10n ** BigInt(PICO_DIGITS - places);
  const size = pico < 0n ? -pico : pico;
  const rounded = ((size + unit / 2n) / unit) * unit;
  const { sign, whole, fraction } = parts(pico < 0n ? -rounded : rounded);
  return `${sign}${whole}${places === 0 ? '' : `.${fraction.slice(0, places)}`}`;
}

function parts(pico: bigint): { sign: string; whole: string; fraction: string } {
  const digits = String(pico < 0n ? -pico : pico).padStart(PICO_DIGITS + 1, '0');
  return {
    sign: pico < 0n ? '-' : '',
    whole: digits.slice(0, -PICO_DIGITS),
    fraction: digits.slice(-PICO_DIGITS),
  };
}
