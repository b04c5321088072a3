// A mutex for configuration changes across all workers. A turn ends with its holder, so that a worker that dies while
// holding it blocks no other.

interface Turn {
  readonly holder: object;
  readonly begin: () => void;
}

/** Turns in the order in which they were asked for. */
export class Turns {
  #queue: Turn[] = [];

  /** Resolves when it is the holder's turn. One at a time per holder. */
  take(holder: object): Promise<void> {
    return new Promise((begin) => {
      this.#queue.push({ holder, begin });
      if (this.#queue.length === 1) begin();
    });
  }

  /** Ends the holder's turn, or its waiting for one; without effect when it has neither. */
  end(holder: object): void {
    const [current] = this.#queue;
    this.#queue = this.#queue.filter((turn) => turn.holder !== holder);
    if (current?.holder === holder) this.#queue[0]?.begin();
  }
}
