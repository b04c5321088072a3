// What this process knows of one entry, over all configurations that have it: calls under way, how slow it is, whether
// it rests. Entries are known by their id, so a reload forgets nothing of those that stay.
import { Breaker, type CooldownRules } from './breaker.ts';
import { PeakEwma } from './peak-ewma.ts';

export class DeploymentHealth {
  /** Calls under way from this process. */
  inFlight = 0;
  /** Places that are held for calls which are about to come. */
  reserved = 0;
  readonly latency = new PeakEwma();
  readonly breaker = new Breaker();
  /** What the last background check found; null: it answers, or is not checked. */
  healthError: string | null = null;

  /** Whether calls go here while there is somewhere else to go. */
  isAvailable(nowMs: number): boolean {
    return this.healthError === null && this.breaker.admits(nowMs);
  }

  /** A call goes to the entry; end it by exactly one method of the visit. */
  startRequest(nowMs: number): InFlight {
    return new InFlight(this, nowMs);
  }
}

/** One call at an entry. */
export class InFlight {
  readonly #entry: DeploymentHealth;
  readonly #era: number;

  constructor(entry: DeploymentHealth, nowMs: number) {
    this.#entry = entry;
    this.#era = entry.breaker.begin(nowMs);
    entry.inFlight += 1;
  }

  /** @param firstByteMs from sending to the first byte of the answer; null when there was none */
  served(nowMs: number, firstByteMs: number | null): void {
    this.#entry.inFlight -= 1;
    if (firstByteMs !== null) this.#entry.latency.observe(firstByteMs, nowMs);
    this.#entry.breaker.succeeded(this.#era, nowMs);
  }

  /** Nothing was learnt: the client left, or the proxy failed. */
  abandoned(): void {
    this.#entry.inFlight -= 1;
    this.#entry.breaker.abandoned(this.#era);
  }

  /** @returns whether the entry rests from now on; see `Breaker.failed` */
  failed(nowMs: number, rules: CooldownRules, restMs: number | null): boolean {
    this.#entry.inFlight -= 1;
    return this.#entry.breaker.failed(this.#era, nowMs, rules, restMs);
  }
}

interface Held {
  readonly state: DeploymentHealth;
  users: number;
}

/** The states of all entries that some configuration has. */
export class HealthRegistry {
  readonly #held = new Map<string, Held>();

  /** Takes a share in the state of an entry. Pair with `release`. */
  acquire(id: string): DeploymentHealth {
    const held = this.#held.get(id) ?? { state: new DeploymentHealth(), users: 0 };
    this.#held.set(id, held);
    held.users += 1;
    return held.state;
  }

  /** Gives a share back; with the last one the entry is forgotten. */
  release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users === 0) this.#held.delete(id);
  }
}
