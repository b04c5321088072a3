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

  constructor(options: UntoldCostsOptions) {
    this.#options = options;
  }

  /**
   * Sums of a generation are read when it is open: those of one that is not will hold all that is in the store now. Of one that is
   * open nobody knows which of them do.
   */
  async register({ generation, connection, key }: Generation): Promise<void> {
    const { pending, rows, withinMs } = this.#options;
    const { costs } = pending;
    const isStored = await rows.store();
    if (!isStored || costs.length === 0) return;
    const answer = await connection.run(IS_OPEN, [key], [generation], withinMs);
    if (answer === 'closed') pending.inSums(costs);
    else this.#readAnew();
  }

  /** They are told now. Which of them had been told before the counters went away is forgotten there after a while. */
  catchUp(): void {
    const { pending, mono } = this.#options;
    if (mono() - this.#awayMs > SETTLED_MS / 2 && pending.costs.length > 0) this.#readAnew();
  }

  changed(state: LinkState): void {
    if (state.is === 'shared') this.#awayMs = Infinity;
    else if (this.#awayMs === Infinity) this.#awayMs = this.#options.mono();
  }

  #readAnew(): void {
    const nowMs = this.#options.mono();
    if (nowMs - this.#readAnewMs < READ_ANEW_MS) return;
    this.#readAnewMs = nowMs;
    this.#options.link.renew();
  }
}
