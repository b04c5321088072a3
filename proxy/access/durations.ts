// Durations as the dialect writes them (`30s`, `24h`, `7d`, `1mo`), and the windows of a budget that resets. A window is a
// function of the clock, the duration and the time that the budget was set: nothing has to run for a budget to reset.
// The rules and the table of resets: docs/budgets.md, after LiteLLM's duration_parser.
import { Temporal } from 'temporal-polyfill';

type Unit = 's' | 'm' | 'h' | 'd' | 'mo';

/** A number of units of the calendar or the clock. */
export interface Duration {
  /** At least 1. */
  readonly count: number;
  readonly unit: Unit;
}

/** From `startMs` up to, not including, `endMs`; epoch milliseconds. */
export interface BudgetWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** Where days begin. */
export interface Calendar {
  /** An IANA name, as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Minutes after midnight at which windows of a day and longer begin. */
  readonly resetMinute: number;
}

const TEXT = /^(\d{1,6})(s|m|h|d|w|mo)$/;
const WORDS: ReadonlyMap<string, string> = new Map([
  ['hourly', '1h'],
  ['daily', '1d'],
  ['weekly', '7d'],
  ['monthly', '1mo'],
]);
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** The field of a local time that windows of this unit are counted in, and what is below it. */
const SMALLER = { s: 'minute', m: 'hour', h: 'day' } as const;

/** null: not a duration, or nothing at all (`0d`). */
export function parseDuration(text: string): Duration | null {
  const [, digits = '', letters = ''] = TEXT.exec(WORDS.get(text) ?? text) ?? [];
  const count = Number(digits);
  if (count === 0) return null;
  if (letters === 'w') return { count: count * 7, unit: 'd' };
  return { count, unit: letters as Unit };
}

/** The time that is a duration after another: for keys that expire. A month ends on the same day, or on the month's last. */
export function durationAfter({ count, unit }: Duration, fromMs: number): number {
  if (unit !== 'mo') return fromMs + count * UNIT_MS[unit];
  const from = Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO('UTC');
  return from.add({ months: count }).epochMilliseconds;
}

/**
 * The window that holds `nowMs`. Days, weeks from Monday and months from the first are the calendar's; every other duration
 * is counted from the minute, hour or day that the budget was set in.
 * @param anchorMs when the budget was set
 */
export function windowAt(
  duration: Duration,
  anchorMs: number,
  nowMs: number,
  calendar: Calendar,
): BudgetWindow {
  const normal = plainDays(duration);
  if (normal.unit === 'mo') return monthsAt(normal.count, anchorMs, nowMs, calendar);
  if (normal.unit === 'd') return daysAt(normal.count, anchorMs, nowMs, calendar);
  const sizeMs = normal.count * UNIT_MS[normal.unit];
  const anchor = zoned(anchorMs, calendar).round({
    smallestUnit: SMALLER[normal.unit],
    roundingMode: 'floor',
  });
  const startMs = anchor.epochMilliseconds + Math.floor((nowMs - anchor.epochMilliseconds) / sizeMs) * sizeMs;
  return { startMs, endMs: startMs + sizeMs };
}

/** `24h` is a day, `48h` two; LiteLLM takes `30d` for a month, as people who write it mean. */
function plainDays({ count, unit }: Duration): Duration {
  if (unit === 'h' && count % 24 === 0) return plainDays({ count: count / 24, unit: 'd' });
  return unit === 'd' && count === 30 ? { count: 1, unit: 'mo' } : { count, unit };
}

const zoned = (ms: number, { timeZone }: Calendar): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);

/**
 * The day of the calendar that a time belongs to: before the minute of the reset it is the day before. Two days before where the
 * clock is put forward at midnight and that minute with it.
 */
function dayOf(ms: number, calendar: Calendar): Temporal.PlainDate {
  let day = zoned(ms, calendar).toPlainDate();
  while (startOf(day, calendar) > ms) day = day.subtract({ days: 1 });
  return day;
}

/** When a day of the calendar begins. A clock that is put forward at that time has it a moment later (RFC 9557's "compatible"). */
function startOf(day: Temporal.PlainDate, { timeZone, resetMinute }: Calendar): number {
  const time = Temporal.PlainTime.from({ hour: Math.floor(resetMinute / 60), minute: resetMinute % 60 });
  return day.toZonedDateTime({ timeZone, plainTime: time }).epochMilliseconds;
}

function daysAt(count: number, anchorMs: number, nowMs: number, calendar: Calendar): BudgetWindow {
  const today = dayOf(nowMs, calendar);
  // A week begins on Monday, whenever it was set; 2026-01-05 is one.
  const first = count === 7 ? Temporal.PlainDate.from('2026-01-05') : dayOf(anchorMs, calendar);
  const since = first.until(today, { largestUnit: 'day' }).days;
  const start = first.add({ days: Math.floor(since / count) * count });
  return { startMs: startOf(start, calendar), endMs: startOf(start.add({ days: count }), calendar) };
}

function monthsAt(count: number, anchorMs: number, nowMs: number, calendar: Calendar): BudgetWindow {
  const today = dayOf(nowMs, calendar).with({ day: 1 });
  const first = dayOf(anchorMs, calendar).with({ day: 1 });
  const since = first.until(today, { largestUnit: 'month' }).months;
  const start = first.add({ months: Math.floor(since / count) * count });
  return { startMs: startOf(start, calendar), endMs: startOf(start.add({ months: count }), calendar) };
}

/** When a time that is stated as a lifetime is over; null = never. */
export function endOf(life: string | null, nowMs: number): number | null {
  const read = life === null ? null : parseDuration(life);
  return read === null ? null : durationAfter(read, nowMs);
}
