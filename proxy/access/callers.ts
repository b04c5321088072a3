// Issued keys, beside the master key: the identity that each stands for. Filled by the platform, which issues them; read
// by pipeline/authenticate.ts. In memory, so that no call waits for a database and a database outage never becomes a 401.
import { hash } from 'node:crypto';
import type { Secret } from '../../config/secret.ts';

/** The identity of a key; it wins over what the request itself states. */
export interface CallerIdentity {
  /** Session of every call with this key, as it goes upstream: a UUID with dashes. */
  readonly sessionId: string;
  /** For calls that name no end user; null = none. */
  readonly endUser: string | null;
  /** Come before the tags of the request. */
  readonly tags: readonly string[];
  /** Lower-case names. They go upstream in place of the client's, below the operator's. */
  readonly headers: readonly (readonly [name: string, value: Secret])[];
}

interface Entry {
  readonly identity: CallerIdentity;
  lastCallMs: number;
}

/** A key that was found. */
export interface KnownCaller {
  /** Lower-case hex SHA-256. */
  readonly keyHash: string;
  readonly identity: CallerIdentity;
}

/** `/c/{id}`: the base path of one session; `id` is its UUID without dashes. */
const SCOPED = /^\/c\/([0-9a-f]{32})(?=\/)/;

/** The session that a path belongs to, and the path below it; null for all other paths. */
export function scopeOf(path: string): { readonly id: string; readonly rest: string } | null {
  const match = path.startsWith('/c/') ? SCOPED.exec(path) : null;
  const [whole, id] = match ?? [];
  return whole === undefined || id === undefined ? null : { id, rest: path.slice(whole.length) };
}

/** Keys by their SHA-256; some 400 bytes each. */
export class CallerDirectory {
  readonly #byHash = new Map<string, Entry>();
  readonly #catchUp: (credential: string) => Promise<void> | null;

  /** @param news see `catchUp`; default: no other server issues keys */
  constructor(news: (credential: string) => Promise<void> | null = () => null) {
    this.#catchUp = news;
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** Adds or replaces. @param keyHash lower-case hex SHA-256 of the key */
  put(keyHash: string, identity: CallerIdentity): void {
    const lastCallMs = this.#byHash.get(keyHash)?.lastCallMs ?? 0;
    this.#byHash.set(keyHash, { identity, lastCallMs });
  }

  remove(keyHash: string): void {
    this.#byHash.delete(keyHash);
  }

  /** The holder of a key as it was sent, or null. @param nowMs noted as the time of its last call */
  find(credential: string, nowMs: number): KnownCaller | null {
    const keyHash = hash('sha256', credential, 'hex');
    const entry = this.#byHash.get(keyHash);
    if (entry === undefined) return null;
    entry.lastCallMs = nowMs;
    return { keyHash, identity: entry.identity };
  }

  /** What a key stands for; null for one that is not, or no longer, issued. */
  identityOf(keyHash: string): CallerIdentity | null {
    return this.#byHash.get(keyHash)?.identity ?? null;
  }

  /**
   * For a key that was not found: resolves once keys that other servers had issued before this call are loaded too.
   * Rejects when the database cannot be read. null = no other server can have issued such a key.
   */
  catchUp(credential: string): Promise<void> | null {
    return this.#catchUp(credential);
  }

  /** Epoch milliseconds of the last call with a key; 0 = none since the start. */
  lastCallMs(keyHash: string): number {
    return this.#byHash.get(keyHash)?.lastCallMs ?? 0;
  }
}
