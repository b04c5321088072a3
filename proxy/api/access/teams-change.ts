// Changing teams: `POST /team/new`, `/team/update`, `/team/delete`, `/team/block`, `/team/unblock`, `/team/model/add` and
// `/team/model/delete`.
import { randomUUID } from 'node:crypto';
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { ObjectChange, Team } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { storeNew } from './beginnings.ts';
import { capWarnings } from './cap-names.ts';
import { id, readFields, texts, type Fields } from './fields.ts';
import { demandFewPatterns, modelNames } from './model-lists.ts';
import { removeLateKeysOfTeams } from './owners.ts';
import { invalid, notFound, Refusal } from './refusals.ts';
import type { Row } from './rows.ts';
import { audited, authorOf, directoryOf, put, remove, store, touched, type Call } from './management-call.ts';
import { emptyTeam, memberBudgetFrom, TEAM_FIELDS, teamFrom, type TeamFields } from './teams-fields.ts';
import { exclusively, joined, type Joining } from './teams-join.ts';
import { teamRows } from './teams-read.ts';

/** `POST /team/new`. Who makes it by a key of a user is its first admin. */
export async function newTeam(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), TEAM_FIELDS);
  const teamId = fields.team_id ?? randomUUID();
  const budgetId = `team-budget-${randomUUID()}`;
  const author = authorOf(call);
  const first = firstMembers(fields, call);
  const make = (): Promise<Team> =>
    storeNew(call, (directory) => {
      const draft = teamFrom(fields, emptyTeam(teamId, author), directory, author);
      call.concerns({ kind: 'team', id: teamId, before: null, after: draft });
      demand(call.caller, directory, 'team.create', draft);
      if (directory.team(teamId) !== null)
        throw new Refusal(
          'object_exists',
          `Team id = ${teamId} already exists. Please use a different team id.`,
          { param: 'team_id' },
        );
      const shared = memberBudgetFrom(fields, null, budgetId, author);
      const { members, users } = joined(directory, draft, first, author);
      const made: Team = { ...draft, members, memberBudgetId: shared?.id ?? draft.memberBudgetId };
      const changes = [put(made), ...users.map(put), ...(shared === null ? [] : [put(shared)])];
      return { changes: audited(call, directory, changes), result: made };
    });
  const team = await exclusively(call, first, make);
  return {
    ...(await rowOf(call, team)),
    ...capWarnings(call, fields, { aliases: [team.modelAliases], teamId: team.id }),
  };
}

function firstMembers(fields: TeamFields, { caller }: Call): readonly Joining[] {
  const creator = caller.role === 'key' ? caller.key.userId : null;
  return [
    ...(fields.members_with_roles ?? []).map((member, at) => ({
      userId: member.user_id ?? null,
      email: member.user_email ?? null,
      role: member.role ?? 'user',
      at: ['body', 'members_with_roles', at] as const,
    })),
    ...(fields.admins ?? []).map((userId) => ({ userId, role: 'admin' as const })),
    ...(fields.members ?? []).map((userId) => ({ userId, role: 'user' as const })),
    ...(creator === null ? [] : [{ userId: creator, role: 'admin' as const }]),
  ].map((one) => ({ email: null, at: ['body', 'members'], madeId: randomUUID(), ...one }));
}

/** `POST /team/update`: what is absent stays, null clears, `models: []` allows all. Members have calls of their own. */
export async function updateTeam(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), TEAM_FIELDS, ['team_id']);
  const teamId = fields.team_id ?? '';
  const budgetId = `team-budget-${randomUUID()}`;
  const author = authorOf(call);
  const { team } = await changedTeam(call, teamId, (before, directory) => {
    const draft = teamFrom(fields, before, directory, author);
    const current = draft.memberBudgetId === null ? null : directory.budget(draft.memberBudgetId);
    const shared = memberBudgetFrom(fields, current, budgetId, author);
    const after: Team = { ...draft, memberBudgetId: shared?.id ?? draft.memberBudgetId };
    demand(call.caller, directory, 'team.update', { is: before, becomes: after });
    // Its terms are no part of the team, but of what its members may spend.
    if (shared !== null) demand(call.caller, directory, 'other.write', null);
    return { after, more: shared === null ? [] : [put(shared)], result: null };
  });
  const warnings = capWarnings(call, fields, { aliases: [team.modelAliases], teamId: team.id });
  return { team_id: teamId, data: await rowOf(call, team), ...warnings };
}

/** `POST /team/block`, `/team/unblock`: of all its keys. */
export const blockTeam =
  (blocked: boolean) =>
  async (call: Call): Promise<Row> => {
    const { team_id: teamId } = readFields(await readObject(call.x), { team_id: id }, ['team_id']);
    return changeTeam(call, teamId ?? '', () => ({ blocked }));
  };

export const MODELS_FIELDS = { team_id: id, models: modelNames };

/** `POST /team/model/add`. A team that may call all stays so. */
export async function addTeamModels(call: Call): Promise<Row> {
  return changeModels(call, ({ id: teamId, models }, named) => {
    if (models.length === 0) return models;
    const all = [...new Set([...models, ...named])];
    // Each list that is added is short.
    demandFewPatterns(all, `the team ${teamId}`);
    return all;
  });
}

/** `POST /team/model/delete`. An empty list would allow all, so the last one stays. */
export async function removeTeamModels(call: Call): Promise<Row> {
  return changeModels(call, ({ id: teamId, models }, named) => {
    const left = models.filter((model) => !named.includes(model));
    if (left.length > 0) return left;
    const why =
      models.length === 0
        ? 'may call all models, so single ones cannot be taken away: state those it may call (POST /team/update with models)'
        : 'would be left without models, which means all of them: block it (POST /team/block), or state others';
    throw invalid(`The team ${teamId} ${why}.`, 'models');
  });
}

async function changeModels(
  call: Call,
  change: (team: Team, named: readonly string[]) => readonly string[],
): Promise<Row> {
  const fields: Fields<typeof MODELS_FIELDS> = readFields(await readObject(call.x), MODELS_FIELDS, [
    'team_id',
    'models',
  ]);
  return changeTeam(call, fields.team_id ?? '', (before, directory) => {
    // First: who may not change the team is not told what it may call.
    demand(call.caller, directory, 'team.update', { is: before, becomes: before });
    return { models: change(before, fields.models ?? []) };
  });
}

/** `POST /team/delete`: the teams with their keys, all or none. Users stay. */
export async function deleteTeams(call: Call): Promise<Row> {
  const { team_ids: named } = readFields(await readObject(call.x), { team_ids: texts }, ['team_ids']);
  const ids = [...new Set(named ?? [])];
  if (ids.length === 0) throw invalid('team_ids is empty: name the teams to delete.', 'team_ids');
  await store(call, (directory) => {
    const teams = ids.map((teamId) => existing(call, directory, teamId, { raw: true }));
    for (const team of teams) {
      call.concerns({ kind: 'team', id: team.id, before: team, after: null });
      demand(call.caller, directory, 'team.delete', team);
    }
    const keys = teams.flatMap((team) => directory.keysOfTeam(team.id));
    return { changes: audited(call, directory, [...teams, ...keys].map(remove)), result: null };
  });
  await removeLateKeysOfTeams(call, ids);
  return { deleted_teams: ids };
}

/** @throws Refusal object_not_found */
function existing(
  call: Call,
  directory: AccessDirectory,
  teamId: string,
  { raw = false }: { readonly raw?: boolean } = {},
): Team {
  const team = directory.team(teamId);
  if (team !== null) return team;
  call.concerns({ kind: 'team', id: teamId, before: null, after: null });
  // Only those who may change all teams are told that there is none.
  demand(call.caller, directory, 'team.delete', emptyTeam(teamId, { nowMs: 0, by: null }));
  throw notFound(`Team not found, passed team_id=${teamId}`, { param: 'team_id', raw });
}

interface ChangedTeam<T> {
  readonly after: Team;
  /** Other objects that go with it. */
  readonly more?: readonly ObjectChange[];
  /** What becomes of the change, beside the team. */
  readonly result: T;
}

/** Stores one team that is there. */
export function changedTeam<T>(
  call: Call,
  teamId: string,
  change: (before: Team, directory: AccessDirectory) => ChangedTeam<T>,
  options: { readonly raw?: boolean } = {},
): Promise<{ readonly team: Team; readonly result: T }> {
  const stored = (): Promise<{ readonly team: Team; readonly result: T }> =>
    storeNew(call, (directory) => {
      const before = existing(call, directory, teamId, options);
      call.concerns({ kind: 'team', id: teamId, before, after: null });
      const { after, more = [], result } = change(before, directory);
      const changes = audited(call, directory, [put(after), ...more]);
      return { changes, result: { team: after, result } };
    });
  // One after the other: of 100 members that join at once, each would meet the conflicts of all others.
  return call.exclusive.run(`team/${teamId}`, stored);
}

/** Stores a team with some members changed, and answers with its row. @param change throws when it may not be */
export async function changeTeam(
  call: Call,
  teamId: string,
  change: (before: Team, directory: AccessDirectory) => Partial<Team>,
): Promise<Row> {
  const { team } = await changedTeam(call, teamId, (before, directory) => {
    const after = { ...before, ...change(before, directory), ...touched(authorOf(call)) };
    demand(call.caller, directory, 'team.update', { is: before, becomes: after });
    return { after, result: null };
  });
  return rowOf(call, team);
}

/** The row of a team that was just stored. */
export async function rowOf(call: Call, team: Team): Promise<Row> {
  const [row] = await teamRows(call, [directoryOf(call).team(team.id) ?? team]);
  return row ?? {};
}
