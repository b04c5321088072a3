// `team_member_permissions` of a team: which calls about keys of the team its members may make. They narrow what members may do with
// their own keys of it, and open no keys of others. A team that lists none leaves its members all; LiteLLM leaves them `/key/info`
// and `/key/health`. `GET /team/permissions_list`, `POST /team/permissions_update`.
import { demand, isAdmin } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { Team } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { id, readFields, texts } from './fields.ts';
import { neededParameter } from './query.ts';
import { denied, notFound } from './refusals.ts';
import type { Row } from './rows.ts';
import { directoryOf, type Call } from './management-call.ts';
import { emptyTeam } from './teams-fields.ts';
import { changeTeam } from './teams-change.ts';

/** As LiteLLM names them: reading is not narrowed. */
const PERMISSIONS = [
  '/key/generate',
  '/key/update',
  '/key/delete',
  '/key/regenerate',
  '/key/{key_id}/regenerate',
  '/key/{key_id}/reset_spend',
  '/key/block',
  '/key/unblock',
  '/key/info',
  '/key/health',
  '/key/list',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

const MEMBER = 'team_member_permissions';

/** What a team lists; empty = it narrows nothing. */
function permissionsOf({ kept }: Team): readonly unknown[] {
  const stated = kept[MEMBER];
  return Array.isArray(stated) ? stated : [];
}

/**
 * Whether a caller who is a member of a key's team, and no admin of it, may make this call about the key.
 * @param anyOf its names; one of them is enough. @throws Refusal
 */
export function checkPermission(
  { caller }: Call,
  teamId: string | null,
  anyOf: readonly Permission[],
  directory: AccessDirectory,
): void {
  if (teamId === null || caller.role !== 'key' || isAdmin(caller)) return;
  const team = directory.team(teamId);
  const member = team?.members.find(({ userId }) => userId === caller.key.userId);
  if (team === null || member?.role !== 'user') return; // who is no member is refused elsewhere
  const listed = permissionsOf(team);
  if (listed.length === 0 || anyOf.some((name) => listed.includes(name))) return;
  const [route] = anyOf;
  throw denied(
    `Team member does not have permissions for endpoint: ${route}. You only have access to the following endpoints: ` +
      `${listed.slice(0, PERMISSIONS.length).join(', ')} for team ${teamId}.`,
    { type: 'team_member_permission_error', ...(route === undefined ? {} : { param: route }) },
  );
}

/** `GET /team/permissions_list?team_id=`. */
export function listPermissions(call: Call): Row {
  const teamId = neededParameter(call.query, 'team_id');
  const directory = directoryOf(call);
  const team = directory.team(teamId);
  demand(call.caller, directory, 'team.read', team ?? emptyTeam(teamId, { nowMs: 0, by: null }));
  if (team === null) throw notFound(`Team not found for team_id=${teamId}`, { param: 'team_id' });
  return { team_id: teamId, [MEMBER]: permissionsOf(team), all_available_permissions: PERMISSIONS };
}

export const PERMISSIONS_FIELDS = { team_id: id, team_member_permissions: texts };

/** `POST /team/permissions_update`: what it sends takes the place of what there was. */
export async function updatePermissions(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), PERMISSIONS_FIELDS, ['team_id', MEMBER]);
  return changeTeam(call, fields.team_id ?? '', ({ kept }) => ({
    kept: { ...kept, [MEMBER]: fields.team_member_permissions },
  }));
}
