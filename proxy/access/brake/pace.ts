// Calls and cost of a conversation by the minute, compared with its own history: the median of its last minutes that were
// not too fast. Minutes without calls are no history, since agents wait for their users.

/** Minutes of history. */
const MOST = 20;
/** With fewer nothing can be said. */
const LEAST = 5;
const MINUTE_MS = 60_000;
const NONE: readonly number[] = Object.freeze([]);

/** From which amount on a minute counts. */
export interface PaceBounds {
  readonly factor: number;
  readonly least: number;
}

/** One quantity by the minute. */
export class Pace {
  #minute = -1;
  #amount = 0;
  #over = 0;
  #history: readonly number[] = NONE;

  add(amount: number, atMs: number, bounds: PaceBounds): void {
    this.#moveTo(Math.floor(atMs / MINUTE_MS), bounds);
    this.#amount += amount;
  }

  /** Minutes in a row, this one included, that were too fast. */
  minutesOver(atMs: number, bounds: PaceBounds): number {
    this.#moveTo(Math.floor(atMs / MINUTE_MS), bounds);
    return this.#isOver(bounds) ? this.#over + 1 : this.#over;
  }

  /** Of the minutes that were not too fast; null: there are not enough. */
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
    this.#over = 0;
  }

  #isOver({ factor, least }: PaceBounds): boolean {
    const { median } = this;
    return median !== null && this.#amount >= least && this.#amount > 0 && this.#amount > factor * median;
  }

  /** @param minute a clock that was set back stays in its minute */
  #moveTo(minute: number, bounds: PaceBounds): void {
    if (minute <= this.#minute) return;
    if (this.#minute >= 0 && this.#amount > 0) {
      if (this.#isOver(bounds)) this.#over += 1;
      else {
        this.#over = 0;
        this.#history = [...this.#history, this.#amount].slice(-MOST);
      }
    }
    if (minute > this.#minute + 1) this.#over = 0;
    this.#minute = minute;
    this.#amount = 0;
  }
}
