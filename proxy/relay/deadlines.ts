// The clocks of every running exchange, on one coarse timer: 10,000 streams cost one walk over a list per tick
// instead of 10,000 timers that are re-armed at every chunk.
import { DenseSet, type Indexed } from '../base/dense-set.ts';

const TICK_MS = 50;
/** A tick that comes so much later says that this process stood still: stopped, frozen with its container, without a core. */
const LATE_MS = 1_000;

/** Something with deadlines of its own. */
export interface Watched extends Indexed {
  /** Called at every tick with monotonic milliseconds; acts when a deadline has passed. */
  check(nowMs: number): void;
  /** A bug has been thrown by `check`: it ends this one, and none of the others. */
  crash(error: unknown): void;
}

/** Ticks while there is something to watch; deadlines are met within one tick (50 ms). */
export class Deadlines {
  readonly #watched = new DenseSet<Watched>();
  readonly #mono: () => number;
  #timer: NodeJS.Timeout | null = null;
  #tickedAt = 0;
  #hasSkipped = false;

  constructor(mono: () => number) {
    this.#mono = mono;
  }

  add(one: Watched): void {
    this.#watched.add(one);
    if (this.#timer !== null) return;
    this.#tickedAt = this.#mono();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
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
    // What came meanwhile waits in the sockets, and is read before the next tick: nobody was silent.
    this.#hasSkipped = !this.#hasSkipped && now - this.#tickedAt > LATE_MS;
    this.#tickedAt = now;
    if (this.#hasSkipped) return;
    this.#watched.forEach((one) => {
      try {
        one.check(now);
      } catch (error) {
        one.crash(error);
      }
    });
  }
}
