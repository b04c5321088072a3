// The responses that this process made last, by their upstream ids: whose they are is known without asking the store, also
// for a client that goes on with one at once. Those of other processes and of earlier runs are in the spend records.
import type { MadeBy } from '../spend/store/store.ts';

const MOST = 4_096;

export class RecentResponses {
  readonly #byId = new Map<string, MadeBy>();

  put(upstreamId: string, made: MadeBy): void {
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
}
