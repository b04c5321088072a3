// Responses that are read on although their client has left: how many, and their end when the proxy stops. They belong to
// no connection any more, so nobody else could find them.

/** A response that is read without a client. */
export interface DetachedStream {
  /** Reads no further; the record says so. */
  giveUp(): void;
}

/** All of this process. */
export class DetachedStreams {
  readonly #all = new Set<DetachedStream>();

  /** How many are read on at present. */
  get size(): number {
    return this.#all.size;
  }

  /** @returns false when there are `most` already, and this one must be aborted. */
  add(one: DetachedStream, most: number): boolean {
    if (this.#all.size >= most) return false;
    this.#all.add(one);
    return true;
  }

  delete(one: DetachedStream): void {
    this.#all.delete(one);
  }

  /** The proxy stops. */
  giveUp(): void {
    for (const one of this.#all) one.giveUp();
  }
}
