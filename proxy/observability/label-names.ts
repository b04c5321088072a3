// Which values of bounded labels have names in the metrics: the first ones that were counted, until they are gone for all processes of
// a proxy. One of this decides for all of them, so that a value is named in all of them or in none.

export const BOUNDED_LABELS = ['team', 'gateway'] as const;
export type BoundedLabel = (typeof BOUNDED_LABELS)[number];
export type NamedValues = Readonly<Record<BoundedLabel, readonly string[]>>;

/** What a process says before it shows its metrics. */
export interface LabelWishes {
  /** How many values of a label may have names. */
  readonly most: number;
  /** Counted by themselves, in the order in which they came. */
  readonly wanted: NamedValues;
  /** Named, and neither configured nor an object any more, as far as this process knows. */
  readonly gone: NamedValues;
  /** Ids of deployments that are configured no more, and whose counts go with this scrape. */
  readonly goneDeployments: readonly string[];
}

export class LabelNames {
  readonly #named = { team: new Set<string>(), gateway: new Set<string>() };

  /** @returns the values that have lost their names */
  decide(all: readonly Pick<LabelWishes, 'most' | 'wanted' | 'gone'>[]): NamedValues {
    const lost: Record<BoundedLabel, string[]> = { team: [], gateway: [] };
    for (const label of BOUNDED_LABELS) {
      const named = this.#named[label];
      // One that does not know it yet, or any more, counts no calls of it.
      const [first, ...others] = all.map(({ gone }) => new Set(gone[label]));
      for (const value of first ?? [])
        if (others.every((gone) => gone.has(value)) && named.delete(value)) lost[label].push(value);
      for (const { most, wanted } of all)
        for (const value of wanted[label]) if (named.size < most) named.add(value);
    }
    return lost;
  }

  get named(): NamedValues {
    return { team: [...this.#named.team], gateway: [...this.#named.gateway] };
  }
}
