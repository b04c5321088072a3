// Removes rows that are older than the configured period, a small piece at a time, in the background. Decides when; the
// store decides how. Without a configured period it does nothing.
import { asError } from '../../base/as-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Store } from '../store/store.ts';
import type { SpendEvent } from '../event.ts';

const FIRST_MS = 30_000; // a start has better things to do
const PAUSE_MS = 3_600_000;
const BETWEEN_PIECES_MS = 200; // so that shipping and queries run between the pieces

/** What the removal is made with. */
interface RetentionOptions {
  readonly store: Pick<Store, 'prune'>;
  readonly clock: Clock;
  readonly onEvent: (event: SpendEvent) => void;
}

/** The removal of old rows, once an hour. */
export class Retention {
  readonly #options: RetentionOptions;
  #periodMs: number | null;
  #timer: NodeJS.Timeout | null = null;
  #removed = 0;
  #stopped = false;

  /** @param periodMs how long rows are kept; null: for ever */
  constructor(options: RetentionOptions, periodMs: number | null) {
    this.#options = options;
    this.#periodMs = periodMs;
    if (periodMs !== null) this.#pruneIn(FIRST_MS);
  }

  /** Rows removed so far. */
  get removed(): number {
    return this.#removed;
  }

  /** Takes effect within a second. */
  reconfigure(periodMs: number | null): void {
    if (periodMs === this.#periodMs) return;
    this.#periodMs = periodMs;
    this.#pruneIn(BETWEEN_PIECES_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer ?? undefined);
  }

  #pruneIn(delayMs: number): void {
    clearTimeout(this.#timer ?? undefined);
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#prune(), delayMs).unref();
  }

  async #prune(): Promise<void> {
    const periodMs = this.#periodMs;
    if (periodMs === null) return;
    const nextMs = await this.#pruneOlder(periodMs);
    this.#pruneIn(periodMs === this.#periodMs ? nextMs : BETWEEN_PIECES_MS); // another period may have come meanwhile
  }

  /** @returns when to go on */
  async #pruneOlder(periodMs: number): Promise<number> {
    const { store, clock, onEvent } = this.#options;
    try {
      const { rows, done } = await store.prune(Math.max(0, clock.now() - periodMs));
      this.#removed += rows;
      if (done && rows > 0) {
        const message = `rows older than the retention period were removed, ${this.#removed} since the start`;
        onEvent({ level: 'info', name: 'rows_removed', message });
      }
      return done ? PAUSE_MS : BETWEEN_PIECES_MS;
    } catch (error) {
      // The shipper reports a store that is away; what could not be removed now is removed in an hour.
      const message = `old rows could not be removed: ${asError(error).message}`;
      if (!this.#stopped) onEvent({ level: 'warn', name: 'rows_kept', message });
      return PAUSE_MS;
    }
  }
}
