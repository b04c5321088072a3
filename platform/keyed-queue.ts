// One after the other per name: a change that reads and then writes must not meet another one in between.

/** Queues by name; a name whose queue is empty costs nothing. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` when everything before it under this name has ended, whatever its end. */
  run<R>(name: string, act: () => Promise<R>): Promise<R> {
    const result = (this.#last.get(name) ?? Promise.resolve()).then(act);
    const settled = result.catch(() => undefined);
    this.#last.set(name, settled);
    void settled.finally(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    });
    return result;
  }

  /** Settles when nothing is queued any more. */
  async drained(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
