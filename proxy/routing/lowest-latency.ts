// `latency-based-routing`: by the time to the first byte, times the calls that would then be under way - so the fastest
// one is not flooded. An entry that was not measured of late is tried, by one call at a time. Pure but for the dice.
import { byScore, type Candidate, type Strategy } from './candidate.ts';
import { weightedShuffle } from './weighted-shuffle.ts';

/** Behind all that is known, ms. */
const UNMEASURED_AND_BUSY_MS = 1e9;

export const lowestLatency: Strategy = (entries, random, nowMs) =>
  byScore(weightedShuffle(entries, random, nowMs), (entry) => cost(entry, nowMs));

function cost({ weight, state }: Candidate, nowMs: number): number {
  if (weight <= 0) return Infinity;
  const firstByteMs = state.latency.at(nowMs);
  if (firstByteMs === 0) return state.inFlight === 0 ? 0 : UNMEASURED_AND_BUSY_MS + state.inFlight;
  return firstByteMs * (state.inFlight + 1);
}
