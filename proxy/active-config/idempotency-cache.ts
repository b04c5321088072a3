// Calls by their idempotency keys: running ones, which a repeated call may join, and for a while ended ones with their
// responses. Bounded in time, number and bytes. Where several processes serve, a key that is not known here is asked for at
// the others. Does no access control: callers put the key owner into the key.
import type { KeyedCall, KeyedEnding, SharedKeys } from '../access/shared-keys.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

/** How a call ended. */
export interface Ending {
  /** The end reason of the spend record. */
  readonly reason: string;
  /** What the client got; null when it got nothing. */
  readonly httpStatus: number | null;
  /** null: it cannot be replayed. */
  readonly response: KeptResponse | null;
}

/** Of the configuration that the call began on. */
export interface IdempotencyLimits {
  /** How long an ended call is known. */
  readonly windowMs: number;
  /** Calls under way included. */
  readonly maxEntries: number;
  /** Of all kept responses, bookkeeping included. */
  readonly maxBytes: number;
}

/** A call in the cache. */
export interface KnownCall extends KeyedCall {
  /** null while it runs. */
  readonly ending: Ending | null;
  /** Settles when it has ended; null when it was forgotten, or when the process that ran it knows more. */
  readonly over: Promise<Ending | null>;
  /** Nobody waits for `over` any more. */
  readonly abandon?: () => void;
}

interface CachedCall {
  readonly id: string;
  readonly digest: string;
  readonly stream: boolean;
  ending: Ending | null;
  readonly over: Promise<Ending | null>;
  readonly end: (ending: Ending | null) => void;
  bytes: number;
  /** Monotonic ms; irrelevant while it runs. */
  until: number;
}

/** Object, promise, map entry, key and digest: 0.63 KB measured over 100,000 of them (Node 26), longer keys allowed for. */
const CALL_BYTES = 1_024;

/** The calls of this process. */
export class IdempotencyCache {
  readonly #running = new Map<string, CachedCall>();
  /** In the order in which they ended, so the first expires first. */
  readonly #ended = new Map<string, CachedCall>();
  readonly #mono: () => number;
  readonly #shared: SharedKeys | null;
  #bytes = 0;

  /** @param mono monotonic milliseconds @param shared null: this process serves alone */
  constructor(mono: () => number, shared: SharedKeys | null = null) {
    this.#mono = mono;
    this.#shared = shared;
  }

  /** Calls in the cache. */
  get size(): number {
    return this.#running.size + this.#ended.size;
  }

  /** Memory they take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The call that has this key, or null. */
  find(key: string): KnownCall | null {
    this.#forgetOld();
    return this.#running.get(key) ?? this.#ended.get(key) ?? null;
  }

  /**
   * Adds a call that `find` did not find, unless another process has its key. End it with `settle`.
   * @returns null: the call is the first; else the call of the other process
   * @throws CountersUnavailable
   */
  async take(key: string, call: KeyedCall, limits: IdempotencyLimits): Promise<KnownCall | 'full' | null> {
    if (!this.begin(key, call, limits)) return 'full';
    if (this.#shared === null) return null;
    let isFirst = false;
    try {
      const claim = await this.#shared.claim(key, call);
      isFirst = claim === null || claim.kind === 'first';
      if (claim === null || claim.kind === 'first') return null;
      if (claim.kind === 'ended') {
        const ending = endingOf(claim.ending);
        return { ...claim.call, ending, over: Promise.resolve(ending) };
      }
      // Nobody waits for a stream, or for the answer to another request.
      const isJoined = claim.call.digest === call.digest && !claim.call.stream;
      if (!isJoined) return { ...claim.call, ending: null, over: Promise.resolve(null) };
      const wait = this.#shared.wait(key);
      return { ...claim.call, ending: null, over: wait.done.then(() => null), abandon: () => wait.abandon() };
    } finally {
      if (!isFirst) this.#drop(key);
    }
  }

  /** Adds a call that `find` did not find. End it with `settle`. @returns false: the cache is full */
  begin(key: string, call: Pick<KnownCall, 'id' | 'digest' | 'stream'>, limits: IdempotencyLimits): boolean {
    this.#evict(limits.maxEntries - 1, limits.maxBytes - CALL_BYTES);
    if (this.size >= limits.maxEntries || this.#bytes + CALL_BYTES > limits.maxBytes) return false;
    const { promise, resolve } = Promise.withResolvers<Ending | null>();
    this.#running.set(key, {
      ...call,
      ending: null,
      over: promise,
      end: resolve,
      bytes: CALL_BYTES,
      until: Infinity,
    });
    this.#bytes += CALL_BYTES;
    return true;
  }

  /** The call has ended. @param ending null: forget it */
  settle(key: string, ending: Ending | null, limits: IdempotencyLimits): void {
    const call = this.#running.get(key);
    if (call === undefined) return;
    if (ending === null) {
      this.#drop(key);
      this.#shared?.end(key, null, limits.windowMs);
      return;
    }
    this.#running.delete(key);
    call.end(ending);
    const answerBytes = ending.response === null ? 0 : sizeOf(ending.response);
    this.#evict(limits.maxEntries, limits.maxBytes - answerBytes);
    const fits = this.#bytes + answerBytes <= limits.maxBytes;
    call.ending = fits ? ending : { ...ending, response: null };
    if (fits) call.bytes += answerBytes;
    if (fits) this.#bytes += answerBytes;
    call.until = this.#mono() + limits.windowMs;
    this.#ended.set(key, call);
    this.#shared?.end(key, keyedEnding(call.ending), limits.windowMs);
  }

  /** A call that was begun is not the first one, or has left nothing. */
  #drop(key: string): void {
    const call = this.#running.get(key);
    if (call === undefined) return;
    this.#running.delete(key);
    this.#bytes -= call.bytes;
    call.end(null);
  }

  #forgetOld(): void {
    const now = this.#mono();
    for (const [key, { until }] of this.#ended) {
      if (until > now) return;
      this.#forget(key);
    }
  }

  /** Forgets ended calls, the oldest first, until at most so many calls and bytes are left. */
  #evict(entries: number, bytes: number): void {
    this.#forgetOld();
    for (const key of this.#ended.keys()) {
      if (this.size <= entries && this.#bytes <= bytes) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#ended.get(key)?.bytes ?? 0;
    this.#ended.delete(key);
    this.#shared?.forget(key);
  }
}

/** As it is passed between processes. */
type Head = Pick<Ending, 'reason' | 'httpStatus'> & Partial<Pick<KeptResponse, 'status' | 'headers'>>;

function keyedEnding({ reason, httpStatus, response }: Ending): KeyedEnding {
  const head: Head =
    response === null
      ? { reason, httpStatus }
      : { reason, httpStatus, status: response.status, headers: response.headers };
  return { head: JSON.stringify(head), body: response?.body ?? null };
}

/** Of a process of the same installation. */
function endingOf({ head, body }: KeyedEnding): Ending {
  const { reason, httpStatus, status, headers } = JSON.parse(head) as Head;
  if (body === null || status === undefined || headers === undefined)
    return { reason, httpStatus, response: null };
  return { reason, httpStatus, response: { status, headers, body } };
}

function sizeOf({ headers, body }: KeptResponse): number {
  return body.length + headers.reduce((sum, text) => sum + text.length + 16, 0);
}
