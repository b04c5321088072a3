// The attempts of one request, planned: where it is sent, and where it goes when that fails. The only place that decides
// on retries and fallbacks; it sends nothing and waits for nothing.
import { hasCapacity, type Routable } from './routable.ts';
import { pauseMs } from './backoff.ts';

/** How an attempt failed, where another attempt may succeed. */
export type FailureKind =
  'timeout' | 'rate_limit' | 'server' | 'unreached' | 'context_window' | 'content_policy';

/** Why another attempt is to be made. */
export interface Failure {
  readonly kind: FailureKind;
  /** The upstream's `Retry-After`, ms. */
  readonly retryAfterMs: number | null;
}

/** The deployments of one model name, best first. */
export interface ModelGroup<T> {
  readonly name: string;
  readonly deployments: readonly T[];
}

interface SameFirst {
  readonly count: number;
  readonly longestMs: number;
}

/** The rules of one call: those of the configuration, as they hold for its caller. */
export interface FailoverPolicy<T, G extends ModelGroup<T> = ModelGroup<T>> {
  /** Whether the call can be sent to this deployment of the group. */
  takes(group: G, deployment: T): boolean;
  /** Retries by kind of failure; `again`: also on a deployment that failed before. */
  retries(kind: FailureKind): { readonly count: number; readonly again: boolean };
  /** Whether `fallbacks` may return any, for any kind of failure. */
  readonly hasFallbacks: boolean;
  /** The groups that take over after a failure of this kind, best first. */
  fallbacks(kind: FailureKind): readonly G[];
  readonly maxFallbacks: number;
  /** Takes one attempt from the retry budget; false when it is empty. */
  spend(): boolean;
  /** `retry_same_first`: how often a deployment is asked again before another one, and the longest `Retry-After` for it. */
  readonly sameFirst: SameFirst;
  /** Shortest pause before the same deployment is tried again, ms. */
  readonly minPauseMs: number;
  readonly random: () => number;
}

/** The next attempt. */
interface Step {
  readonly how: 'retry' | 'fallback';
  readonly pauseMs: number;
}

interface Place<G> {
  readonly group: G;
  readonly at: number;
  readonly pauseMs: number;
  /** The deployment that failed is asked again although others may be free. */
  readonly isSame?: boolean;
}

/** Where a broken stream may go on. */
interface Continuer<T, G> {
  readonly group: G;
  readonly deployment: T;
}

/** One kind for each number of retries that can be stated. */
const RETRIED: readonly FailureKind[] = ['server', 'timeout', 'rate_limit'];

/** Of one call. Stands at the deployment of the current attempt. Times are monotonic ms. */
export class FailoverPlan<T extends Routable, G extends ModelGroup<T> = ModelGroup<T>> {
  readonly #policy: FailoverPolicy<T, G>;
  readonly #tried: G[] = [];
  /** The requested group, when it was skipped because all of it cools down; the last resort. */
  readonly #skipped: G | null = null;
  #group: G;
  #at = 0;
  /** Attempts in a row that `retry_same_first` made on the current deployment. */
  #sames = 0;
  /** The current attempt is one of them: it goes nowhere else. */
  #isPinned = false;
  /** Attempts on deployments that had failed before. */
  #repeats = 0;
  #retries = 0;
  #fallbacks = 0;
  #denied = false;

  /**
   * Starts at the best deployment of `group` that takes the call, or where none does at the best, whose refusal says why; when the
   * whole group cools down, at the first fallback that does not.
   */
  constructor(group: G, policy: FailoverPolicy<T, G>, nowMs: number) {
    this.#policy = policy;
    this.#group = group.deployments.length > 1 ? (this.#taking(group) ?? group) : group;
    if (this.#group.deployments[0]?.health.isAvailable(nowMs) !== false || !policy.hasFallbacks) return;
    const serving = this.#firstTaking(
      policy.fallbacks('server'),
      ({ deployments }) => deployments[0]?.health.isAvailable(nowMs) === true,
    );
    if (serving === null) return;
    this.#skipped = this.#group;
    this.#group = serving;
    this.#fallbacks = 1;
  }

  get group(): G {
    return this.#group;
  }

  get deployment(): T {
    return this.#group.deployments[this.#at] as T;
  }

  /** The requested group, where the plan starts at a fallback because all of it cools down. */
  get skipped(): G | null {
    return this.#skipped;
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

  /** Whether some kind of failure would lead to another attempt. */
  get hasMore(): boolean {
    if (this.#policy.hasFallbacks && this.#fallbacks < this.#policy.maxFallbacks) return true;
    const hasOthers = this.#at + 1 < this.#group.deployments.length;
    return RETRIED.some((kind) => {
      const { count, again } = this.#policy.retries(kind);
      const hasSame = this.#sames < this.#policy.sameFirst.count && kind !== 'timeout';
      return this.#retries < count && (again || hasOthers || hasSame);
    });
  }

  /** No other deployment can get the call, whatever fails; its own may get it again. */
  get isAlone(): boolean {
    return this.#group.deployments.length === 1 && !this.#policy.hasFallbacks;
  }

  /** Whether another deployment could take the calls of this one: only then may it cool down. */
  othersServe(nowMs: number, than: T = this.deployment): boolean {
    const other = (deployment: T): boolean => deployment !== than && deployment.health.isAvailable(nowMs);
    return (
      this.#group.deployments.some(other) ||
      this.#policy.fallbacks('server').some(({ deployments }) => deployments.some(other))
    );
  }

  /** The deployments that the current attempt may go to, best first: unavailable ones only when all are. */
  candidates(nowMs: number): readonly T[] {
    const taking = this.#serving(nowMs).filter((deployment) => this.#takes(deployment));
    return taking.length > 0 ? taking : [this.deployment];
  }

  /** The first of `candidates` with capacity; those behind it are not asked whether they take the call. */
  openCandidate(nowMs: number): T | null {
    if (isOpen(this.deployment, nowMs)) return this.deployment; // mostly
    const serving = this.#serving(nowMs);
    const open = serving.find((one) => hasCapacity(one) && this.#takes(one));
    if (open !== undefined) return open;
    const isOnlyOne = !serving.some((one) => this.#takes(one)); // it is unavailable, as are all others
    return isOnlyOne && hasCapacity(this.deployment) ? this.deployment : null;
  }

  /** The current attempt goes to another one of `candidates`; the one it was planned for comes next. */
  moveTo(deployment: T): void {
    if (deployment === this.deployment) return;
    const others = this.#group.deployments.filter((one) => one !== deployment);
    this.#group = { ...this.#group, deployments: others.toSpliced(this.#at, 0, deployment) };
  }

  /** The best untried deployment of this group that can take the call at once; null: there is none. */
  hedgeCandidate(kind: FailureKind, nowMs: number): T | null {
    return this.#openAfter(kind, nowMs).find((deployment) => this.#takes(deployment)) ?? null;
  }

  /**
   * The `hedgeCandidate`, or another one of this group that goes on with a stream, gets a further attempt and becomes current.
   * @returns false when the budget refuses
   */
  branch(deployment: T): boolean {
    if (!this.#policy.spend()) return false;
    this.#retries += 1;
    this.#at += 1;
    this.#sames = 0;
    this.#isPinned = false;
    this.moveTo(deployment);
    return true;
  }

  /** Deployments that could ever go on with a stream of the current one. */
  continuers(overFallbacks: boolean): readonly T[] {
    const own = this.#group.deployments.filter((deployment) => deployment !== this.deployment);
    if (!this.#mayFallBack(overFallbacks)) return own;
    return [...own, ...this.#unseen('server').flatMap(({ deployments }) => deployments)];
  }

  /** Those of them that can do so now, best first. */
  openContinuers(kind: FailureKind, nowMs: number, overFallbacks: boolean): readonly Continuer<T, G>[] {
    const group = this.#group;
    const own = this.#openAfter(kind, nowMs)
      .filter((deployment) => this.#takes(deployment))
      .map((deployment) => ({ group, deployment }));
    if (!this.#mayFallBack(overFallbacks)) return own;
    const others = this.#unseen('server').flatMap((group) =>
      group.deployments
        .filter((deployment) => isOpen(deployment, nowMs) && this.#policy.takes(group, deployment))
        .map((deployment) => ({ group, deployment })),
    );
    return [...own, ...others];
  }

  /** One of `openContinuers` goes on with the stream and becomes current. @returns false when the budget refuses */
  continueAt({ group, deployment }: Continuer<T, G>): boolean {
    if (group === this.#group) return this.branch(deployment);
    if (!this.#policy.spend()) return false;
    this.#enter(group);
    this.moveTo(deployment);
    return true;
  }

  /** Of the last two deployments, makes `deployment` the current one; the other may be tried again unless it failed. */
  keepTo(deployment: T, otherFailed: boolean): void {
    this.moveTo(deployment);
    if (otherFailed) return;
    this.#at -= 1;
    this.moveTo(deployment);
  }

  /** All of this group is full: moves to the first fallback with capacity. @returns false when there is none */
  overflow(nowMs: number): boolean {
    if (!this.#policy.hasFallbacks || this.#fallbacks >= this.#policy.maxFallbacks) return false;
    const group = this.#firstTaking(this.#unseen('server'), ({ deployments }) =>
      isOpen(deployments[0], nowMs),
    );
    if (group !== null) this.#enter(group);
    return group !== null;
  }

  /** The groups that the call may go to when this one fails as servers do, in their order. */
  get others(): readonly G[] {
    const left = Math.max(0, this.#policy.maxFallbacks - this.#fallbacks);
    const groups = [...this.#unseen('server'), ...(this.#skipped === null ? [] : [this.#skipped])];
    return [...new Map(groups.map((group) => [group.name, group])).values()].slice(0, left);
  }

  /** Moves on after a failure. @returns null when there is no further attempt */
  next(failure: Failure, nowMs: number): Step | null {
    const place = this.#choose(failure, nowMs);
    if (place === null) return null;
    // An attempt that got no connection has put no load on any upstream.
    if (failure.kind !== 'unreached' && !this.#policy.spend()) {
      this.#denied = true;
      return null;
    }
    const { group, at, pauseMs, isSame = false } = place;
    this.#isPinned = isSame;
    this.#sames = isSame ? this.#sames + 1 : 0;
    const how = group === this.#group ? 'retry' : 'fallback';
    if (how === 'fallback') this.#enter(group);
    else {
      this.#retries += 1;
      if (!isSame && (at <= this.#at || this.#repeats > 0)) this.#repeats += 1;
      this.#at = at;
    }
    return { how, pauseMs };
  }

  #enter(group: G): void {
    this.#tried.push(this.#group);
    this.#fallbacks += 1;
    this.#group = group;
    this.#at = 0;
    this.#sames = 0;
    this.#isPinned = false;
  }

  #choose({ kind, retryAfterMs }: Failure, nowMs: number): Place<G> | null {
    if (kind === 'context_window' || kind === 'content_policy') return this.#fallback(kind, nowMs);
    const { count, again } = this.#policy.retries(kind);
    if (this.#retries >= count) return this.#fallback(kind, nowMs);
    const samePauseMs = this.#samePauseMs(kind, retryAfterMs, nowMs);
    if (samePauseMs !== null) return { group: this.#group, at: this.#at, pauseMs: samePauseMs, isSame: true };
    const { deployments } = this.#group;
    const turn = [...deployments.keys()].map((i) => (this.#at + 1 + i) % deployments.length); // the one that failed comes last
    const takes = (i: number): boolean => {
      const deployment = deployments[i];
      return deployment !== undefined && this.#takes(deployment);
    };
    const serves = (i: number): boolean => deployments[i]?.health.isAvailable(nowMs) === true && takes(i);
    const open = turn.find((i) => i > this.#at && isOpen(deployments[i], nowMs) && takes(i));
    const at = open ?? turn.find(serves) ?? this.#at;
    if (at > this.#at && this.#repeats === 0) return { group: this.#group, at, pauseMs: 0 };
    if (!again) return this.#fallback(kind, nowMs);
    const wish = at === this.#at ? retryAfterMs : null; // a `Retry-After` binds the upstream that sent it alone
    const pause = pauseMs(this.#repeats + 1, wish, this.#policy.minPauseMs, this.#policy.random);
    return pause === null ? this.#fallback(kind, nowMs) : { group: this.#group, at, pauseMs: pause };
  }

  /**
   * How long to wait before the same deployment is asked again first; null: it is not. A timeout has cost its time already,
   * nobody is there when nothing was reached, and a 429 that names no time says nothing about when to come back.
   */
  #samePauseMs(kind: FailureKind, retryAfterMs: number | null, nowMs: number): number | null {
    const { sameFirst, minPauseMs, random } = this.#policy;
    if (this.#sames >= sameFirst.count) return null;
    if ((retryAfterMs ?? 0) > sameFirst.longestMs) return null;
    const mayHelp =
      kind === 'rate_limit'
        ? retryAfterMs !== null // it cools down because of that very 429
        : kind === 'server' && this.deployment.health.isAvailable(nowMs);
    return mayHelp ? pauseMs(this.#sames + 1, retryAfterMs, minPauseMs, random) : null;
  }

  #mayFallBack(isAllowed: boolean): boolean {
    return isAllowed && this.#policy.hasFallbacks && this.#fallbacks < this.#policy.maxFallbacks;
  }

  #fallback(kind: FailureKind, nowMs: number): Place<G> | null {
    if (this.#fallbacks >= this.#policy.maxFallbacks) return null;
    const groups = this.#unseen(kind);
    const serves = ({ deployments }: G): boolean => deployments[0]?.health.isAvailable(nowMs) === true;
    const group =
      this.#firstTaking(groups, ({ deployments }) => isOpen(deployments[0], nowMs)) ??
      this.#firstTaking(groups, serves) ??
      this.#firstTaking(groups, () => true) ??
      (this.#skipped === null ? null : this.#taking(this.#skipped));
    if (group === null || this.#hasSeen(group)) return null;
    return { group, at: 0, pauseMs: 0 };
  }

  /** The present one has been asked, or is the one that says why nobody takes the call. */
  #takes(deployment: T): boolean {
    return deployment === this.deployment || this.#policy.takes(this.#group, deployment);
  }

  /** The group, with one that takes the call at its beginning; null: it has none. The others are asked when it is their turn. */
  #taking(group: G): G | null {
    const takes = (deployment: T): boolean => this.#policy.takes(group, deployment);
    const [first] = group.deployments;
    if (first === undefined || takes(first)) return group;
    const deployments = group.deployments.filter(takes);
    return deployments.length === 0 ? null : { ...group, deployments };
  }

  /** The first group that fits, as `#taking` has it. */
  #firstTaking(groups: readonly G[], fits: (group: G) => boolean): G | null {
    for (const group of groups) {
      const taking = this.#taking(group);
      if (taking !== null && fits(taking)) return taking;
    }
    return null;
  }

  /** What is left of the group that serves. */
  #serving(nowMs: number): readonly T[] {
    if (this.#isPinned) return [this.deployment];
    return this.#group.deployments.slice(this.#at).filter(({ health }) => health.isAvailable(nowMs));
  }

  /** Untried deployments of this group that have room, best first: for a hedge or a continuation. */
  #openAfter(kind: FailureKind, nowMs: number): readonly T[] {
    if (this.#retries >= this.#policy.retries(kind).count) return [];
    return this.#group.deployments.slice(this.#at + 1).filter((deployment) => isOpen(deployment, nowMs));
  }

  #unseen(kind: FailureKind): readonly G[] {
    return this.#policy.fallbacks(kind).filter((group) => !this.#hasSeen(group));
  }

  #hasSeen({ name }: G): boolean {
    return name === this.#group.name || this.#tried.some((group) => group.name === name);
  }
}

/** The deployment can take a call at once. Groups are ranked, so the first deployment stands for all. */
function isOpen(deployment: Routable | undefined, nowMs: number): boolean {
  return deployment !== undefined && deployment.health.isAvailable(nowMs) && hasCapacity(deployment);
}
