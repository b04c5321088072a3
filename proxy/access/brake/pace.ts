// Calls and cost of a conversation by the minute, compared with its own history: the median of its last minutes. Minutes without
// calls are no history, since agents wait for their users. A minute that was too fast enters it at no more than what would just
// not have been: a change that lasts becomes usual, and a single one changes little.

/** Minutes of history: half of them are fewer than the minutes in a row that stop a conversation. */
const MOST = 15;
/** With fewer nothing can be said. */
const LEAST = 5;
const MINUTE_MS = 60_000;
const NONE: readonly number[] = Object.freeze([]);

/** From which amount on a minute counts. */
export interface PaceBounds {
  readonly factor: number;
  readonly least: number;
}

/** A minute that was too fast, and what was usual before those in a row. */
export interface FastMinute {
  readonly amount: number;
  readonly usual: number;
}

/** One quantity by the minute. */
export class Pace {
  #minute = -1;
  #amount = 0;
  #over = 0;
  #fast: FastMinute | null = null;
  #history: readonly number[] = NONE;

  add(amount: number, atMs: number, bounds: PaceBounds): void {
    this.#moveTo(Math.floor(atMs / MINUTE_MS), bounds);
    this.#amount += amount;
  }

  /** Minutes in a row, this one included, that were too fast. */
  minutesOver(atMs: number, bounds: PaceBounds): number {
    this.#moveTo(Math.floor(atMs / MINUTE_MS), bounds);
    if (!this.#isOver(bounds)) return this.#over;
    this.#noteFast();
    return this.#over + 1;
  }

  /** The last of the minutes in a row; null: there is none. */
  get fast(): FastMinute | null {
    return this.#fast;
  }

  /** Something that was counted in this minute does not count. */
  takeBack(amount: number): void {
    this.#amount = Math.max(0, this.#amount - amount);
  }

  /** Of the last minutes; null: there are not enough. */
  get median(): number | null {
    if (this.#history.length < LEAST) return null;
    const sorted = this.#history.toSorted((a, b) => a - b);
    return sorted[sorted.length >> 1] ?? null;
  }

  /** Of this minute. */
  get amount(): number {
    return this.#amount;
  }

  rearm(): void {
    this.#clear();
  }

  #clear(): void {
    this.#over = 0;
    this.#fast = null;
  }

  #noteFast(): void {
    this.#fast = { amount: this.#amount, usual: this.#fast?.usual ?? this.median ?? 0 };
  }

  #isOver({ factor, least }: PaceBounds): boolean {
    const { median } = this;
    return median !== null && this.#amount >= least && this.#amount > 0 && this.#amount > factor * median;
  }

  /** @param minute a clock that was set back stays in its minute */
  #moveTo(minute: number, bounds: PaceBounds): void {
    if (minute <= this.#minute) return;
    if (this.#minute >= 0 && this.#amount > 0) {
      const most = this.#isOver(bounds) ? bounds.factor * (this.median ?? 0) : Infinity;
      if (most === Infinity) this.#clear();
      else {
        this.#noteFast();
        this.#over += 1;
      }
      // Whole, as amounts are: a factor may be a fraction.
      this.#history = [...this.#history, Math.min(this.#amount, Math.round(most))].slice(-MOST);
    }
    if (minute > this.#minute + 1) this.#clear();
    this.#minute = minute;
    this.#amount = 0;
  }
}
