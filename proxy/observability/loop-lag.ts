// How late the event loop is: the first sign that a process is overloaded. A single pause (a garbage collection, a large
// body) is no such sign, so standing lag is measured apart from the worst lag.

const TICK_MS = 100;
/** About half a second, longer in a loop that lags. */
const STANDING_TICKS = 5;
/** 15 s: a usual interval between two scrapes. */
const SHOWN_TICKS = 150;

export class LoopLag {
  /** ms, the latest at `#at - 1`. */
  readonly #lags = new Float64Array(SHOWN_TICKS);
  readonly #mono: () => number;
  #at = 0;
  #dueAt: number;
  #timer: NodeJS.Timeout | null = null;

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
    this.#dueAt = mono() + TICK_MS;
  }

  start(): void {
    this.#dueAt = this.#mono() + TICK_MS;
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer ?? undefined);
  }

  /** Called when a timer of `TICK_MS` has fired. */
  tick(): void {
    const now = this.#mono();
    this.#lags[this.#at % SHOWN_TICKS] = Math.max(0, now - this.#dueAt);
    this.#at += 1;
    this.#dueAt = now + TICK_MS;
  }

  /** The smallest delay of the last half second, ms: lag that does not go away. */
  get standingMs(): number {
    let least = Infinity;
    for (let i = 1; i <= STANDING_TICKS; i += 1)
      least = Math.min(least, this.#lags[(this.#at - i + SHOWN_TICKS) % SHOWN_TICKS] ?? 0);
    return least;
  }

  /** Its longest delay in the last 15 s, ms. */
  get worstMs(): number {
    return Math.max(...this.#lags);
  }
}
