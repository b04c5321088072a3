// Runs tasks one after the other per key, so that a read-modify-write never overlaps with another one.

/** One queue per key; an empty queue uses no memory. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` when all earlier tasks of this key have settled. */
  run<R>(name: string, act: () => Promise<R>): Promise<R> {
    const result = (this.#last.get(name) ?? Promise.resolve()).then(act);
    const settled = result.catch(() => undefined);
    this.#last.set(name, settled);
    void settled.finally(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    });
    return result;
  }

  /** Resolves when all queues are empty. */
  async drained(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
