// `simple-shuffle`: at random, each deployment first in proportion to its weight. Pure, except that randomness is passed in.
import { byScore, ticket, type Strategy } from './routable.ts';

export const weightedShuffle: Strategy = (deployments, random) =>
  byScore(deployments, ({ weight }) => ticket(random(), weight));
