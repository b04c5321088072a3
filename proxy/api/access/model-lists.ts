// Lists of models in the bodies of keys, teams, users and the like: names by the thousand, but few patterns, as each call is held
// against all of them.
import { described, texts } from './fields.ts';
import { invalid } from './refusals.ts';

const MOST_PATTERNS = 500;
/** `*` in one pattern. */
const MOST_STARS = 10;

/** A list of names and patterns. */
export const modelNames: typeof texts = described<readonly string[]>(texts.schema, (value, at, mistakes) => {
  const names = texts(value, at, mistakes);
  const why = names === null ? null : whyNot(names);
  if (why !== null) mistakes.values.push(invalid(`${at.slice(1).join('.')} ${why}`, String(at[1] ?? '')));
  return names;
});

/** The same of a list that names are added to. @throws Refusal invalid_object */
export function demandFewPatterns(names: readonly string[], owner: string): void {
  const why = whyNot(names);
  if (why !== null) throw invalid(`models of ${owner}, with these added, ${why}`, 'models');
}

function whyNot(names: readonly string[]): string | null {
  const patterns = names.filter((name) => name.includes('*'));
  if (patterns.length > MOST_PATTERNS)
    return `has ${patterns.length} patterns; at most ${MOST_PATTERNS} of its entries may hold a *.`;
  const wide = patterns.find((name) => name.split('*').length > MOST_STARS + 1);
  return wide === undefined ? null : `holds a pattern of more than ${MOST_STARS} *: ${wide.slice(0, 100)}.`;
}
