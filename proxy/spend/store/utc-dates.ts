// UTC days and months by name, `2026-11-23` and `2026-11`: what spend is summed, partitioned and removed by. Pure.

/** The day of an instant, epoch milliseconds. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The month of an instant, epoch milliseconds. */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** When the month begins, epoch milliseconds. */
export function startOfMonth(month: string): number {
  return Date.parse(`${month}-01T00:00:00Z`);
}

/** The month that follows. */
export function monthAfter(month: string): string {
  const date = new Date(startOfMonth(month));
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString().slice(0, 7);
}
