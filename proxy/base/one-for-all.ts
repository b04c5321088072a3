// What is done for several callers at once, but never twice at a time: whoever asks while it runs gets the next result, together with
// all others who wait by then.

export class OneForAll<T> {
  readonly #act: () => Promise<T>;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | null = null;

  constructor(act: () => Promise<T>) {
    this.#act = act;
  }

  /** @returns what was begun after this call */
  ask(): Promise<T> {
    this.#next ??= this.#running.then(() => {
      this.#next = null;
      return this.#act();
    });
    this.#running = this.#next.catch(() => undefined);
    return this.#next;
  }
}
