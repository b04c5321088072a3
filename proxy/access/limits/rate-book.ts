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
  /** Corrects the tokens to what the call has used; once. @param nowMs monotonic */
  settleTokens(usedTokens: number, nowMs: number): void;
  /** Gives the places of parallel limits back; further calls change nothing. */
  release(): void;
}

export type Limited =
  | { readonly ok: true; readonly permit: LimitPermit }
  | { readonly ok: false; readonly refusal: LimitRefusal };

const MINUTE_MS = 60_000;

export class RateBook {
  /** For each rate: when its bucket will be empty, monotonic milliseconds. Past = it is empty. */
  readonly #emptyAtMs = new Map<string, number>();
  readonly #running = new Map<string, number>();

  get size(): number {
    return this.#emptyAtMs.size + this.#running.size;
  }

  /** @param nowMs monotonic */
  admit(claims: readonly LimitClaim[], nowMs: number): Limited {
    for (const claim of claims) {
      const refusal = this.#refusalOf(claim, nowMs);
      if (refusal !== null) return { ok: false, refusal };
    }
    for (const claim of claims) this.#take(claim, nowMs);
    return { ok: true, permit: this.#permitOf(claims) };
  }

  /** What is left of a limit now. */
  remaining(claim: LimitClaim, nowMs: number): number {
    if (claim.kind === 'parallel') return Math.max(0, claim.most - (this.#running.get(claim.limit) ?? 0));
    const levelMs = Math.max(0, (this.#emptyAtMs.get(claim.limit) ?? 0) - nowMs);
    return Math.max(0, Math.floor(claim.perMinute - (levelMs * claim.perMinute) / MINUTE_MS + 1e-6));
  }

  /** Forgets buckets that are empty: they say nothing that a new one would not. */
  prune(nowMs: number): void {
    for (const [limit, emptyAtMs] of this.#emptyAtMs) if (emptyAtMs <= nowMs) this.#emptyAtMs.delete(limit);
  }

  #refusalOf(claim: LimitClaim, nowMs: number): LimitRefusal | null {
    const remaining = this.remaining(claim, nowMs);
    if (claim.kind === 'parallel') return remaining > 0 ? null : { claim, waitMs: null, remaining };
    if (claim.perMinute <= 0 || (claim.amount > claim.perMinute && claim.kind === 'tokens'))
      return { claim, waitMs: null, remaining };
    const emptyAtMs = Math.max(nowMs, this.#emptyAtMs.get(claim.limit) ?? nowMs) + costMs(claim);
    const waitMs = emptyAtMs - nowMs - MINUTE_MS;
    return waitMs > 1e-6 ? { claim, waitMs, remaining } : null;
  }

  #take(claim: LimitClaim, nowMs: number): void {
    if (claim.kind === 'parallel') {
      this.#running.set(claim.limit, (this.#running.get(claim.limit) ?? 0) + 1);
      return;
    }
    const from = Math.max(nowMs, this.#emptyAtMs.get(claim.limit) ?? nowMs);
    this.#emptyAtMs.set(claim.limit, from + costMs(claim));
  }

  #permitOf(claims: readonly LimitClaim[]): LimitPermit {
    let isSettled = false;
    let isReleased = false;
    return {
      settleTokens: (usedTokens, nowMs) => {
        if (isSettled) return;
        isSettled = true;
        for (const claim of claims) if (claim.kind === 'tokens') this.#correct(claim, usedTokens, nowMs);
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        for (const { kind, limit } of claims) if (kind === 'parallel') this.#giveBack(limit);
      },
    };
  }

  /** A bucket that has run dry meanwhile gets nothing back: what it held is forgotten by now. */
  #correct(claim: RateClaim, used: number, nowMs: number): void {
    const emptyAtMs = Math.max(nowMs, this.#emptyAtMs.get(claim.limit) ?? nowMs);
    const moreMs = costMs({ ...claim, amount: used - claim.amount });
    this.#emptyAtMs.set(claim.limit, Math.max(nowMs, emptyAtMs + moreMs));
  }

  #giveBack(limit: string): void {
    const running = (this.#running.get(limit) ?? 1) - 1;
    if (running === 0) this.#running.delete(limit);
    else this.#running.set(limit, running);
  }
}

const costMs = ({ amount, perMinute }: RateClaim): number => (amount * MINUTE_MS) / perMinute;
