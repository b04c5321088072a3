// What teams are called: keys name them by their ids.
import type { TeamRow } from '../../api/access.ts';
import { useResource } from '../../api/resource.ts';

const MOST = 100;

/** By id; null = not read yet, or so many that nobody chooses from a list of them. */
export function useTeamNames(): ReadonlyMap<string, string> | null {
  const { value } = useResource<{ readonly teams: readonly TeamRow[]; readonly total: number }>(
    `v2/team/list?page_size=${MOST}`,
  ).state;
  if (value.is !== 'ready' || value.data.total > MOST) return null;
  return new Map(value.data.teams.map(({ team_id: id, team_alias: alias }) => [id, alias ?? id]));
}
