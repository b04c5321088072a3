// What the choice among the deployments of a group looks at. The strategies beside this file order deployments, best
// first; they hold no state, and randomness and time are passed in.
import type { DeploymentHealth } from './deployment-health.ts';

/** One deployment of a group. */
export interface Routable {
  /** `seedOf` the deployment's id, for session affinity. */
  readonly seed: number;
  /** Share inside the group; 0 = only when no other deployment can. */
  readonly weight: number;
  /** Rank inside the group, lowest first. */
  readonly order: number;
  /** Most calls under way from this process; infinite = no bound. */
  readonly limit: number;
  readonly health: DeploymentHealth;
}

/** Whether a further call is within the limit. */
export function hasCapacity({ limit, health }: Routable): boolean {
  return health.inFlight + health.reserved < limit;
}

/** Orders deployments of one rank, best first. `random` is uniform in [0, 1); times are monotonic milliseconds. */
export type Strategy = <T extends Routable>(
  deployments: readonly T[],
  random: () => number,
  nowMs: number,
) => readonly T[];

/** Ascending order. Subtraction would not do: two infinities are equal, and their difference is NaN. */
export function compare(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Sorted by ascending score; equal ones keep their order. */
export function byScore<T>(deployments: readonly T[], score: (deployment: T) => number): readonly T[] {
  return deployments
    .map((deployment) => ({ deployment, score: score(deployment) }))
    .sort((a, b) => compare(a.score, b.score))
    .map(({ deployment }) => deployment);
}

/**
 * The score of one ticket in a weighted draw: the lowest of them wins, with a chance of its weight over the sum of all
 * (exponential variates; Efraimidis and Spirakis 2006). A weight of 0 never wins against another.
 * @param uniform in [0, 1)
 */
export function ticket(uniform: number, weight: number): number {
  return weight > 0 ? -Math.log(1 - uniform) / weight : Infinity;
}
