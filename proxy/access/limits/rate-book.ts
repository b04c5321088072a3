// Requests and tokens per minute, and calls at a time, by scope, in memory. Rates are leaky buckets by the generic cell
// rate algorithm (ITU-T I.371): one number per scope, no window whose edge lets twice the limit through, and the time to
// wait is exact. A call is let in by all its limits or consumes nothing of any. Pure: the clock is passed in.

/** What a call asks of one limit. */
export type LimitClaim = RateClaim | ParallelClaim;

interface RateClaim {
  readonly kind: 'requests' | 'tokens';
  /** Names the scope and the kind of limit: `key:<hash>:rpm`. */
  readonly limit: string;
  readonly perMinute: number;
  /** 1 request, or the tokens that the call may use. */
  readonly amount: number;
}

interface ParallelClaim {
  readonly kind: 'parallel';
  readonly limit: string;
  readonly most: number;
}

/** The first of a call's limits that is reached. */
export interface LimitRefusal {
  readonly claim: LimitClaim;
  /** How long until the call would be let in, if nobody else came; null: it never is, or that depends on others' calls. */
  readonly waitMs: number | null;
  readonly remaining: number;
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

export type Limited =
  | { readonly ok: true; readonly permit: LimitPermit }
  | { readonly ok: false; readonly refusal: LimitRefusal };

const MINUTE_MS = 60_000;

/** Of one limit. */
interface Bucket {
  /** When a rate's bucket will be empty, monotonic milliseconds. Past = it is empty. */
  emptyAtMs: number;
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
  admit(claims: readonly LimitClaim[], nowMs: number): Limited {
    const known = claims.map(({ limit }) => this.#buckets.get(limit));
    for (const [i, claim] of claims.entries()) {
      const refusal = refusalOf(claim, known[i], nowMs);
      if (refusal !== null) return { ok: false, refusal };
    }
    const buckets = claims.map((claim, i) => {
      const bucket = known[i] ?? this.#bucketOf(claim.limit);
      if (claim.kind === 'parallel') bucket.running += 1;
      else bucket.emptyAtMs = Math.max(nowMs, bucket.emptyAtMs) + costMs(claim);
      return bucket;
    });
    const remaining = claims.map((claim, i) => remainingOf(claim, buckets[i], nowMs));
    return { ok: true, permit: this.#permitOf(claims, buckets, remaining) };
  }

  /** What is left of a limit now. */
  remaining(claim: LimitClaim, nowMs: number): number {
    return remainingOf(claim, this.#buckets.get(claim.limit), nowMs);
  }

  /** Forgets buckets that are empty: they say nothing that a new one would not. */
  prune(nowMs: number): void {
    for (const [limit, bucket] of this.#buckets)
      if (bucket.emptyAtMs <= nowMs && bucket.running === 0) this.#drop(limit, bucket);
  }

  #permitOf(
    claims: readonly LimitClaim[],
    buckets: readonly Bucket[],
    remaining: readonly number[],
  ): LimitPermit {
    let isSettled = false;
    let isReleased = false;
    return {
      remaining,
      settleTokens: (usedTokens, nowMs) => {
        if (isSettled) return;
        isSettled = true;
        for (const [i, claim] of claims.entries())
          if (claim.kind === 'tokens') this.#correct(claim, buckets[i], usedTokens, nowMs);
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        for (const [i, { kind }] of claims.entries()) if (kind === 'parallel') this.#giveBack(buckets[i]);
      },
    };
  }

  /** A bucket that has run dry meanwhile gets nothing back: what it held is forgotten by now. */
  #correct(claim: RateClaim, held: Bucket | undefined, used: number, nowMs: number): void {
    const bucket = held === undefined || held.isDropped ? this.#bucketOf(claim.limit) : held;
    const moreMs = ((used - claim.amount) * MINUTE_MS) / claim.perMinute;
    bucket.emptyAtMs = Math.max(nowMs, Math.max(nowMs, bucket.emptyAtMs) + moreMs);
  }

  /** It stays until the next prune: most callers come again. */
  #giveBack(bucket: Bucket | undefined): void {
    if (bucket !== undefined) bucket.running -= 1;
  }

  #bucketOf(limit: string): Bucket {
    const known = this.#buckets.get(limit);
    if (known !== undefined) return known;
    const bucket = { emptyAtMs: 0, running: 0, isDropped: false };
    this.#buckets.set(limit, bucket);
    return bucket;
  }

  #drop(limit: string, bucket: Bucket): void {
    bucket.isDropped = true;
    this.#buckets.delete(limit);
  }
}

function remainingOf(claim: LimitClaim, bucket: Bucket | undefined, nowMs: number): number {
  if (claim.kind === 'parallel') return Math.max(0, claim.most - (bucket?.running ?? 0));
  const levelMs = Math.max(0, (bucket?.emptyAtMs ?? 0) - nowMs);
  return Math.max(0, Math.floor(claim.perMinute - (levelMs * claim.perMinute) / MINUTE_MS + 1e-6));
}

function refusalOf(claim: LimitClaim, bucket: Bucket | undefined, nowMs: number): LimitRefusal | null {
  const remaining = remainingOf(claim, bucket, nowMs);
  if (claim.kind === 'parallel') return remaining > 0 ? null : { claim, waitMs: null, remaining };
  if (claim.perMinute <= 0 || (claim.amount > claim.perMinute && claim.kind === 'tokens'))
    return { claim, waitMs: null, remaining };
  const emptyAtMs = Math.max(nowMs, bucket?.emptyAtMs ?? nowMs) + costMs(claim);
  const waitMs = emptyAtMs - nowMs - MINUTE_MS;
  return waitMs > 1e-6 ? { claim, waitMs, remaining } : null;
}

const costMs = ({ amount, perMinute }: RateClaim): number => (amount * MINUTE_MS) / perMinute;
