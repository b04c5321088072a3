// UTC days, because sums are kept by UTC day.
export const DAY_MS = 86_400_000;

/** The UTC day so many days from today: `2026-11-22`. */
export function dayFromNow(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** How many days from the first to the last, both counted. */
export function daysIn(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
}

/** Every day from the first to the last. */
export function daysBetween(first: string, last: string): readonly string[] {
  return Array.from({ length: Math.max(0, daysIn(first, last)) }, (_, i) => addDays(first, i));
}
