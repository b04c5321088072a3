// What this process knows of each deployment, across configurations: calls in flight, latency, cooldown. Of a cooldown
// other servers may know as well. Deployments are
// known by their id, so a reload keeps the health of those that stay.
import { Breaker, type BreakerPeers, type CooldownRules } from './breaker.ts';
import { PeakEwma } from './peak-ewma.ts';

/** Of one deployment id; configurations that have it share the object. */
export class DeploymentHealth {
  /** Calls under way from this process. */
  inFlight = 0;
  /** Slots that are reserved for calls about to start. */
  reserved = 0;
  readonly latency = new PeakEwma();
  readonly breaker: Breaker;
  /** What the last background check found; null: healthy, or not checked. */
  healthError: string | null = null;

  constructor(peers: BreakerPeers | null = null) {
    this.breaker = new Breaker(peers);
  }

  /** Whether calls go here while another deployment could take them. */
  isAvailable(nowMs: number): boolean {
    return this.healthError === null && this.breaker.admits(nowMs);
  }

  /** A request goes to the deployment; end it by exactly one method of the result. */
  startRequest(nowMs: number): InFlight {
    return new InFlight(this, nowMs);
  }
}

/** One request in flight at a deployment. */
export class InFlight {
  readonly #health: DeploymentHealth;
  readonly #era: number;

  constructor(health: DeploymentHealth, nowMs: number) {
    this.#health = health;
    this.#era = health.breaker.begin(nowMs);
    health.inFlight += 1;
  }

  /** @param firstByteMs from sending to the first byte of the response; null when there was none */
  served(nowMs: number, firstByteMs: number | null): void {
    this.#health.inFlight -= 1;
    if (firstByteMs !== null) this.#health.latency.observe(firstByteMs, nowMs);
    this.#health.breaker.succeeded(this.#era, nowMs);
  }

  /** The end says nothing about the upstream: the client left, or the proxy failed. */
  abandoned(): void {
    this.#health.inFlight -= 1;
    this.#health.breaker.abandoned(this.#era);
  }

  /** @returns whether the deployment cools down from now on; see `Breaker.failed` */
  failed(nowMs: number, rules: CooldownRules, cooldownMs: number | null): boolean {
    this.#health.inFlight -= 1;
    return this.#health.breaker.failed(this.#era, nowMs, rules, cooldownMs);
  }
}

interface Shared {
  readonly state: DeploymentHealth;
  users: number;
}

/** The health of every deployment that some configuration has, reference-counted. */
export class HealthRegistry {
  readonly #shared = new Map<string, Shared>();
  readonly #peersOf: (id: string) => BreakerPeers | null;

  /** @param peersOf the other servers, for the breaker of a deployment; null: this process serves alone */
  constructor(peersOf: (id: string) => BreakerPeers | null = () => null) {
    this.#peersOf = peersOf;
  }

  /** null = no configuration has it. */
  find(id: string): DeploymentHealth | null {
    return this.#shared.get(id)?.state ?? null;
  }

  /** Ids. */
  get all(): readonly string[] {
    return [...this.#shared.keys()];
  }

  /** Takes a reference to the health of a deployment. Pair with `release`. */
  acquire(id: string): DeploymentHealth {
    const shared = this.#shared.get(id) ?? { state: new DeploymentHealth(this.#peersOf(id)), users: 0 };
    this.#shared.set(id, shared);
    shared.users += 1;
    return shared.state;
  }

  /** Gives a reference back; with the last one the deployment is forgotten. */
  release(id: string): void {
    const shared = this.#shared.get(id);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users === 0) this.#shared.delete(id);
  }
}
