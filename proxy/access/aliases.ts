// What a name stands for by the aliases of a team and a key. One owner: calls are served by it, and caps and limits by model count by it.
import type { Team, VirtualKey } from './objects/objects.ts';

type Names = Readonly<Record<string, string>>;

/** The name that is served for a requested one: the team's alias first, then the key's, as the dialect does. */
export function aliasTarget(
  requested: string,
  team: Pick<Team, 'modelAliases'> | null,
  key: Pick<VirtualKey, 'aliases'> | null,
): string {
  const ofTeam = team === null ? requested : targetIn(team.modelAliases, requested);
  return key === null ? ofTeam : targetIn(key.aliases, ofTeam);
}

const targetIn = (names: Names, name: string): string =>
  Object.hasOwn(names, name) ? (names[name] ?? name) : name;
