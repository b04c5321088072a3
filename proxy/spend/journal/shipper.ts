// Moves the journal into the store, in the background: posts positions, never rows. A store that fails is retried
// with growing pauses while the journal keeps everything. Owns no file.
import { isBefore, type Position } from '../store/segments.ts';
import type { StoreReach } from '../store/store-reach.ts';
import { StoreUnavailable, type Store } from '../store/store.ts';

// The longer the pause, the more rows share a commit, its fsync, the pages of the indexes and the daily sums they add
// to (at 1,500 rows a second: 45 us of CPU per row with 200 ms). No request waits for it; a reader uses the barrier.
const PAUSE_MS = 1_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 10_000;

/** What a shipper is made with. */
interface ShipperOptions {
  readonly store: Pick<Store, 'ship'>;
  /** End of what is written. */
  readonly end: () => Position;
  /** Called after each successful shipment. */
  readonly onShipped: () => void;
  /** Is told what became of each shipment. */
  readonly reach: Pick<StoreReach, 'used' | 'failed'>;
}

/** Ships up to the journal's end, one shipment at a time. */
export class Shipper {
  readonly #options: ShipperOptions;
  /** Where this process began to write; null when the store has all that lies before it. */
  #begin: Position | null;
  #shipped: Position = { segment: 0, offset: 0 };
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #rows = 0;
  #damaged = 0;
  #hasShipped = false;
  #stopped = false;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#begin = options.end();
  }

  /** Everything before it is in the store, durably. */
  get position(): Position {
    return this.#shipped;
  }

  /** Rows that were new to the store. */
  get rows(): number {
    return this.#rows;
  }

  get damaged(): number {
    return this.#damaged;
  }

  /** Something was written: ship soon. */
  wake(): void {
    if (this.#timer === null && this.#running === null && !this.#stopped) this.#shipIn(PAUSE_MS);
  }

  /**
   * Resolves when all that was written before the call is in the store.
   * @throws StoreUnavailable at the first failure; shipping is retried behind the scenes
   */
  async barrier(): Promise<void> {
    const goal = this.#options.end();
    while (isBefore(this.#shipped, goal)) await this.#ship();
  }

  /**
   * Reads the store when it holds exactly what was written before this call: nothing behind it is shipped until `read` ends.
   * @throws StoreUnavailable, and what `read` throws
   */
  async readHere<T>(read: () => Promise<T>): Promise<T> {
    const goal = this.#options.end();
    const before = this.#running ?? Promise.resolve();
    const reading = before
      .catch(() => undefined) // its error is that of others; ours is found below
      .then(async () => {
        if (isBefore(this.#shipped, goal) || !this.#hasShipped) await this.#attempt(goal);
        return await read();
      });
    void this.#run(reading.then(() => undefined)).catch(() => undefined);
    return await reading;
  }

  /** Ends the retries; a shipment that runs goes on. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
  }

  #shipIn(delayMs: number): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // A barrier was faster. The first shipment runs even with nothing to ship, so that readiness shows a wrong password
      // before the first row depends on it.
      if (this.#hasShipped && !isBefore(this.#shipped, this.#options.end())) return;
      this.#ship().catch(() => undefined); // reported and retried by #attempt
    }, delayMs).unref();
  }

  #ship(): Promise<void> {
    return this.#running ?? this.#run(this.#attempt(this.#options.end()));
  }

  /** One at a time; whoever is to come next replaces it. */
  #run(task: Promise<void>): Promise<void> {
    const running = task.finally(() => {
      if (this.#running !== running) return;
      this.#running = null;
      if (isBefore(this.#shipped, this.#options.end())) this.wake(); // after a failure the retry is set already
    });
    this.#running = running;
    return running;
  }

  async #attempt(to: Position): Promise<void> {
    const { store, onShipped, reach } = this.#options;
    try {
      // Before what was written since: a store that is further is one of a later state of this directory (see `readChunk`).
      const stops = this.#begin === null || !isBefore(this.#begin, to) ? [to] : [this.#begin, to];
      for (const stop of stops) {
        const { rows, damaged } = await store.ship(stop);
        this.#begin = null; // a store that is further from here on has a part of ours
        this.#rows += rows;
        this.#damaged += damaged;
      }
    } catch (error) {
      // We ended it ourselves: what is left is shipped by the next start.
      if (error instanceof StoreUnavailable && error.code === 'closed') throw error;
      this.#failures += 1;
      reach.failed('rows', error);
      if (!this.#stopped)
        this.#shipIn(Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), LONGEST_RETRY_MS));
      throw error;
    }
    this.#shipped = to;
    this.#hasShipped = true;
    this.#failures = 0;
    reach.used('rows');
    onShipped();
  }
}
