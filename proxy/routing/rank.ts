// The order in which the entries of a group are asked: lower `order` first; among equals the session's own, else the
// strategy's. Those that are full come after those that have room, and
// those that rest last, so a group never refuses a call because all of it rests.
import type { Routing, StrategyName } from '../../config/snapshot.ts';
import { hasRoom, type Routable, type Strategy } from './routable.ts';
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
 * Best first; all entries are there.
 * @param session the caller's session, null when it has none of its own
 */
export function rank<T extends Routable>(
  entries: readonly T[],
  rules: Pick<Routing, 'strategy' | 'sessionAffinity'>,
  session: string | null,
  random: () => number,
  nowMs: number,
): readonly T[] {
  if (entries.length === 1) return entries;
  const arranged =
    session !== null && rules.sessionAffinity
      ? sessionAffinity(entries, session)
      : STRATEGIES[rules.strategy](entries, random, nowMs);
  const ranked = arranged.toSorted((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0));
  const place = (entry: T): number => (entry.health.isAvailable(nowMs) ? (hasRoom(entry) ? 0 : 1) : 2);
  return ranked.every((entry) => place(entry) === 0)
    ? ranked
    : ranked.toSorted((a, b) => place(a) - place(b)); // stable: equals stay in order
}
