// The words of a key, however it is written. Pure.

/** `maxBudget`, `maxRPMBudget` and `Max-Budget` as max budget, max rpm budget and max budget. */
export const wordsOf = (key: string): readonly string[] =>
  key
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
