// `fetch` over the proxy's own connections, for libraries that take one: with the outgoing proxies and authorities of the
// environment, bounded in time and size, and without following redirects.
import { Buffer } from 'node:buffer';
import { exchange, GetTimeout } from './get.ts';
import type { Pools } from './pools.ts';

interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Bounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** @returns a function that rejects as fetch does: with a TypeError when there is no response */
export function pooledFetch(
  pools: Pools,
  bounds: Bounds,
): (url: string, options: FetchOptions) => Promise<Response> {
  return async (url, { method = 'GET', headers = {}, body = null }) => {
    const { origin, pathname, search } = new URL(url);
    const bytes = bytesOf(body);
    const all = { host: new URL(url).host, ...headers };
    const flat = Object.entries(all).flatMap(([name, value]) => [name, value]);
    const length = bytes === null ? [] : ['content-length', String(bytes.length)];
    const key = { origin, allowH2: false };
    const pool = pools.acquire(key);
    try {
      const path = `${pathname}${search}`;
      const answer = await exchange(pool, method, bytes, { path, headers: [...flat, ...length], ...bounds });
      if (answer.body === null) throw new TypeError(`the answer is larger than ${bounds.maxBytes} bytes`);
      const hasBody = ![204, 304].includes(answer.status) && answer.body.length > 0;
      return new Response(hasBody ? new Uint8Array(answer.body) : null, {
        status: answer.status,
        headers: pairsOf(answer.headers),
      });
    } catch (cause) {
      if (cause instanceof TypeError) throw cause;
      throw new TypeError(cause instanceof GetTimeout ? 'no answer in time' : 'fetch failed', { cause });
    } finally {
      pools.release(key);
    }
  };
}

function bytesOf(body: unknown): Buffer | null {
  if (body === null || body === undefined) return null;
  if (body instanceof URLSearchParams || typeof body === 'string') return Buffer.from(String(body));
  if (body instanceof Uint8Array) return Buffer.from(body);
  throw new TypeError('such a body cannot be sent');
}

function pairsOf(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []));
}
