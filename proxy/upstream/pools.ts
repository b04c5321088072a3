// Connection pools, one per upstream origin and connect timeout, shared by successive configurations: a reload keeps
// warm connections, and a pool that no configuration wants any more closes after its last request.
import { EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';

/** `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`; undefined members are not set. */
export interface ProxyEnvironment {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

interface Held {
  readonly dispatcher: Dispatcher;
  users: number;
}

/** Gateways in front of gateways close idle sockets at about 30 s; ours go before (undici's own cap is 600 s). */
const KEEP_ALIVE_MAX_MS = 25_000;
const MAX_RESPONSE_HEAD_BYTES = 65_536;

function optionsFor(connectMs: number): Pool.Options {
  return {
    connections: null,
    pipelining: 1,
    allowH2: false, // undici 8 turned it on by default; one stream per socket isolates answers from each other
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    headersTimeout: 0, // our own clocks bound the exchange; undici's 300 s defaults have cut many a long answer
    bodyTimeout: 0,
    maxHeaderSize: MAX_RESPONSE_HEAD_BYTES,
    connect: { timeout: connectMs },
  };
}

/** Counts who uses a pool; the last one out closes it. */
export class Pools {
  readonly #held = new Map<string, Held>();
  readonly #proxies: ProxyEnvironment;

  constructor(proxies: ProxyEnvironment = {}) {
    this.#proxies = proxies;
  }

  /** How many pools are open; a test counts one per origin. */
  get size(): number {
    return this.#held.size;
  }

  /** Takes a share in the pool of an origin. Pair with `release`. */
  acquire(origin: string, connectMs: number): Dispatcher {
    const key = `${origin} ${connectMs}`;
    let held = this.#held.get(key);
    if (held === undefined) {
      held = { dispatcher: this.#open(origin, connectMs), users: 0 };
      this.#held.set(key, held);
    }
    held.users += 1;
    return held.dispatcher;
  }

  /** Gives a share back. A pool without users lets its running requests end, then closes. */
  release(origin: string, connectMs: number): void {
    const key = `${origin} ${connectMs}`;
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users > 0) return;
    this.#held.delete(key);
    void held.dispatcher.close();
  }

  /** Cuts everything at once: the last act of a process. */
  async destroy(): Promise<void> {
    const all = [...this.#held.values()];
    this.#held.clear();
    await Promise.all(all.map((held) => held.dispatcher.destroy()));
  }

  #open(origin: string, connectMs: number): Dispatcher {
    const options = optionsFor(connectMs);
    const { httpProxy, httpsProxy, noProxy } = this.#proxies;
    if (httpProxy === undefined && httpsProxy === undefined) return new Pool(origin, options);
    return new EnvHttpProxyAgent({
      ...options,
      ...(httpProxy === undefined ? {} : { httpProxy }),
      ...(httpsProxy === undefined ? {} : { httpsProxy }),
      ...(noProxy === undefined ? {} : { noProxy }),
    });
  }
}
