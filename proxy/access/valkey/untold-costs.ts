// What calls did cost of which the shared counters have not heard, when those begin anew: their rows are in the spend store, so the sums
// that are read there hold them, and they must not be told once more.
import type { OwnRows } from './own-rows.ts';
import type { PendingOperations } from './pending-operations.ts';
import { IS_OPEN, SETTLED_MS } from './scripts.ts';
import type { Generation, LinkState, ValkeyLink } from './valkey-link.ts';

/** Reading all sums anew keeps calls from the shared counters for a moment: a server that is late each time does so once in a while. */
const READ_ANEW_MS = 60_000;

interface UntoldCostsOptions {
  readonly pending: PendingOperations;
  readonly rows: OwnRows;
  readonly link: ValkeyLink;
  /** Monotonic milliseconds. */
  readonly mono: () => number;
  readonly withinMs: number;
}

export class UntoldCosts {
  readonly #options: UntoldCostsOptions;
  /** When the counters went away; Infinity = they are shared. */
  #awayMs = Infinity;
  #readAnewMs = -Infinity;
  /** The generation whose sums are to be read anew when that was done too short a time ago; null = none. */
  #wrong: string | null = null;

  constructor(options: UntoldCostsOptions) {
    this.#options = options;
  }

  /**
   * Sums of a generation are read when it is open: those of one that is not will hold all that is in the store now. Of one that is
   * open nobody knows which of them do.
   */
  async register(at: Generation): Promise<void> {
    if ((await this.#intoSums(at)) === 'open') this.#readAnew(at.generation);
  }

  /**
   * Calls go on to end here while others are waited for. What has ended since the last look when it opens is told as it is: it would
   * have to wait for others once more, with the same end.
   */
  async gathers(at: Generation): Promise<void> {
    if (this.#options.pending.costs.length > 0) await this.#intoSums(at);
  }

  /** They are told now. Which of them had been told before the counters went away is forgotten there after a while. */
  catchUp({ generation }: Generation): void {
    const { pending, mono } = this.#options;
    if (mono() - this.#awayMs > SETTLED_MS / 2 && pending.costs.length > 0) this.#readAnew(generation);
  }

  changed(state: LinkState): void {
    if (state.is !== 'shared') {
      if (this.#awayMs === Infinity) this.#awayMs = this.#options.mono();
      return;
    }
    this.#awayMs = Infinity;
    if (this.#wrong === state.generation) this.#readAnew(state.generation);
    else this.#wrong = null; // the sums of another one have been read since
  }

  /** @returns what the generation is where there are costs that its sums may hold */
  async #intoSums({ generation, connection, key }: Generation): Promise<unknown> {
    const { pending, rows, withinMs } = this.#options;
    const { costs } = pending;
    const isStored = await rows.store();
    if (!isStored || costs.length === 0) return null;
    const answer = await connection.run(IS_OPEN, [key], [generation], withinMs);
    if (answer === 'closed') pending.inSums(costs);
    return answer;
  }

  #readAnew(generation: string): void {
    const nowMs = this.#options.mono();
    this.#wrong = nowMs - this.#readAnewMs < READ_ANEW_MS ? generation : null;
    if (this.#wrong !== null) return; // the next sign of life after that time finds it
    this.#readAnewMs = nowMs;
    this.#options.link.renew(generation);
  }
}
