// Expressions that several panels are made of.

/** `sum by (labels) (rate(...))`: a rate first, then the sum, because instances restart one by one. */
export const rateOf = (selector: string, by = ''): string =>
  `sum${by === '' ? '' : ` by (${by})`} (rate(${selector}[$__rate_interval]))`;

export const increaseOf = (selector: string, window: string, by = ''): string =>
  `sum${by === '' ? '' : ` by (${by})`} (increase(${selector}[${window}]))`;

/** A quantile of a histogram whose buckets have `le` and `by`. */
export const quantile = (q: number, metric: string, where: string, by = ''): string =>
  `histogram_quantile(${q}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${metric}_bucket{${where}}[$__rate_interval])))`;

/** The same for a share whose upper part may have no series yet. */
export const shareOf = (part: string, whole: string): string => `(${part} or 0 * ${whole}) / (${whole} > 0)`;

/** Names of teams in place of their ids. */
export const named = (byTeam: string, where: string): string =>
  `${byTeam} * on (team) group_left (alias) max by (team, alias) (throughline_team_info{${where}})`;
