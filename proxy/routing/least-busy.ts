// `least-busy`: the fewest calls under way first, in relation to the weight; equals by chance, in proportion to their
// weights. Counts this process's calls only. Pure but for the dice.
import { byScore, type Strategy } from './routable.ts';
import { weightedShuffle } from './weighted-shuffle.ts';

export const leastBusy: Strategy = (entries, random, nowMs) =>
  byScore(weightedShuffle(entries, random, nowMs), ({ weight, health }) =>
    weight > 0 ? health.inFlight / weight : Infinity,
  );
