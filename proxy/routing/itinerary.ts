// The way of one request among upstreams: where it is, and where it goes when that fails. The only place that decides
// on retries and fallbacks; it sends nothing and waits for nothing.
import type { Candidate } from './candidate.ts';
import { pauseMs } from './pause.ts';

/** How an attempt failed, as far as another attempt may mend it. */
export type FailureKind =
  'timeout' | 'rate_limit' | 'server' | 'unreached' | 'context_window' | 'content_policy';

export interface Failure {
  readonly kind: FailureKind;
  /** The upstream's `Retry-After`, ms. */
  readonly wishMs: number | null;
}

/** Entries of one name, best first. */
export interface Leg<T> {
  readonly name: string;
  readonly entries: readonly T[];
}

export interface TravelRules<L> {
  /** Attempts beside the first, by kind of failure; `again`: also on an entry that failed before. */
  retries(kind: FailureKind): { readonly count: number; readonly again: boolean };
  /** Whether `fallbacks` may have some, for whatever kind of failure. */
  readonly hasFallbacks: boolean;
  /** The legs that take over after a failure of this kind, best first. */
  fallbacks(kind: FailureKind): readonly L[];
  readonly maxFallbacks: number;
  /** Takes one attempt from the budget of all requests. */
  spend(): boolean;
  /** Shortest pause before one entry is asked again, ms. */
  readonly floorMs: number;
  readonly random: () => number;
}

/** The next attempt. */
export interface Step {
  readonly how: 'retry' | 'fallback';
  readonly pauseMs: number;
}

interface Place<L> {
  readonly leg: L;
  readonly at: number;
  readonly pauseMs: number;
}

/** One kind for each number of retries that can be stated. */
const RETRIED: readonly FailureKind[] = ['server', 'timeout', 'rate_limit'];

export class Itinerary<T extends Candidate, L extends Leg<T> = Leg<T>> {
  readonly #rules: TravelRules<L>;
  readonly #left: L[] = [];
  /** The leg that was asked for, when it was passed over because all of it rests; the last resort. */
  readonly #skipped: L | null = null;
  #leg: L;
  #at = 0;
  /** Attempts on entries that had failed before. */
  #repeats = 0;
  #retries = 0;
  #fallbacks = 0;
  #denied = false;

  /** Begins at the best entry of `leg`; when all of it rests, at the first fallback that does not. */
  constructor(leg: L, rules: TravelRules<L>, nowMs: number) {
    this.#leg = leg;
    this.#rules = rules;
    if (leg.entries[0]?.state.serves(nowMs) !== false || !rules.hasFallbacks) return;
    const serving = rules.fallbacks('server').find(({ entries }) => entries[0]?.state.serves(nowMs));
    if (serving === undefined) return;
    this.#skipped = leg;
    this.#leg = serving;
    this.#fallbacks = 1;
  }

  get leg(): L {
    return this.#leg;
  }

  get entry(): T {
    return this.#leg.entries[this.#at] as T;
  }

  get retries(): number {
    return this.#retries;
  }

  get fallbacks(): number {
    return this.#fallbacks;
  }

  /** The budget refused an attempt that would have been made. */
  get denied(): boolean {
    return this.#denied;
  }

  /** Whether some failure could be answered by another attempt. */
  get hasMore(): boolean {
    if (this.#rules.hasFallbacks && this.#fallbacks < this.#rules.maxFallbacks) return true;
    const hasOthers = this.#at + 1 < this.#leg.entries.length;
    return RETRIED.some((kind) => {
      const { count, again } = this.#rules.retries(kind);
      return this.#retries < count && (again || hasOthers);
    });
  }

  /** Whether somebody else could have had this call: only then may the entry rest. */
  othersServe(nowMs: number): boolean {
    const other = (entry: T): boolean => entry !== this.entry && entry.state.serves(nowMs);
    return (
      this.#leg.entries.some(other) ||
      this.#rules.fallbacks('server').some(({ entries }) => entries.some(other))
    );
  }

  /** Moves on after a failure. @returns null when the failure is the answer */
  next(failure: Failure, nowMs: number): Step | null {
    const place = this.#choose(failure, nowMs);
    if (place === null) return null;
    // An attempt that found no connection has put no load on anybody.
    if (failure.kind !== 'unreached' && !this.#rules.spend()) {
      this.#denied = true;
      return null;
    }
    const { leg, at, pauseMs } = place;
    const how = leg === this.#leg ? 'retry' : 'fallback';
    if (how === 'fallback') {
      this.#left.push(this.#leg);
      this.#fallbacks += 1;
    } else {
      this.#retries += 1;
      if (at <= this.#at || this.#repeats > 0) this.#repeats += 1;
    }
    this.#leg = leg;
    this.#at = at;
    return { how, pauseMs };
  }

  #choose({ kind, wishMs }: Failure, nowMs: number): Place<L> | null {
    if (kind === 'context_window' || kind === 'content_policy') return this.#fallback(kind, nowMs);
    const { count, again } = this.#rules.retries(kind);
    if (this.#retries >= count) return this.#fallback(kind, nowMs);
    const { entries } = this.#leg;
    const turn = [...entries.keys()].map((i) => (this.#at + 1 + i) % entries.length); // the one that failed comes last
    const at = turn.find((i) => entries[i]?.state.serves(nowMs)) ?? this.#at;
    if (at > this.#at && this.#repeats === 0) return { leg: this.#leg, at, pauseMs: 0 };
    if (!again) return this.#fallback(kind, nowMs);
    const wish = at === this.#at ? wishMs : null; // one upstream's wish is not another's
    const pause = pauseMs(this.#repeats + 1, wish, this.#rules.floorMs, this.#rules.random);
    return pause === null ? this.#fallback(kind, nowMs) : { leg: this.#leg, at, pauseMs: pause };
  }

  #fallback(kind: FailureKind, nowMs: number): Place<L> | null {
    if (this.#fallbacks >= this.#rules.maxFallbacks) return null;
    const seen = [this.#leg, ...this.#left].map(({ name }) => name);
    const legs = this.#rules.fallbacks(kind).filter(({ name }) => !seen.includes(name));
    const leg = legs.find(({ entries }) => entries[0]?.state.serves(nowMs)) ?? legs[0] ?? this.#skipped;
    if (leg === null || seen.includes(leg.name)) return null;
    return { leg, at: 0, pauseMs: 0 };
  }
}
