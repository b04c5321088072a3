// Runs tasks one after the other per key, so that a read-modify-write never overlaps with another one: two calls that want the
// same alias must not both find it free. In one process; what is stored is guarded by its store.

/** One queue per key; an empty queue uses no memory. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` when all earlier tasks of this key have settled. @param name null = it waits for none */
  run<R>(name: string | null, act: () => Promise<R>): Promise<R> {
    if (name === null) return act();
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
