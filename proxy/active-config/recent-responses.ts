// The responses that this process made last, by their upstream ids: whose they are is known without asking the store, also
// for a client that goes on with one at once. Those of other processes and of earlier runs are in the spend records.
import type { MadeBy } from '../spend/store/store.ts';

const MOST = 4_096;

/** One response; its names share it. */
interface RecentResponse {
  made: MadeBy;
  /** What it cost is not known yet: it goes on behind the answer to the call that made it. */
  isOpen: boolean;
}

export class RecentResponses {
  readonly #byId = new Map<string, RecentResponse>();

  put(upstreamId: string, made: MadeBy, isOpen: boolean): void {
    this.#put(upstreamId, { made, isOpen });
  }

  /** A gateway has given a response another id: LiteLLM does, each time that it is fetched. */
  rename(upstreamId: string, made: MadeBy, other: string): void {
    if (!this.#byId.has(other)) this.#put(other, this.#byId.get(upstreamId) ?? { made, isOpen: false });
  }

  find(upstreamId: string): MadeBy | null {
    return this.#byId.get(upstreamId)?.made ?? null;
  }

  /** A response is read, and has so many tokens. @return whether they are still to be counted; true for one caller alone */
  claim(upstreamId: string, tokens: number): boolean {
    const response = this.#byId.get(upstreamId);
    if (response === undefined) return false;
    const { isOpen } = response;
    response.isOpen = false;
    response.made = { ...response.made, tokens };
    return isOpen;
  }

  #put(upstreamId: string, response: RecentResponse): void {
    this.#byId.delete(upstreamId); // the newest stand last
    this.#byId.set(upstreamId, response);
    if (this.#byId.size <= MOST) return;
    for (const oldest of this.#byId.keys()) {
      this.#byId.delete(oldest);
      return;
    }
  }
}
