// The windows of caps at a time. Computed once for all caps of one duration, since calendars cost some 50 us each: 100,000 keys
// with a monthly budget share one window.
import type { BudgetWindow, Calendar } from '../durations.ts';
import { capWindow, isOfCalendar, type Cap } from './caps.ts';

/** Of one calendar. */
export class CapWindows {
  readonly #calendar: Calendar;
  /** The newest that was asked for, by duration. */
  readonly #shared = new Map<string, BudgetWindow>();

  constructor(calendar: Calendar) {
    this.#calendar = calendar;
  }

  at(cap: Cap, atMs: number): BudgetWindow {
    const { duration, durationText } = cap;
    if (duration === null || cap.countFrom !== null || !isOfCalendar(duration))
      return capWindow(cap, atMs, this.#calendar);
    const name = durationText ?? '';
    const known = this.#shared.get(name);
    if (known !== undefined && atMs >= known.startMs && atMs < known.endMs) return known;
    const window = capWindow(cap, atMs, this.#calendar);
    if (known === undefined || window.startMs > known.startMs) this.#shared.set(name, window);
    return window;
  }
}

/** What the clock has shown. One that is set back shows times again for which there are records already. */
export class SeenTime {
  #lastMs = -Infinity;
  #setBackFromMs = -Infinity;

  saw(nowMs: number): void {
    if (nowMs < this.#lastMs) this.#setBackFromMs = Math.max(this.#setBackFromMs, this.#lastMs);
    this.#lastMs = nowMs;
  }

  /** Whether calls may have begun at this time, or after it, before the clock was set back. */
  comesAgain(ms: number): boolean {
    return ms <= this.#setBackFromMs;
  }
}

/** When a window ends; null = never. */
export const endOf = ({ endMs }: BudgetWindow): number | null => (endMs === Infinity ? null : endMs);
