// A list that keeps its newest entries, bounded in number and in bytes, so that a gateway that runs for days, or under
// a benchmark, does not grow; and the count of all that ever came. Knows nothing of what it keeps.

/** Newest entries, oldest first; the newest one is always kept, however large. */
export class Recent<T> {
  readonly #items: T[] = [];
  readonly #sizes: number[] = [];
  readonly #limitCount: number;
  readonly #limitBytes: number;
  #bytes = 0;
  #added = 0;
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(limitCount: number, limitBytes: number) {
    this.#limitCount = limitCount;
    this.#limitBytes = limitBytes;
  }

  /** A live view: later additions and evictions show in it. */
  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T, sizeBytes: number): void {
    this.#items.push(item);
    this.#sizes.push(sizeBytes);
    this.#bytes += sizeBytes;
    while (this.#items.length > 1 && this.#isOver()) {
      this.#items.shift();
      this.#bytes -= this.#sizes.shift() ?? 0;
    }
    this.#added++;
    if (this.#waiting.length === 0) return;
    for (const { count, resolve } of this.#waiting) if (count <= this.#added) resolve();
    this.#waiting = this.#waiting.filter(({ count }) => count > this.#added);
  }

  /** Settles when `count` entries have been added since the start, evicted ones included. */
  waitFor(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (count <= this.#added) resolve();
      else this.#waiting.push({ count, resolve });
    });
  }

  /** Takes out the newest entry that fits; undefined when none does. */
  remove(fits: (item: T) => boolean): T | undefined {
    const at = this.#items.findLastIndex(fits);
    if (at < 0) return undefined;
    this.#bytes -= this.#sizes.splice(at, 1)[0] ?? 0;
    return this.#items.splice(at, 1)[0];
  }

  #isOver(): boolean {
    return this.#items.length > this.#limitCount || this.#bytes > this.#limitBytes;
  }
}
