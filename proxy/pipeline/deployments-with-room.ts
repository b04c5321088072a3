// Where a call may go as far as budgets are concerned: the deployments that may serve it, less those whose own budgets turn out to have no
// room. A budget that refuses ends the call only where it holds for each of them that is left.
import type { Cap } from '../access/budgets/caps.ts';

/** A deployment, with the caps that the record of the call would count for there. */
interface Capped {
  readonly caps: readonly Cap[];
}

/** What is known before its budgets are asked. */
interface Known<D> {
  /** Whether it is not known that a budget of this deployment has no room. */
  readonly hasRoom: (deployment: D) => boolean;
  /** Whether it can be told all of the call: one that cannot is no way out for one without room. */
  readonly isAble: (deployment: D) => boolean;
}

/** What the call asks its budgets for next. */
interface Choice<D> {
  /** Of all deployments that it may go to, each once. */
  readonly caps: readonly Cap[];
  /** Where it may not go. */
  readonly without: readonly D[];
}

export class DeploymentsWithRoom<D extends Capped> {
  readonly #all: readonly D[];
  readonly #known: Known<D>;
  /** Counters that refused; null = none has. */
  #full: Set<string> | null = null;
  /** What the last choice was made of; null = none has room, so that all are asked and one says why. */
  #left: readonly D[] | null = null;

  constructor(all: readonly D[], known: Known<D>) {
    this.#all = all;
    this.#known = known;
  }

  choose(): Choice<D> {
    const { isAble } = this.#known;
    const roomy = this.#all.filter((one) => this.#hasRoom(one));
    const isEach = roomy.length === this.#all.length;
    const open = isEach ? roomy : roomy.filter(isAble);
    this.#left = open.length === 0 ? null : open;
    const without = isEach || this.#left === null ? [] : this.#all.filter((one) => !open.includes(one));
    return { caps: capsOf(this.#left ?? this.#all), without };
  }

  /** A budget of the last choice has no room. @returns whether the call may go to one that it does not hold for: choose again */
  avoid({ counter }: Cap): boolean {
    (this.#full ??= new Set()).add(counter);
    return this.#left?.some(({ caps }) => caps.every((cap) => cap.counter !== counter)) === true;
  }

  #hasRoom(deployment: D): boolean {
    return this.#known.hasRoom(deployment) && !this.#isFull(deployment);
  }

  #isFull({ caps }: D): boolean {
    const full = this.#full;
    return full !== null && caps.some(({ counter }) => full.has(counter));
  }
}

function capsOf(deployments: readonly Capped[]): readonly Cap[] {
  const [first] = deployments;
  if (deployments.length === 1 && first !== undefined) return first.caps;
  let caps: Map<string, Cap> | null = null;
  for (const one of deployments)
    for (const cap of one.caps) (caps ??= new Map<string, Cap>()).set(cap.counter, cap);
  return caps === null ? NONE : [...caps.values()];
}

const NONE: readonly Cap[] = Object.freeze([]);
