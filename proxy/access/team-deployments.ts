// Deployments of one team (`model_info.team_id`) and whose calls they take. One owner: the choice of a deployment, the listings and
// what a call may be refused for ask here.
import type { DisabledModel } from '../../config/runtime-models.ts';
import type { Attribution, Snapshot } from '../../config/snapshot.ts';
import type { AuthenticatedCaller } from './caller.ts';
import { managementRole } from './management-role.ts';

/** A caller whom deployments of other teams do not serve. */
export interface TeamBound {
  /** Their team; null = they have none. */
  readonly teamId: string | null;
}

/** As much of a deployment as the rule asks. */
export interface Attributed {
  readonly attribution: Pick<Attribution, 'teamId'>;
}

/** Whether there is anything to decide: also of what is not served, since it is shown. */
export const areSomeOfTeams = ({
  deployments,
  disabled,
}: Pick<Snapshot, 'disabled'> & { readonly deployments: readonly Attributed[] }): boolean =>
  deployments.some(({ attribution }) => attribution.teamId !== null) ||
  disabled.some((one) => teamOfDisabled(one) !== null);

/**
 * null = every deployment serves the caller: the master key and administrators, and keys that call for a platform with its many teams
 * (of conversations, and of `general_settings.inference_keys`), whose calls a deployment's team is recorded with.
 */
export function boundOf(caller: AuthenticatedCaller): TeamBound | null {
  if (caller.role !== 'key' || managementRole(caller) === 'admin') return null;
  return { teamId: caller.key.teamId };
}

/** Whether what is of this team serves the caller. @param teamId null = it is of no team */
const servesTeam = (bound: TeamBound | null, teamId: string | null): boolean =>
  bound === null || teamId === null || teamId === bound.teamId;

export const serves = (bound: TeamBound | null, { attribution }: Attributed): boolean =>
  servesTeam(bound, attribution.teamId);

/** Whether a model that is not served would serve the caller. */
export const wouldServe = (bound: TeamBound | null, one: Pick<DisabledModel, 'info'>): boolean =>
  servesTeam(bound, teamOfDisabled(one));

/** An id that is no text is nobody's, as the empty one is. */
function teamOfDisabled({ info: { team_id: teamId = null } }: Pick<DisabledModel, 'info'>): string | null {
  return teamId === null || typeof teamId === 'string' ? teamId : '';
}
