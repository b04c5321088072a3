// Routes by what clients ask for: exact names, and patterns with `*`, most specific first. Pure.
import type { Route, WildcardGroup } from '../snapshot.ts';

/** Each star is one backtracking group; with three, a name of 1,000 characters still matches in microseconds. */
export const MOST_STARS = 3;

export function starsIn(text: string): number {
  return text.split('*').length - 1;
}

/** Anchored at both ends, one group per star. */
export function patternOf(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('(.*)')}$`, 's');
}

/** Exact names in the order of the configuration. */
export function exactGroups(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  return grouped(routes.filter((route) => !route.group.includes('*')));
}

/** The more letters a pattern states, the earlier it is tried; among equals the order of the configuration holds. */
export function wildcardGroups(routes: readonly Route[]): readonly WildcardGroup[] {
  const groups = grouped(routes.filter((route) => route.group.includes('*')));
  return [...groups]
    .map(([pattern, members]) => ({ pattern, regex: patternOf(pattern), routes: members }))
    .toSorted((a, b) => letters(b.pattern) - letters(a.pattern) || starsIn(a.pattern) - starsIn(b.pattern));
}

function letters(pattern: string): number {
  return pattern.length - starsIn(pattern);
}

function grouped(routes: readonly Route[]): Map<string, readonly Route[]> {
  const groups = new Map<string, Route[]>();
  for (const route of routes) {
    const group = groups.get(route.group);
    if (group === undefined) groups.set(route.group, [route]);
    else group.push(route);
  }
  return groups;
}
