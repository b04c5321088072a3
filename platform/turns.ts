// One after the other per name: a change that reads and then writes must not meet another one in between.

/** Queues by name; a name whose queue is empty costs nothing. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` when everything before it under this name has ended, whatever its end. */
  take<R>(name: string, act: () => Promise<R>): Promise<R> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(act);
    const settled = turn.catch(() => undefined);
    this.#last.set(name, settled);
    void settled.finally(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    });
    return turn;
  }

  /** Settles when nothing is queued any more. */
  async quiet(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
