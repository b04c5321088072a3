// A round in the background that is done again after a pause, with the timer that goes with it.

/** Jitter, so that replicas started together do not do it together. */
const SPREAD = 0.1;

interface RoundOptions {
  /** From 0 to 1. */
  readonly random: () => number;
  /** One round; resolves with the pause before the next, null = there is none. Never rejects. */
  readonly round: () => Promise<number | null>;
}

/** One round after the other, until it is closed. */
export class RepeatedRound {
  readonly #options: RoundOptions;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: RoundOptions) {
    this.#options = options;
  }

  /** A round that ends from now on has nothing to say. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Does a round now, also beside one that is under way; the next comes after it. None once it is closed. */
  start(): void {
    if (this.#isClosed) return;
    this.pause();
    void this.#run();
  }

  /** No further round until `start`. */
  pause(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  close(): void {
    this.#isClosed = true;
    this.pause();
  }

  async #run(): Promise<void> {
    const pauseMs = await this.#options.round();
    if (pauseMs === null || this.#isClosed || this.#timer !== null) return; // a later round has set it
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        void this.#run();
      },
      pauseMs * (1 + this.#options.random() * SPREAD),
    ).unref();
  }
}
