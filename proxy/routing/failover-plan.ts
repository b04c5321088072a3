// The attempts of one request, planned: where it is sent, and where it goes when that fails. The only place that decides
// on retries and fallbacks; it sends nothing and waits for nothing.
import { hasRoom, type Routable } from './routable.ts';
import { pauseMs } from './backoff.ts';

/** How an attempt failed, as far as another attempt may mend it. */
export type FailureKind =
  'timeout' | 'rate_limit' | 'server' | 'unreached' | 'context_window' | 'content_policy';

export interface Failure {
  readonly kind: FailureKind;
  /** The upstream's `Retry-After`, ms. */
  readonly wishMs: number | null;
}

/** Entries of one name, best first. */
export interface ModelGroup<T> {
  readonly name: string;
  readonly deployments: readonly T[];
}

export interface FailoverPolicy<G> {
  /** Attempts beside the first, by kind of failure; `again`: also on an entry that failed before. */
  retries(kind: FailureKind): { readonly count: number; readonly again: boolean };
  /** Whether `fallbacks` may have some, for whatever kind of failure. */
  readonly hasFallbacks: boolean;
  /** The groups that take over after a failure of this kind, best first. */
  fallbacks(kind: FailureKind): readonly G[];
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

interface Place<G> {
  readonly group: G;
  readonly at: number;
  readonly pauseMs: number;
}

/** One kind for each number of retries that can be stated. */
const RETRIED: readonly FailureKind[] = ['server', 'timeout', 'rate_limit'];

export class FailoverPlan<T extends Routable, G extends ModelGroup<T> = ModelGroup<T>> {
  readonly #policy: FailoverPolicy<G>;
  readonly #left: G[] = [];
  /** The group that was asked for, when it was passed over because all of it rests; the last resort. */
  readonly #skipped: G | null = null;
  #group: G;
  #at = 0;
  /** Attempts on entries that had failed before. */
  #repeats = 0;
  #retries = 0;
  #fallbacks = 0;
  #denied = false;

  /** Begins at the best entry of `group`; when all of it rests, at the first fallback that does not. */
  constructor(group: G, policy: FailoverPolicy<G>, nowMs: number) {
    this.#group = group;
    this.#policy = policy;
    if (group.deployments[0]?.health.isAvailable(nowMs) !== false || !policy.hasFallbacks) return;
    const serving = policy
      .fallbacks('server')
      .find(({ deployments }) => deployments[0]?.health.isAvailable(nowMs));
    if (serving === undefined) return;
    this.#skipped = group;
    this.#group = serving;
    this.#fallbacks = 1;
  }

  get group(): G {
    return this.#group;
  }

  get deployment(): T {
    return this.#group.deployments[this.#at] as T;
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
    if (this.#policy.hasFallbacks && this.#fallbacks < this.#policy.maxFallbacks) return true;
    const hasOthers = this.#at + 1 < this.#group.deployments.length;
    return RETRIED.some((kind) => {
      const { count, again } = this.#policy.retries(kind);
      return this.#retries < count && (again || hasOthers);
    });
  }

  /** Whether somebody else could have had the call of an entry: only then may it rest. */
  othersServe(nowMs: number, than: T = this.deployment): boolean {
    const other = (entry: T): boolean => entry !== than && entry.health.isAvailable(nowMs);
    return (
      this.#group.deployments.some(other) ||
      this.#policy.fallbacks('server').some(({ deployments }) => deployments.some(other))
    );
  }

  /** The entries of this group that the present attempt may go to, best first: those that rest only when all do. */
  open(nowMs: number): readonly T[] {
    const left = this.#group.deployments.slice(this.#at);
    const serving = left.filter(({ health }) => health.isAvailable(nowMs));
    return serving.length > 0 ? serving : [this.deployment];
  }

  /** The present attempt goes to another one of `open`; the one that was to get it is next. */
  moveTo(entry: T): void {
    if (entry === this.deployment) return;
    const others = this.#group.deployments.filter((one) => one !== entry);
    this.#group = { ...this.#group, deployments: others.toSpliced(this.#at, 0, entry) };
  }

  /** Entries of this group that were not asked yet and can take a call at once, best first, for an attempt beside the plan. */
  beside(kind: FailureKind, nowMs: number): readonly T[] {
    if (this.#retries >= this.#policy.retries(kind).count) return [];
    return this.#group.deployments.slice(this.#at + 1).filter((entry) => isOpen(entry, nowMs));
  }

  /** One of `beside` gets a further attempt and is the present entry. @returns false when the budget refuses */
  branch(entry: T): boolean {
    if (!this.#policy.spend()) return false;
    this.#retries += 1;
    this.#at += 1;
    this.moveTo(entry);
    return true;
  }

  /** Of the last two entries `entry` is the present one after all; the other may be asked again unless it failed. */
  keepTo(entry: T, otherFailed: boolean): void {
    this.moveTo(entry);
    if (otherFailed) return;
    this.#at -= 1;
    this.moveTo(entry);
  }

  /** All of this group is full: goes on to the first fallback that has room. @returns false when there is none */
  overflow(nowMs: number): boolean {
    if (!this.#policy.hasFallbacks || this.#fallbacks >= this.#policy.maxFallbacks) return false;
    const group = this.#unseen('server').find(({ deployments }) => isOpen(deployments[0], nowMs));
    if (group !== undefined) this.#enter(group);
    return group !== undefined;
  }

  /** Moves on after a failure. @returns null when the failure is the answer */
  next(failure: Failure, nowMs: number): Step | null {
    const place = this.#choose(failure, nowMs);
    if (place === null) return null;
    // An attempt that found no connection has put no load on anybody.
    if (failure.kind !== 'unreached' && !this.#policy.spend()) {
      this.#denied = true;
      return null;
    }
    const { group, at, pauseMs } = place;
    const how = group === this.#group ? 'retry' : 'fallback';
    if (how === 'fallback') this.#enter(group);
    else {
      this.#retries += 1;
      if (at <= this.#at || this.#repeats > 0) this.#repeats += 1;
      this.#at = at;
    }
    return { how, pauseMs };
  }

  #enter(group: G): void {
    this.#left.push(this.#group);
    this.#fallbacks += 1;
    this.#group = group;
    this.#at = 0;
  }

  #choose({ kind, wishMs }: Failure, nowMs: number): Place<G> | null {
    if (kind === 'context_window' || kind === 'content_policy') return this.#fallback(kind, nowMs);
    const { count, again } = this.#policy.retries(kind);
    if (this.#retries >= count) return this.#fallback(kind, nowMs);
    const { deployments } = this.#group;
    const turn = [...deployments.keys()].map((i) => (this.#at + 1 + i) % deployments.length); // the one that failed comes last
    const serves = (i: number): boolean => deployments[i]?.health.isAvailable(nowMs) === true;
    const open = turn.find((i) => i > this.#at && isOpen(deployments[i], nowMs));
    const at = open ?? turn.find(serves) ?? this.#at;
    if (at > this.#at && this.#repeats === 0) return { group: this.#group, at, pauseMs: 0 };
    if (!again) return this.#fallback(kind, nowMs);
    const wish = at === this.#at ? wishMs : null; // one upstream's wish is not another's
    const pause = pauseMs(this.#repeats + 1, wish, this.#policy.floorMs, this.#policy.random);
    return pause === null ? this.#fallback(kind, nowMs) : { group: this.#group, at, pauseMs: pause };
  }

  #fallback(kind: FailureKind, nowMs: number): Place<G> | null {
    if (this.#fallbacks >= this.#policy.maxFallbacks) return null;
    const groups = this.#unseen(kind);
    const serves = ({ deployments }: G): boolean => deployments[0]?.health.isAvailable(nowMs) === true;
    const open = groups.find(({ deployments }) => isOpen(deployments[0], nowMs)) ?? groups.find(serves);
    const group = open ?? groups[0] ?? this.#skipped;
    if (group === null || this.#hasSeen(group)) return null;
    return { group, at: 0, pauseMs: 0 };
  }

  #unseen(kind: FailureKind): readonly G[] {
    return this.#policy.fallbacks(kind).filter((group) => !this.#hasSeen(group));
  }

  #hasSeen({ name }: G): boolean {
    return name === this.#group.name || this.#left.some((group) => group.name === name);
  }
}

/** The entry can take a call at once. Legs are ranked, so the first entry of one speaks for all. */
function isOpen(entry: Routable | undefined, nowMs: number): boolean {
  return entry !== undefined && entry.health.isAvailable(nowMs) && hasRoom(entry);
}
