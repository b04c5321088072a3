// Requests and tokens per minute, and calls at a time, by scope, in memory. Rates are leaky buckets by the generic cell
// rate algorithm (ITU-T I.371): one number per scope, no window whose edge lets twice the limit through, and the time to
// wait is exact. A call is let in by all its limits or consumes nothing of any. Pure: the clock is passed in.

/** What a call asks of one limit. */
export type LimitNeed = RateNeed | ParallelNeed | CallsNeed;

interface RateNeed {
  readonly kind: 'requests' | 'tokens';
  /** Names the scope and the kind of limit: `key:<hash>:rpm`. */
  readonly limit: string;
  readonly perMinute: number;
  /** 1 request, or the tokens that the call may use. */
  readonly amount: number;
}

interface ParallelNeed {
  readonly kind: 'parallel';
  readonly limit: string;
  readonly most: number;
}

/** So many calls in all; nobody gives one back. */
interface CallsNeed {
  readonly kind: 'calls';
  readonly limit: string;
  readonly most: number;
}

/** A count of calls is forgotten so long after the last one. */
export const CALLS_KEPT_MS = 86_400_000;

/** The first of a call's limits that is reached. */
export interface LimitRefusal {
  readonly need: LimitNeed;
  /** How long until the call would be let in, if nobody else came; null: it never is, or that depends on others' calls. */
  readonly waitMs: number | null;
  readonly remaining: number;
  /** What is left of each limit of the call, in their order. */
  readonly left: readonly number[];
}

/** What a call holds while it runs. */
export interface LimitPermit {
  /** What is left of each limit with this call, in their order. */
  readonly remaining: readonly number[];
  /** Corrects the tokens to what the call has used; once. @param nowMs monotonic */
  settleTokens(usedTokens: number, nowMs: number): void;
  /** Gives the places of parallel limits back; further calls change nothing. */
  release(): void;
}

type Limited =
  | { readonly ok: true; readonly permit: LimitPermit }
  | { readonly ok: false; readonly refusal: LimitRefusal };

const MINUTE_MS = 60_000;

/** Of one limit. */
interface Bucket {
  /** When a rate's bucket will be empty, or a count of calls is forgotten, monotonic milliseconds. Past = it is. */
  emptyAtMs: number;
  /** Calls that were counted. */
  calls: number;
  /** Calls of a parallel limit. */
  running: number;
  /** Said nothing any more; another one may have its place. */
  isDropped: boolean;
}

export class RateBook {
  readonly #buckets = new Map<string, Bucket>();

  get size(): number {
    return this.#buckets.size;
  }

  /** @param nowMs monotonic */
  admit(needs: readonly LimitNeed[], nowMs: number): Limited {
    const buckets = needs.map(({ limit }) => this.#buckets.get(limit));
    for (let i = 0; i < needs.length; i += 1) {
      const need = needs[i];
      const refusal = need === undefined ? null : refusalOf(need, buckets[i], nowMs);
      if (refusal !== null) {
        const left = needs.map((one) => this.remaining(one, nowMs));
        return { ok: false, refusal: { ...refusal, left } };
      }
    }
    const remaining = needs.map((need, i) => {
      const bucket = (buckets[i] ??= this.#bucketOf(need.limit));
      if (need.kind === 'parallel') bucket.running += 1;
      else if (need.kind === 'calls') {
        bucket.calls = countedCalls(bucket, nowMs) + 1;
        bucket.emptyAtMs = nowMs + CALLS_KEPT_MS;
      } else bucket.emptyAtMs = Math.max(nowMs, bucket.emptyAtMs) + costMs(need);
      return remainingOf(need, bucket, nowMs);
    });
    return { ok: true, permit: new Permit(this, needs, buckets, remaining) };
  }

  /** Corrects what a limit holds. A bucket that has run dry meanwhile gets nothing back: what it held is forgotten by now. */
  correct(need: RateNeed, held: Bucket, used: number, nowMs: number): void {
    const bucket = held.isDropped ? this.#bucketOf(need.limit) : held;
    const moreMs = ((used - need.amount) * MINUTE_MS) / need.perMinute;
    bucket.emptyAtMs = Math.max(nowMs, Math.max(nowMs, bucket.emptyAtMs) + moreMs);
  }

  /** What is left of a limit now. */
  remaining(need: LimitNeed, nowMs: number): number {
    return remainingOf(need, this.#buckets.get(need.limit), nowMs);
  }

  /** Forgets buckets that are empty: they say nothing that a new one would not. */
  prune(nowMs: number): void {
    for (const [limit, bucket] of this.#buckets)
      if (bucket.emptyAtMs <= nowMs && bucket.running === 0) this.#drop(limit, bucket);
  }

  #bucketOf(limit: string): Bucket {
    const known = this.#buckets.get(limit);
    if (known !== undefined) return known;
    const bucket = { emptyAtMs: 0, calls: 0, running: 0, isDropped: false };
    this.#buckets.set(limit, bucket);
    return bucket;
  }

  #drop(limit: string, bucket: Bucket): void {
    bucket.isDropped = true;
    this.#buckets.delete(limit);
  }
}

/** A place of a parallel limit is given back to a bucket that stays until the next prune: most callers come again. */
class Permit implements LimitPermit {
  readonly remaining: readonly number[];
  readonly #book: RateBook;
  readonly #needs: readonly LimitNeed[];
  readonly #buckets: readonly (Bucket | undefined)[];
  #isSettled = false;
  #isReleased = false;

  constructor(
    book: RateBook,
    needs: readonly LimitNeed[],
    buckets: readonly (Bucket | undefined)[],
    remaining: readonly number[],
  ) {
    this.#book = book;
    this.#needs = needs;
    this.#buckets = buckets;
    this.remaining = remaining;
  }

  settleTokens(usedTokens: number, nowMs: number): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    for (let i = 0; i < this.#needs.length; i += 1) {
      const need = this.#needs[i];
      const bucket = this.#buckets[i];
      if (need?.kind === 'tokens' && bucket !== undefined)
        this.#book.correct(need, bucket, usedTokens, nowMs);
    }
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    for (let i = 0; i < this.#needs.length; i += 1) {
      const bucket = this.#buckets[i];
      if (this.#needs[i]?.kind === 'parallel' && bucket !== undefined) bucket.running -= 1;
    }
  }
}

function remainingOf(need: LimitNeed, bucket: Bucket | undefined, nowMs: number): number {
  if (need.kind === 'parallel') return Math.max(0, need.most - (bucket?.running ?? 0));
  if (need.kind === 'calls') return Math.max(0, need.most - countedCalls(bucket, nowMs));
  const levelMs = Math.max(0, (bucket?.emptyAtMs ?? 0) - nowMs);
  return Math.max(0, Math.floor(need.perMinute - (levelMs * need.perMinute) / MINUTE_MS + 1e-6));
}

function refusalOf(
  need: LimitNeed,
  bucket: Bucket | undefined,
  nowMs: number,
): Omit<LimitRefusal, 'left'> | null {
  const refused = (waitMs: number | null): Omit<LimitRefusal, 'left'> => ({
    need,
    waitMs,
    remaining: remainingOf(need, bucket, nowMs),
  });
  if (need.kind === 'parallel' || need.kind === 'calls')
    return remainingOf(need, bucket, nowMs) > 0 ? null : refused(null);
  if (need.perMinute <= 0 || (need.amount > need.perMinute && need.kind === 'tokens')) return refused(null);
  const emptyAtMs = Math.max(nowMs, bucket?.emptyAtMs ?? nowMs) + costMs(need);
  const waitMs = emptyAtMs - nowMs - MINUTE_MS;
  return waitMs > 1e-6 ? refused(waitMs) : null;
}

const countedCalls = (bucket: Bucket | undefined, nowMs: number): number =>
  bucket === undefined || bucket.emptyAtMs <= nowMs ? 0 : bucket.calls;

const costMs = ({ amount, perMinute }: RateNeed): number => (amount * MINUTE_MS) / perMinute;
