// `least-busy`: the fewest calls under way first, in relation to the weight; equals by chance, in proportion to their
// weights. Counts this process's calls only. Pure, except that randomness is passed in.
import { byScore, type Strategy } from './routable.ts';
import { weightedShuffle } from './weighted-shuffle.ts';

export const leastBusy: Strategy = (deployments, random, nowMs) =>
  byScore(weightedShuffle(deployments, random, nowMs), ({ weight, health }) =>
    weight > 0 ? health.inFlight / weight : Infinity,
  );
