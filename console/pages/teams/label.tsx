// What a team is called and what state it is in.
import type { JSX } from 'preact';
import type { TeamRow } from '../../api/access.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';

export const nameOf = ({
  team_alias: alias,
  team_id: id,
}: Pick<TeamRow, 'team_alias' | 'team_id'>): string => (alias === null || alias === '' ? id : alias);

export function TeamState({ blocked }: Pick<TeamRow, 'blocked'>): JSX.Element {
  const { states } = t().teams;
  return blocked ? <Badge tone="bad">{states.blocked}</Badge> : <Badge tone="good">{states.active}</Badge>;
}
