// What a model can write at most, by the facts that an entry or the catalogue states. Pure.

/** null = not known */
export function outputLimitOf(facts: Readonly<Record<string, unknown>>): number | null {
  const limit = facts['max_output_tokens'] ?? facts['max_tokens'];
  return typeof limit === 'number' && limit > 0 ? limit : null;
}
