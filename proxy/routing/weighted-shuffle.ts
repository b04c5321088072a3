// `simple-shuffle`: by chance, each entry first as often as its weight says. Pure but for the dice.
import { byScore, ticket, type Strategy } from './routable.ts';

export const weightedShuffle: Strategy = (entries, random) =>
  byScore(entries, ({ weight }) => ticket(random(), weight));
