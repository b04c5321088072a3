// The clocks of every running exchange, on one coarse timer: 10,000 streams cost one walk over a list per tick
// instead of 10,000 timers that are re-armed at every chunk.
import { DenseSet, type Indexed } from '../base/dense-set.ts';

const TICK_MS = 50;

/** Something with deadlines of its own. */
export interface Watched extends Indexed {
  /** Called at every tick with monotonic milliseconds; acts when a deadline has passed. */
  check(nowMs: number): void;
}

/** Ticks while there is something to watch; deadlines are met within one tick (50 ms). */
export class Deadlines {
  readonly #watched = new DenseSet<Watched>();
  readonly #mono: () => number;
  #timer: NodeJS.Timeout | null = null;

  constructor(mono: () => number) {
    this.#mono = mono;
  }

  add(one: Watched): void {
    this.#watched.add(one);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  delete(one: Watched): void {
    this.#watched.delete(one);
  }

  /** How many exchanges run. */
  get size(): number {
    return this.#watched.size;
  }

  #tick(): void {
    if (this.#watched.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const now = this.#mono();
    this.#watched.forEach((one) => one.check(now));
  }
}
