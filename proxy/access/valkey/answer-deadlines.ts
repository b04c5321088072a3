// How long each command may wait for its answer: one timer for all of them, because one per command costs as much as the
// command's other bookkeeping.

/** It did not answer in time. The script may have run, or may still run. */
export class TooLate extends Error {
  override readonly name = 'TooLate';
}

/** An answer is found to be late at most this long after its time. */
const LOOK_MS = 50;

/** A command whose answer has not come. */
export class AwaitedAnswer {
  readonly untilMs: number;
  readonly withinMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;

  constructor(withinMs: number, { resolve, reject }: Omit<PromiseWithResolvers<unknown>, 'promise'>) {
    this.untilMs = performance.now() + withinMs;
    this.withinMs = withinMs;
    this.resolve = resolve;
    this.reject = reject;
  }
}

export class AnswerDeadlines {
  /** What was answered is forgotten at once: what outlives a collection or two costs more than all the rest. */
  readonly #waiting = new Set<AwaitedAnswer>();
  #timer: NodeJS.Timeout | null = null;

  /** Rejects it when it is late, unless `end` comes before. */
  add(awaited: AwaitedAnswer): void {
    this.#waiting.add(awaited);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref(); // the connection keeps the process alive
  }

  end(awaited: AwaitedAnswer): void {
    this.#waiting.delete(awaited);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    const now = performance.now();
    const over = [...this.#waiting].filter(({ untilMs }) => untilMs <= now);
    // A clock says nothing about the server while this process was too busy to read: one more turn of the loop decides.
    if (over.length > 0) setImmediate(() => setImmediate(() => this.#reject(over)));
    if (this.#waiting.size === 0) this.stop();
  }

  #reject(over: readonly AwaitedAnswer[]): void {
    for (const awaited of over) {
      if (!this.#waiting.delete(awaited)) continue;
      awaited.reject(new TooLate(`no answer within ${awaited.withinMs} ms`));
    }
  }
}
