// The responses that this process made last, by their upstream ids: whose they are is known without asking the store, also
// for a client that goes on with one at once. Those of other processes and of earlier runs are in the spend records.
import type { MadeBy } from '../spend/store/store.ts';

const MOST = 4_096;

/** A response that this process made. */
export interface RecentResponse extends MadeBy {
  /** What it cost is not known yet: it goes on behind the answer to the call that made it. */
  readonly isOpen: boolean;
}

export class RecentResponses {
  readonly #byId = new Map<string, RecentResponse>();

  put(upstreamId: string, made: RecentResponse): void {
    this.#byId.delete(upstreamId); // the newest stand last
    this.#byId.set(upstreamId, made);
    if (this.#byId.size <= MOST) return;
    for (const oldest of this.#byId.keys()) {
      this.#byId.delete(oldest);
      return;
    }
  }

  find(upstreamId: string): MadeBy | null {
    return this.#byId.get(upstreamId) ?? null;
  }

  /** Whether the usage of a response is still to be counted; true for one caller alone. */
  claim(upstreamId: string): boolean {
    const made = this.#byId.get(upstreamId);
    if (made?.isOpen !== true) return false;
    this.#byId.set(upstreamId, { ...made, isOpen: false });
    return true;
  }
}
