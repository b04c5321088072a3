// UTC days, because sums are kept by UTC day.
import { computed } from '@preact/signals';
import { now } from './now.ts';

export const DAY_MS = 86_400_000;

/** Since 1970. A page that is open at midnight is of the new day from then on. */
const today = computed(() => Math.floor(now.value / DAY_MS));

/** The UTC day so many days from today: `2026-11-22`. Read within a component, it follows the clock. */
export function dayFromNow(days: number): string {
  return new Date((today.value + days) * DAY_MS).toISOString().slice(0, 10);
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
