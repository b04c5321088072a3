// When a worker that has ended is replaced: at once, or after a pause that grows while it keeps failing.

/** A worker that has served so long is replaced at once when it ends; one that has not, after growing pauses. */
const SOUND_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** Of all workers, by number. */
export class Restarts {
  readonly #timers = new Map<number, NodeJS.Timeout>();
  /** Ends in a row without having served for long. */
  readonly #failures = new Map<number, number>();

  /**
   * Notes that a worker has ended.
   * @param servedMs null: it has never served
   * @returns the pause before its replacement starts, ms
   */
  pauseAfter(number: number, servedMs: number | null): number {
    const isSound = servedMs !== null && servedMs >= SOUND_MS;
    const failures = isSound ? 0 : (this.#failures.get(number) ?? 0);
    this.#failures.set(number, failures + 1);
    return failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
  }

  /** Starts a replacement, at once when there is no pause. */
  startIn(pauseMs: number, number: number, start: () => void): void {
    if (pauseMs === 0) {
      start();
      return;
    }
    const begin = (): void => {
      this.#timers.delete(number);
      start();
    };
    this.#timers.set(number, setTimeout(begin, pauseMs));
  }

  /** No worker is replaced any more. */
  cancel(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
