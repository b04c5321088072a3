// Figures as people read them, in the language of the page. What is not known is a dash, never a 0.
import { language } from '../text/index.ts';

export const UNKNOWN = '–';

const formats = new Map<string, Intl.NumberFormat>();

function format(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const locale = language.value === 'en' ? 'en-US' : language.value;
  const key = `${locale} ${JSON.stringify(options)}`;
  const found = formats.get(key) ?? new Intl.NumberFormat(locale, options);
  formats.set(key, found);
  return found;
}

type Known = number | null | undefined;

/** 12,345 */
export function count(value: Known): string {
  return value === null || value === undefined ? UNKNOWN : format({ maximumFractionDigits: 0 }).format(value);
}

/** 12.3 K, where there is no room for more. */
export function short(value: Known): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (Math.abs(value) < 10_000)
    return format({ maximumFractionDigits: Math.abs(value) < 10 ? 1 : 0 }).format(value);
  return format({ notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

/** A share of 1: 0.4 % */
export function percent(share: Known): string {
  if (share === null || share === undefined || Number.isNaN(share)) return UNKNOWN;
  if (share > 0 && share < 0.001)
    return `<${format({ style: 'percent', maximumFractionDigits: 1 }).format(0.001)}`;
  const digits = share === 0 || share >= 0.1 ? 0 : 1;
  return format({ style: 'percent', maximumFractionDigits: digits }).format(share);
}

/** US dollars with two digits; what is less than a cent says so. */
export function money(usd: Known): string {
  if (usd === null || usd === undefined) return UNKNOWN;
  const dollars = format({ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' });
  if (usd > 0 && usd < 0.01) return `<${dollars.format(0.01)}`;
  return dollars.format(usd);
}

const LEAST_USD = 0.000001;

/** US dollars of one call, or of a few: below a cent two figures that count, or all calls would cost "<$0.01". */
export function callMoney(usd: Known): string {
  if (usd === null || usd === undefined || usd === 0 || usd >= 0.01) return money(usd);
  const dollars = format({
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    maximumSignificantDigits: 2,
  });
  return usd < LEAST_USD ? `<${dollars.format(LEAST_USD)}` : dollars.format(usd);
}

const MOST_DIGITS = 12;

function dollars(usd: number, least: number, most: number): string {
  return format({
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  }).format(usd);
}

/** US dollars to the last digit that is stored, for tooltips and for what somebody has set. */
export function exactMoney(usd: Known): string {
  return usd === null || usd === undefined ? UNKNOWN : dollars(usd, 2, MOST_DIGITS);
}

/** How many digits tell amounts apart, and from 0: two at least. */
function digitsApart(amounts: readonly number[]): number {
  const all = [...new Set([0, ...amounts])];
  const isApart = (digits: number): boolean =>
    new Set(all.map((usd) => dollars(usd, digits, digits))).size === all.length;
  for (let digits = 2; digits < MOST_DIGITS; digits++) if (isApart(digits)) return digits;
  return MOST_DIGITS;
}

/** US dollars along an axis: each amount another text, all with as many digits. */
export function moneyTicks(amounts: readonly number[]): readonly string[] {
  const digits = digitsApart(amounts);
  return amounts.map((usd) => dollars(usd, digits, digits));
}

/** What was spent of a limit: the two read the same only where they are. */
export function moneyOf(usd: number, limit: Known): string {
  if (limit === null || limit === undefined || money(usd) !== money(limit)) return money(usd);
  return dollars(usd, 2, digitsApart([usd, limit]));
}

/** 380 ms, 1.24 s, 3 min 5 s, 2 h 4 min, 3 d 2 h */
export function duration(ms: Known): string {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms < 10) return `${format({ maximumFractionDigits: 1 }).format(ms)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${format({ maximumFractionDigits: ms < 10_000 ? 2 : 1 }).format(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const steps: readonly (readonly [number, string])[] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const first = steps.findIndex(([size]) => seconds >= size);
  return steps
    .slice(first, first + 2)
    .reduce<{ rest: number; parts: string[] }>(
      ({ rest, parts }, [size, unit]) => {
        const whole = Math.floor(rest / size);
        return { rest: rest - whole * size, parts: whole === 0 ? parts : [...parts, `${whole} ${unit}`] };
      },
      { rest: seconds, parts: [] },
    )
    .parts.join(' ');
}

/** 4.2 MB */
export function bytes(value: Known): string {
  if (value === null || value === undefined) return UNKNOWN;
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return `${format({ maximumFractionDigits: step === 0 ? 0 : 1 }).format(value / 1000 ** step)} ${units[step] ?? 'B'}`;
}
