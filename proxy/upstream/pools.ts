// Connection pools, one per upstream origin and protocol, shared by successive configurations: a reload keeps warm
// connections, and a pool that no configuration uses any more closes after its last request.
import { lookup as dnsLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { Connector } from './connector.ts';
import { NO_PROXIES, proxyFor, type ProxySettings } from './http-proxies.ts';
import { MockPool } from './mock-pool.ts';
import { MultiplexedPool } from './multiplexed-pool.ts';
import { ConnectionPool, type Pool } from './pool.ts';
import { safeLookup } from './safe-lookup.ts';

/** Identifies a pool. */
export interface PoolKey {
  readonly origin: string;
  /** Offer HTTP/2; has no effect without TLS. */
  readonly allowH2: boolean;
  /** No connection to a link-local or metadata address. Such pools share no connection with others. */
  readonly refuseLinkLocal?: boolean;
  /** Pools with other authorities or another client certificate share no connection either. */
  readonly tls?: UpstreamTls | null;
  /** Nothing is sent: requests get this answer. */
  readonly mock?: string | null;
}

interface SharedPool {
  readonly pool: Pool;
  users: number;
}

const SWEEP_MS = 1_000;

/** Counts the users of each pool; releasing the last one closes it. */
export class Pools {
  readonly #pools = new Map<string, SharedPool>();
  /** For connections that leave HTTP, by the names of their pools. */
  readonly #connectors = new Map<string, Connector>();
  readonly #proxies: ProxySettings;
  readonly #mono: () => number;
  readonly #safeLookup: LookupFunction;
  readonly #timer: NodeJS.Timeout;

  /**
   * @param mono monotonic milliseconds.
   * @param resolve resolves names for the pools that refuse link-local addresses; others leave that to Node
   */
  constructor(mono: () => number, proxies: ProxySettings = NO_PROXIES, resolve: LookupFunction = dnsLookup) {
    this.#mono = mono;
    this.#safeLookup = safeLookup(resolve);
    this.#proxies = proxies;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** How many pools are open; a test counts one per origin. */
  get size(): number {
    return this.#pools.size;
  }

  /** Which upstreams are reached through an HTTP proxy. */
  get proxies(): ProxySettings {
    return this.#proxies;
  }

  /** Why no connection to an origin can be opened: a proxy variable that is no URL; null = one can. */
  whyNoRoute(origin: string): string | null {
    try {
      proxyFor(origin, this.#proxies);
      return null;
    } catch (error) {
      if (error instanceof CannotStart) return error.message;
      throw error;
    }
  }

  /** Adds a user to a pool. Pair with `release`. @throws CannotStart for a proxy variable that is no URL */
  acquire(key: PoolKey): Pool {
    const name = nameOf(key);
    let shared = this.#pools.get(name);
    if (shared === undefined) {
      shared = { pool: this.#open(key), users: 0 };
      this.#pools.set(name, shared);
    }
    shared.users += 1;
    return shared.pool;
  }

  /**
   * Opens connections for upgrades, which HTTP/2 does not have, by the same route as the pool; null: nothing is sent there.
   * Only while the pool has a user.
   */
  connector(key: PoolKey): Connector | null {
    if (key.mock !== undefined && key.mock !== null) return null;
    const name = nameOf(key);
    const known = this.#connectors.get(name);
    if (known !== undefined) return known;
    const lookup = key.refuseLinkLocal === true ? this.#safeLookup : null;
    const proxy = proxyFor(key.origin, this.#proxies);
    const made = new Connector(key.origin, proxy, false, key.tls, lookup);
    this.#connectors.set(name, made);
    return made;
  }

  #open(key: PoolKey): Pool {
    if (key.mock !== undefined && key.mock !== null) return new MockPool(key.mock);
    const proxy = proxyFor(key.origin, this.#proxies);
    const lookup = key.refuseLinkLocal === true ? this.#safeLookup : null;
    return speaksH2(key)
      ? new MultiplexedPool(key.origin, proxy, this.#mono, key.tls, lookup)
      : new ConnectionPool(key.origin, proxy, this.#mono, key.tls, lookup);
  }

  /** Removes a user. A pool without users finishes its requests in flight, then closes. */
  release(key: PoolKey): void {
    const name = nameOf(key);
    const shared = this.#pools.get(name);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#pools.delete(name);
    this.#connectors.delete(name);
    shared.pool.close();
  }

  /** Destroys all pools, at the end of the process. */
  destroy(): void {
    clearInterval(this.#timer);
    for (const { pool } of this.#pools.values()) pool.destroy();
    this.#pools.clear();
    this.#connectors.clear();
  }

  #sweep(): void {
    const now = this.#mono();
    for (const { pool } of this.#pools.values()) pool.sweep(now);
  }
}

const speaksH2 = ({ origin, allowH2 }: PoolKey): boolean => allowH2 && origin.startsWith('https:');
const nameOf = (key: PoolKey): string =>
  `${mockName(key)}${key.refuseLinkLocal === true ? 'checked ' : ''}${speaksH2(key) ? 'h2 ' : ''}${tlsName(key)}${key.origin}`;
const mockName = ({ mock }: PoolKey): string =>
  mock === undefined || mock === null ? '' : `mock ${JSON.stringify(mock)} `;
const tlsName = ({ tls }: PoolKey): string => (tls === undefined || tls === null ? '' : `${tls.sha256} `);
