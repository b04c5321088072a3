// Sandboxes that something works with without an LLM call, as a start that clones a repository: they are not idle, whatever
// their runtime says of itself.
import type { Clock } from '../../proxy/base/clock.ts';

export class Usage {
  readonly #clock: Clock;
  /** How many work with a sandbox. */
  readonly #counts = new Map<string, number>();
  /** When the last one ended, epoch milliseconds. */
  readonly #endedMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The sandbox is at work until `act` settles. */
  async during<R>(id: string, act: () => Promise<R>): Promise<R> {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    try {
      return await act();
    } finally {
      this.#end(id);
    }
  }

  /** Epoch milliseconds; 0 = it was never used. */
  lastMs(id: string): number {
    return this.#counts.has(id) ? this.#clock.now() : (this.#endedMs.get(id) ?? 0);
  }

  /** It was removed; what still works with it fails, and is not noted when it ends. */
  forget(id: string): void {
    this.#counts.delete(id);
    this.#endedMs.delete(id);
  }

  #end(id: string): void {
    const count = this.#counts.get(id);
    if (count === undefined) return;
    if (count > 1) this.#counts.set(id, count - 1);
    else this.#counts.delete(id);
    this.#endedMs.set(id, this.#clock.now());
  }
}
