// The order in which the deployments of a group are tried: lower `order` first; among equals by session affinity, else by
// the strategy. Full deployments come after those with capacity, and unavailable ones last, so a group never refuses a
// call because all of it cools down.
import type { Routing, StrategyName } from '../../config/snapshot.ts';
import { compare, hasCapacity, type Routable, type Strategy } from './routable.ts';
import { leastBusy } from './least-busy.ts';
import { lowestLatency } from './lowest-latency.ts';
import { sessionAffinity } from './session-affinity.ts';
import { weightedShuffle } from './weighted-shuffle.ts';

const STRATEGIES: Readonly<Record<StrategyName, Strategy>> = {
  'simple-shuffle': weightedShuffle,
  'least-busy': leastBusy,
  'latency-based-routing': lowestLatency,
};

/**
 * Best first; no deployment is left out.
 * @param session the caller's session, null when it has none of its own
 */
export function rank<T extends Routable>(
  deployments: readonly T[],
  rules: Pick<Routing, 'strategy' | 'sessionAffinity'>,
  session: string | null,
  random: () => number,
  nowMs: number,
): readonly T[] {
  if (deployments.length === 1) return deployments;
  const arranged =
    session !== null && rules.sessionAffinity
      ? sessionAffinity(deployments, session)
      : STRATEGIES[rules.strategy](deployments, random, nowMs);
  const ranked = arranged.toSorted((a, b) => compare(a.order, b.order));
  const place = (deployment: T): number => {
    if (!deployment.health.isAvailable(nowMs)) return 2;
    return hasCapacity(deployment) ? 0 : 1;
  };
  return ranked.every((deployment) => place(deployment) === 0)
    ? ranked
    : ranked.toSorted((a, b) => place(a) - place(b)); // stable: equals stay in order
}
