// Members of teams: `POST /team/member_add`, `/team/member_update`, `/team/member_delete`.
import { demand, whyNot } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { NO_LIMITS, type Team, type TeamMember, type VirtualKey } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { count, duration, id, isSet, money, oneOf, readFields, type Fields } from './fields.ts';
import { removeLateKeys } from './owners.ts';
import { invalid, notFound, Refusal } from './refusals.ts';
import { userRow, type Row } from './rows.ts';
import { memberId, spentUsd } from './spent.ts';
import {
  authorOf,
  directoryOf,
  put,
  remove,
  rowContextOf,
  touched,
  type Author,
  type Call,
} from './management-call.ts';
import { members as membersReader, type MemberFields } from './teams-fields.ts';
import { changedTeam, rowOf } from './teams-change.ts';
import { exclusively, joined, namedIn, userOf, type Joining } from './teams-join.ts';
import { membershipRow, sharedBudgetOf } from './teams-rows.ts';
import { budgetFrom, isUnstated, limitsFrom } from './terms.ts';
import { UNENFORCED_OF_MEMBERS } from './unenforced.ts';

/** What one member may spend in the team, and how fast. */
const TERM_FIELDS = {
  max_budget_in_team: money,
  budget_duration: duration,
  rpm_limit: count,
  tpm_limit: count,
  ...UNENFORCED_OF_MEMBERS,
};
export const ADD_FIELDS = { team_id: id, member: membersReader, ...TERM_FIELDS };
export const UPDATE_FIELDS = {
  team_id: id,
  user_id: id,
  user_email: id,
  role: oneOf(['admin', 'user']),
  ...TERM_FIELDS,
};
export const DELETE_FIELDS = { team_id: id, user_id: id, user_email: id };
/** Errors of these routes are `{"detail": {"error": ...}}`. */
const RAW = { raw: true } as const;

/** `POST /team/member_add`: one member or a list of them. Users that do not exist are made. */
export async function addMembers(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ADD_FIELDS, ['team_id', 'member']);
  const wanted = joiningOf(fields.member ?? []);
  const author = authorOf(call);
  const { team, result: added } = await exclusively(call, wanted, () =>
    changedTeam(
      call,
      fields.team_id ?? '',
      (before, directory) => {
        demand(call.caller, directory, 'team.members', before);
        const joining = joined(directory, before, wanted, author);
        if (joining.contradicting !== null) throw twoRoles(joining.contradicting);
        if (joining.added.length === 0) throw alreadyIn(wanted);
        const newcomers = new Set(joining.added);
        const members = joining.members.map((member) =>
          newcomers.has(member) ? withTerms(member, before, fields, directory, author) : member,
        );
        const added = members.slice(before.members.length);
        const after = { ...before, members, ...touched(author) };
        return { after, more: joining.users.map(put), result: added };
      },
      RAW,
    ),
  );
  return {
    ...(await rowOf(call, team)),
    updated_users: await usersRows(call, team, added),
    updated_team_memberships: await membershipRows(call, team, added),
  };
}

function joiningOf(fields: readonly MemberFields[]): readonly Joining[] {
  return namedIn(fields).map((named, index) => ({ ...named, role: fields[index]?.role ?? 'user' }));
}

const nameOf = ({ userId, email }: Joining): string =>
  `user_id=${userId ?? 'None'}, user_email=${email ?? 'None'}`;

/** Which of the two is meant is not ours to guess: one of them changes the team. */
const twoRoles = (one: Joining): Refusal =>
  invalid(
    `The list names one user twice, with the roles admin and user: ${nameOf(one)}. Nobody was added. Name each user once.`,
    'member',
  );

/** Platforms look for "already in team" in the body, whatever stands around it. */
function alreadyIn(wanted: readonly Joining[]): Refusal {
  const named = wanted.map(nameOf);
  const [one = '', ...others] = named;
  return new Refusal(
    'object_exists',
    others.length === 0
      ? `User already in team. Member: ${one}`
      : `All users are already in team. Members: ${named.join('; ')}`,
    { param: 'user_id', type: 'team_member_already_in_team' },
  );
}

/** `POST /team/member_update`. A member with the team's shared budget gets a budget of its own, made of that one. */
export async function updateMember(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), UPDATE_FIELDS, ['team_id']);
  const author = authorOf(call);
  const { team, result: updated } = await changedTeam(
    call,
    fields.team_id ?? '',
    (before, directory) => {
      demand(call.caller, directory, 'team.members', before);
      const member = memberNamed(directory, before, fields);
      if (member === null) throw new Refusal('invalid_object', "User id doesn't exist in team table", RAW);
      const role = fields.role ?? member.role;
      const result = withTerms({ ...member, role }, before, fields, directory, author);
      const members = before.members.map((one) => (one === member ? result : one));
      return { after: { ...before, members, ...touched(author) }, result };
    },
    RAW,
  );
  return echoOf(call, team, updated);
}

function echoOf(call: Call, team: Team, member: TeamMember): Row {
  const directory = directoryOf(call);
  const shared = sharedBudgetOf(team, member, directory);
  const { budget, limits } = shared ?? member;
  return {
    team_id: team.id,
    user_id: member.userId,
    user_email: directory.user(member.userId)?.email ?? null,
    role: member.role,
    max_budget_in_team: budget.maxBudget,
    budget_duration: budget.budgetDuration,
    tpm_limit: limits.tpm,
    rpm_limit: limits.rpm,
  };
}

/** `POST /team/member_delete`: the member, and its keys of this team. The user stays. */
export async function removeMember(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), DELETE_FIELDS, ['team_id']);
  const author = authorOf(call);
  const { team, result: removed } = await changedTeam(
    call,
    fields.team_id ?? '',
    (before, directory) => {
      demand(call.caller, directory, 'team.members', before);
      const member = memberNamed(directory, before, fields);
      // LiteLLM: 400. Platforms take 404, and nothing else, for "gone already", so that they may ask twice.
      if (member === null)
        throw notFound(
          `User not found in team. Team=${before.id}, user_id=${fields.user_id ?? 'None'}, user_email=${fields.user_email ?? 'None'}`,
          RAW,
        );
      const members = before.members.filter((one) => one !== member);
      const more = keysIn(before, member.userId, directory).map(remove);
      return { after: { ...before, members, ...touched(author) }, more, result: member.userId };
    },
    RAW,
  );
  await removeLateKeys(call, (directory) => {
    const now = directory.team(team.id);
    const isIn = now === null || now.members.some(({ userId }) => userId === removed);
    return isIn ? [] : keysIn(now, removed, directory);
  });
  return rowOf(call, team);
}

const keysIn = ({ id: teamId }: Team, userId: string, directory: AccessDirectory): readonly VirtualKey[] =>
  directory.keysOfTeam(teamId).filter((key) => key.userId === userId);

function memberNamed(
  directory: AccessDirectory,
  team: Team,
  { user_id, user_email }: Fields<typeof DELETE_FIELDS>,
): TeamMember | null {
  const named = { userId: user_id ?? null, email: user_email ?? null, at: ['body', 'user_id'] };
  const byId = team.members.find(({ userId }) => userId === named.userId);
  if (byId !== undefined) return byId; // a member without a user object, of the file
  const user = userOf(directory, named);
  return team.members.find(({ userId }) => userId === user?.id) ?? null;
}

/** A member with terms of its own; those of the shared budget are where it starts. */
function withTerms(
  member: TeamMember,
  team: Team,
  fields: Fields<typeof TERM_FIELDS>,
  directory: AccessDirectory,
  { nowMs }: Author,
): TeamMember {
  const names = Object.keys(TERM_FIELDS) as (keyof typeof TERM_FIELDS)[];
  if (names.every((name) => fields[name] === undefined)) return member;
  const shared = sharedBudgetOf(team, member, directory);
  const isNew = shared === null && isUnstated(member.budget) && member.limits === NO_LIMITS;
  // null for a new member is what "no cap" is anyway.
  if (isNew && !names.some((name) => isSet(fields[name]))) return member;
  const { max_budget_in_team, budget_duration, rpm_limit, tpm_limit } = fields;
  const base = shared ?? member;
  const budget = { ...base.budget, countFrom: member.budget.countFrom };
  return {
    ...member,
    budgetId: null,
    budget: budgetFrom({ max_budget: max_budget_in_team, budget_duration }, budget, nowMs),
    limits: limitsFrom({ rpm_limit, tpm_limit }, base.limits, {}),
  };
}

/** An admin of a team may add anybody, and is told no more of them than they are told of a member. */
async function usersRows(
  call: Call,
  { id: team_id }: Team,
  members: readonly TeamMember[],
): Promise<readonly Row[]> {
  const directory = directoryOf(call);
  const context = rowContextOf(call);
  const users = members.flatMap(({ userId }) => directory.user(userId) ?? []);
  const spent = await spentUsd(
    call.x,
    users.map((user) => ({ kind: 'user', id: user.id })),
  );
  return users.map((user, at) => {
    if (whyNot(call.caller, directory, 'user.read', user) !== null)
      return { user_id: user.id, user_email: user.email, teams: [team_id] };
    const teams = directory.teamsOf(user.id).map((team) => team.id);
    return userRow(user, spent[at] ?? 0, teams, context);
  });
}

async function membershipRows(
  call: Call,
  team: Team,
  members: readonly TeamMember[],
): Promise<readonly Row[]> {
  const spent = await spentUsd(
    call.x,
    members.map(({ userId }) => ({ kind: 'member', id: memberId(team.id, userId) })),
  );
  return members.map((member, at) => membershipRow(team, member, spent[at] ?? 0, rowContextOf(call)));
}
