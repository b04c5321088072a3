// The requests that have begun and not settled. Entries lie in an array and the Map holds their places only: a Map of
// the entries themselves would keep them alive long after their end (see base/dense-set.ts).
import type { SpendBegin } from '../record/record.ts';

/** A begin and the segment that its line stands in. */
interface OpenBegin {
  readonly segment: number;
  readonly entry: SpendBegin;
}

/** Behaves like a Map by request id. */
export class OpenBegins {
  readonly #places = new Map<string, number>();
  readonly #all: OpenBegin[] = [];

  get size(): number {
    return this.#all.length;
  }

  has(requestId: string): boolean {
    return this.#places.has(requestId);
  }

  set(one: OpenBegin): void {
    const { requestId } = one.entry;
    const place = this.#places.get(requestId) ?? this.#all.length;
    this.#places.set(requestId, place);
    this.#all[place] = one;
  }

  delete(requestId: string): void {
    const place = this.#places.get(requestId);
    const last = this.#all.at(-1);
    if (place === undefined || last === undefined) return;
    this.#places.set(last.entry.requestId, place);
    this.#all[place] = last;
    this.#all.pop();
    this.#places.delete(requestId);
  }

  values(): readonly OpenBegin[] {
    return this.#all;
  }
}
