// Which names of models something here serves. Lists state thousands of names where thousands are served, and other calls wait meanwhile:
// a name is looked up, and only patterns are held against all.
import { bare } from '../../access/budgets/caps.ts';
import { patternTest } from '../../access/wildcard.ts';

/** @param names of models and aliases. @param patterns of wildcards; each counts with its provider and without */
export function servedTest(names: Iterable<string>, patterns: Iterable<string>): (name: string) => boolean {
  const exact = bothForms(names);
  const served = bothForms(patterns);
  const tests = [...served].map((pattern) => patternTest(pattern));
  return (name) => {
    if (exact.has(name) || tests.some((fits) => fits(name))) return true;
    if (!name.includes('*')) return false;
    const fits = patternTest(name);
    return [...exact, ...served].some(fits);
  };
}

function bothForms(names: Iterable<string>): ReadonlySet<string> {
  const both = new Set<string>();
  for (const name of names) both.add(name).add(bare(name));
  return both;
}
