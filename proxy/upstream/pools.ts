// Connection pools, one per upstream origin, shared by successive configurations: a reload keeps warm connections, and a
// pool that no configuration wants any more closes after its last request.
import { ReadMemory } from '../http/reading.ts';
import { proxyFor, type ProxyEnvironment } from './http-proxies.ts';
import { Pool } from './pool.ts';

interface Held {
  readonly pool: Pool;
  users: number;
}

const SWEEP_MS = 1_000;

/** Counts who uses a pool; the last one out closes it. */
export class Pools {
  readonly #held = new Map<string, Held>();
  readonly #proxies: ProxyEnvironment;
  readonly #memory = new ReadMemory();
  readonly #mono: () => number;
  readonly #timer: NodeJS.Timeout;

  /** @param mono monotonic milliseconds. */
  constructor(mono: () => number, proxies: ProxyEnvironment = {}) {
    this.#mono = mono;
    this.#proxies = proxies;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** How many pools are open; a test counts one per origin. */
  get size(): number {
    return this.#held.size;
  }

  /** Takes a share in the pool of an origin. Pair with `release`. @throws TypeError for a proxy variable that is no URL */
  acquire(origin: string): Pool {
    let held = this.#held.get(origin);
    if (held === undefined) {
      const pool = new Pool(origin, proxyFor(origin, this.#proxies), this.#memory, this.#mono);
      held = { pool, users: 0 };
      this.#held.set(origin, held);
    }
    held.users += 1;
    return held.pool;
  }

  /** Gives a share back. A pool without users lets its running requests end, then closes. */
  release(origin: string): void {
    const held = this.#held.get(origin);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users > 0) return;
    this.#held.delete(origin);
    held.pool.close();
  }

  /** Cuts everything at once: the last act of a process. */
  destroy(): void {
    clearInterval(this.#timer);
    for (const { pool } of this.#held.values()) pool.destroy();
    this.#held.clear();
  }

  #sweep(): void {
    const now = this.#mono();
    for (const { pool } of this.#held.values()) pool.sweep(now);
  }
}
