// Model groups: deployments by the name that clients request. Exact names, and patterns with `*`, most specific first.
// Pure.
import type { Deployment, WildcardGroup } from '../snapshot.ts';

/** Each star is a backtracking group; with three, a name of 1,000 characters still matches in microseconds. */
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
export function exactGroups(deployments: readonly Deployment[]): ReadonlyMap<string, readonly Deployment[]> {
  return grouped(deployments.filter((deployment) => !deployment.group.includes('*')));
}

/** Patterns with more literal characters come first; equal ones keep the order of the configuration. */
export function wildcardGroups(deployments: readonly Deployment[]): readonly WildcardGroup[] {
  const groups = grouped(deployments.filter((deployment) => deployment.group.includes('*')));
  return [...groups]
    .map(([pattern, members]) => ({ pattern, regex: patternOf(pattern), deployments: members }))
    .toSorted((a, b) => letters(b.pattern) - letters(a.pattern) || starsIn(a.pattern) - starsIn(b.pattern));
}

function letters(pattern: string): number {
  return pattern.length - starsIn(pattern);
}

function grouped(deployments: readonly Deployment[]): Map<string, readonly Deployment[]> {
  const groups = new Map<string, Deployment[]>();
  for (const deployment of deployments) {
    const group = groups.get(deployment.group);
    if (group === undefined) groups.set(deployment.group, [deployment]);
    else group.push(deployment);
  }
  return groups;
}
