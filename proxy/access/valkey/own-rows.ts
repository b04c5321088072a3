// Brings the rows of this server into the spend store before sums are read there. Where the store is away nobody can read them; when it
// is back others may do so before it has these rows.
import { setTimeout as wait } from 'node:timers/promises';

const AGAIN_MS = 1_000;

export class OwnRows {
  readonly #stored: () => Promise<void>;
  readonly #late: () => void;
  readonly #ended = new AbortController();
  #isWaiting = false;

  /** @param late is told when they are in the store after all */
  constructor(stored: () => Promise<void>, late: () => void) {
    this.#stored = stored;
    this.#late = late;
  }

  /** @returns whether they are in the store; else they cannot be brought there now */
  async store(): Promise<boolean> {
    const isStored = await this.#isStored();
    if (isStored || this.#isWaiting) return isStored;
    this.#isWaiting = true;
    void this.#storeLater();
    return false;
  }

  stop(): void {
    this.#ended.abort();
  }

  async #storeLater(): Promise<void> {
    const { signal } = this.#ended;
    do await wait(AGAIN_MS, undefined, { ref: false, signal }).catch(() => undefined);
    while (!signal.aborted && !(await this.#isStored()));
    this.#isWaiting = false;
    if (!signal.aborted) this.#late();
  }

  #isStored(): Promise<boolean> {
    return this.#stored().then(
      () => true,
      () => false,
    );
  }
}
