// When a budget is used up if calls go on as of late. Pure: sums of the last hours and days in, moments out. The rate of the
// last day counts; the fastest and the slowest of all that are looked at give the band.
import { dollarsOf } from '../../spend/record/cost.ts';
import type { Forecast } from './spending.ts';

/** How far back rates are looked at, milliseconds; the second is the one that counts. */
export const LOOK_BACK_MS = [6 * 3_600_000, 24 * 3_600_000, 7 * 24 * 3_600_000] as const;

const DAY_MS = 86_400_000;
/** Later is never: `max_budget: 1000000000` stands for no budget, and no date is as late. */
const MOST_MS = 100 * 365 * DAY_MS;

export interface RecentSpend {
  readonly ms: number;
  readonly pico: bigint;
}

interface ForecastInput {
  readonly nowMs: number;
  /** What is left under the cap; null = there is none. */
  readonly leftPico: bigint | null;
  /** When the budget resets; null = never. */
  readonly resetMs: number | null;
  /** What was spent in each of `LOOK_BACK_MS`. */
  readonly recent: readonly RecentSpend[];
}

/** null: nothing was spent of late. */
export function forecastOf({ nowMs, leftPico, resetMs, recent }: ForecastInput): Forecast | null {
  const rates = recent.map(({ ms, pico }) => Number(pico) / ms).filter((rate) => rate > 0);
  const day = recent.find(({ ms }) => ms === LOOK_BACK_MS[1]);
  const rate = day !== undefined && day.pico > 0n ? Number(day.pico) / day.ms : Math.max(0, ...rates);
  if (rate === 0) return null;
  const usedUpAt = (perMs: number): number | null => {
    if (leftPico === null) return null;
    const atMs = Math.ceil(nowMs + Math.max(0, Number(leftPico)) / perMs);
    const isNever = atMs > nowMs + MOST_MS || (resetMs !== null && atMs >= resetMs);
    return isNever ? null : atMs;
  };
  return {
    perDay: dollarsOf(Math.round(rate * DAY_MS)), // whole pico-dollars: a rate is a fraction of these
    usedUpMs: usedUpAt(rate),
    earliestMs: usedUpAt(Math.max(...rates)),
    latestMs: usedUpAt(Math.min(...rates)),
  };
}
