// `latency-based-routing`: by the time to the first byte, times the calls that would then be under way - so the fastest
// one is not flooded. What was not measured of late counts as fast: somebody has to measure it. Pure but for the dice.
import { byScore, type Strategy } from './candidate.ts';
import { weightedShuffle } from './weighted-shuffle.ts';

export const lowestLatency: Strategy = (entries, random, nowMs) =>
  byScore(weightedShuffle(entries, random, nowMs), ({ weight, state }) =>
    weight > 0 ? state.latency.at(nowMs) * (state.inFlight + 1) : Infinity,
  );
