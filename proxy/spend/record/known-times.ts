// The times that rows, sums and exports state: those of the years 1 to 9999. Days beyond have no name of four digits, and readers,
// Python's and SQL's among them, know no year 0. Pure.

const FIRST_MS = -62_135_596_800_000;
/** The end of the year 9999. */
export const LAST_MS = 253_402_300_799_999;

/** Rows of a clock that was far off must not keep the others from being listed: they are held to the nearest known time. */
export function isoTime(epochMs: number): string {
  return new Date(Math.min(Math.max(epochMs, FIRST_MS), LAST_MS)).toISOString();
}
