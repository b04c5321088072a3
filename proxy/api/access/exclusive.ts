// One at a time by name: two calls that want the same alias or e-mail address must not both find it free. In one process; each
// object's id is guarded by the store itself.

/** The names that calls wait for each other by. */
export class Exclusive {
  /** The last call with a name. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` when every earlier call with this name has ended. @param name null = it wants none */
  async run<T>(name: string | null, act: () => Promise<T>): Promise<T> {
    if (name === null) return act();
    const own = (this.#last.get(name) ?? Promise.resolve()).then(act, act);
    const settled = own.catch(() => undefined);
    this.#last.set(name, settled);
    try {
      return await own;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }
}
