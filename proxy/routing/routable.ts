// What the choice among the entries of a group looks at. The strategies beside this file order such entries, best
// first; they hold no state, and whatever is random or tells the time is handed in.
import type { DeploymentHealth } from './deployment-health.ts';

/** One entry of a group. */
export interface Routable {
  /** `seedOf` the entry's id: its place in the draw for a session. */
  readonly seed: number;
  /** Share inside the group; 0 = only when nobody else can. */
  readonly weight: number;
  /** Rank inside the group, lowest first. */
  readonly order: number;
  /** Most calls under way from this process; infinite = no bound. */
  readonly limit: number;
  readonly health: DeploymentHealth;
}

/** Whether a further call is within the limit. */
export function hasRoom({ limit, health }: Routable): boolean {
  return health.inFlight + health.reserved < limit;
}

/** Orders entries of one rank, best first. `random` is uniform in [0, 1); times are monotonic milliseconds. */
export type Strategy = <T extends Routable>(
  entries: readonly T[],
  random: () => number,
  nowMs: number,
) => readonly T[];

/** The entries by ascending score; equal ones keep their order. */
export function byScore<T>(entries: readonly T[], score: (entry: T) => number): readonly T[] {
  return entries
    .map((entry) => ({ entry, score: score(entry) }))
    .sort((a, b) => (a.score < b.score ? -1 : a.score > b.score ? 1 : 0)) // two infinities are equal; their difference is NaN
    .map(({ entry }) => entry);
}

/**
 * The score of one ticket in a weighted draw: the lowest of them wins, with a chance of its weight over the sum of all
 * (exponential variates; Efraimidis and Spirakis 2006). A weight of 0 never wins against another.
 * @param uniform in [0, 1)
 */
export function ticket(uniform: number, weight: number): number {
  return weight > 0 ? -Math.log(1 - uniform) / weight : Infinity;
}
