// How long each command may wait for its answer: one timer for all of them, because one per command costs as much as the
// command's other bookkeeping.

/** It did not answer in time. The script may have run, or may still run. */
export class TooLate extends Error {
  override readonly name = 'TooLate';
}

/** An answer is found to be late at most this long after its time. */
const LOOK_MS = 25;

interface Awaited {
  readonly untilMs: number;
  readonly withinMs: number;
  /** null: it has come. */
  late: ((error: TooLate) => void) | null;
}

export class AnswerDeadlines {
  /** By the time that they have, so each list is in the order of its deadlines. */
  readonly #waiting = new Map<number, Awaited[]>();
  #timer: NodeJS.Timeout | null = null;

  /** @param late called unless the result of this is called before */
  add(withinMs: number, late: (error: TooLate) => void): () => void {
    const awaited: Awaited = { untilMs: performance.now() + withinMs, withinMs, late };
    const list = this.#waiting.get(withinMs);
    if (list === undefined) this.#waiting.set(withinMs, [awaited]);
    else list.push(awaited);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref(); // the connection keeps the process alive
    return () => (awaited.late = null);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    const now = performance.now();
    let isAny = false;
    for (const [withinMs, list] of this.#waiting) {
      const due = list.findIndex(({ untilMs }) => untilMs > now);
      const over = list.splice(0, due < 0 ? list.length : due).filter(({ late }) => late !== null);
      isAny ||= list.length > 0;
      if (list.length === 0) this.#waiting.delete(withinMs);
      // A clock says nothing about the server while this process was too busy to read: one more turn of the loop decides.
      if (over.length > 0) setImmediate(() => setImmediate(() => end(over)));
    }
    if (!isAny) this.stop();
  }
}

function end(over: readonly Awaited[]): void {
  for (const { late, withinMs } of over) late?.(new TooLate(`no answer within ${withinMs} ms`));
}
