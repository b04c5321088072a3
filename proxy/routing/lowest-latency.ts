// `latency-based-routing`: by the time to the first byte, times the calls that would then be under way - so the fastest
// one is not flooded. A deployment without a recent measurement is tried by one call at a time. Pure, except that
// randomness is passed in.
import { byScore, type Routable, type Strategy } from './routable.ts';
import { weightedShuffle } from './weighted-shuffle.ts';

/** Behind all that is known, ms. */
const UNMEASURED_AND_BUSY_MS = 1e9;

export const lowestLatency: Strategy = (deployments, random, nowMs) =>
  byScore(weightedShuffle(deployments, random, nowMs), (deployment) => cost(deployment, nowMs));

function cost({ weight, health }: Routable, nowMs: number): number {
  if (weight <= 0) return Infinity;
  const firstByteMs = health.latency.at(nowMs);
  if (firstByteMs === 0) return health.inFlight === 0 ? 0 : UNMEASURED_AND_BUSY_MS + health.inFlight;
  return firstByteMs * (health.inFlight + 1);
}
