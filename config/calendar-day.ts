// Days as people write them. `Date.parse` takes 31 February for 3 March: a typo would be stored as another day.

const DAY = /^\d{4}-\d{2}-\d{2}/;

/** Whether a text begins with a day of the calendar, as 2026-01-31. */
export function beginsWithDay(text: string): boolean {
  const [day] = DAY.exec(text) ?? [];
  const ms = day === undefined ? NaN : Date.parse(day);
  return day !== undefined && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}
