// The places that `max_running` grants: which are used, which are about to be, and which are given up for another sandbox.
// Who gets one is decided in one step and in memory, so that nobody waits for the driver of somebody else's sandbox.
import { refuse } from '../api/refusal.ts';
import type { KnownSandboxes } from './known-sandboxes.ts';
import { isAwake, isUp, type Sandbox } from './sandbox.ts';

interface PlacesOptions {
  readonly known: KnownSandboxes;
  readonly maxRunning: () => number;
  /** Epoch milliseconds of the last sign of work. */
  readonly activeMs: (sandbox: Sandbox) => number;
  /** Pauses one that still runs when its turn comes. */
  readonly pause: (id: string) => Promise<void>;
}

export class Places {
  readonly #options: PlacesOptions;
  /** Sandboxes that have a place and are not up yet. */
  readonly #reserved = new Set<string>();
  /** Sandboxes that are up and whose place is another's. */
  readonly #yielding = new Set<string>();

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /**
   * Holds a place for a sandbox while `act` brings it up. Where all are used, a sandbox of the caller is paused first, the
   * longest idle one, never another user's. @throws Refusal 409 when none of theirs runs
   */
  async hold<R>(userId: string, id: string, act: () => Promise<R>): Promise<R> {
    const idlest = this.#toPause(userId);
    this.#reserved.add(id);
    try {
      if (idlest !== null) await this.#pause(idlest);
      return await act();
    } finally {
      this.#reserved.delete(id);
    }
  }

  /** null = there is room. */
  #toPause(userId: string): string | null {
    const { known, maxRunning, activeMs } = this.#options;
    const up = known.ofThisServer.filter(
      (one) => isUp(one) && !this.#reserved.has(one.id) && !this.#yielding.has(one.id),
    );
    const used = up.length + this.#reserved.size;
    if (used < maxRunning()) return null;
    const own = up.filter((one) => one.userId === userId && isAwake(one));
    const [idlest] = own.toSorted((a, b) => activeMs(a) - activeMs(b));
    if (idlest !== undefined) return idlest.id;
    throw refuse(409, `${used} sandboxes run already, which is the limit; pause or delete one, or wait`);
  }

  async #pause(id: string): Promise<void> {
    this.#yielding.add(id);
    try {
      await this.#options.pause(id);
    } finally {
      this.#yielding.delete(id);
    }
  }
}
