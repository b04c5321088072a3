// A reconciliation as it is kept and shown later: its verdict, its sums by kind of difference, and as much of its parts and calls
// as people read. Pure.
import { dollarText, picoOfDollarText } from '../record/dollars.ts';
import type { Compared } from './reconcile-text.ts';
import type { Difference, Part, Reconciliation } from './reconcile.ts';

interface KindSums {
  readonly calls: number;
  /** Exact dollars, as all amounts here. */
  readonly here_spend: string;
  readonly there_spend: string;
  /** There minus here. */
  readonly difference: string;
}

export interface KeptReconciliation extends Compared {
  /** Who compared: account and host. */
  readonly who: string;
  readonly agrees: boolean;
  readonly total: Part;
  readonly kinds: Readonly<Record<Difference['kind'], KindSums>>;
  readonly without_cost: Reconciliation['without_cost'];
  readonly joined_by: Reconciliation['joined_by'];
  /** The costliest; `differences_total` says how many there are. */
  readonly differences: readonly Difference[];
  readonly differences_total: number;
  /** Those with the greatest difference. */
  readonly by_model: readonly Part[];
  readonly by_day: readonly Part[];
}

const MOST_DIFFERENCES = 50;
const MOST_PARTS = 20;
/** Names come from callers, and nothing else bounds them. */
const MOST_TAGS = 10;
const LONGEST = 200;

export function keptReconciliation(
  result: Reconciliation,
  compared: Compared,
  who: string,
): KeptReconciliation {
  const { agrees, total, without_cost, joined_by, differences, by_model, by_day } = result;
  const sums = (kind: Difference['kind']): KindSums => sumsOf(differences.filter((one) => one.kind === kind));
  return {
    ...compared,
    here: cut(compared.here),
    there: cut(compared.there),
    who: cut(who),
    agrees,
    total,
    kinds: {
      cost: sums('cost'),
      tokens: sums('tokens'),
      only_here: sums('only_here'),
      only_there: sums('only_there'),
    },
    without_cost,
    joined_by,
    differences: differences.slice(0, MOST_DIFFERENCES).map(cutDifference),
    differences_total: differences.length,
    by_model: by_model.slice(0, MOST_PARTS).map((part) => ({ ...part, key: cut(part.key) })),
    // Days stand in their order; those that agree are not worth their place.
    by_day: by_day
      .filter(({ differing, only_here, only_there }) => differing + only_here + only_there > 0)
      .slice(0, MOST_PARTS),
  };
}

function sumsOf(some: readonly Difference[]): KindSums {
  const sum = (of: 'here_spend' | 'there_spend' | 'difference'): string =>
    dollarText(some.reduce((all, one) => all + picoOfDollarText(one[of] ?? '0'), 0n));
  return {
    calls: some.length,
    here_spend: sum('here_spend'),
    there_spend: sum('there_spend'),
    difference: sum('difference'),
  };
}

const cutDifference = (one: Difference): Difference => ({
  ...one,
  here_id: one.here_id === null ? null : cut(one.here_id),
  there_id: one.there_id === null ? null : cut(one.there_id),
  model: cut(one.model),
  session: cut(one.session),
  tags: one.tags.slice(0, MOST_TAGS).map(cut),
});

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text);
