// `POST /user/new`: a user, a key for it unless `auto_create_key` is false, and its membership in teams; all of it or nothing, but
// for teams that are not there: platforms name a default team for every user, and LiteLLM makes the user without it.
import { randomUUID } from 'node:crypto';
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type Team,
  type TeamMember,
  type User,
  type VirtualKey,
} from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { storeNew } from './beginnings.ts';
import {
  bool,
  described,
  id,
  isSet,
  listOf,
  money,
  objectOf,
  oneOf,
  readFields,
  text,
  type Fields,
} from './fields.ts';
import { warningsOf } from './cap-names.ts';
import { emptyKey, KEY_FIELDS, keyFrom } from './keys-fields.ts';
import { aliasName, checkChosen, generatedRow, refuseTakenAlias, refuseTakenValue } from './keys-generate.ts';
import { digestOf, displayName, newKeyValue } from './keys-value.ts';
import { invalid, missingField, Refusal } from './refusals.ts';
import { userRow, type Row } from './rows.ts';
import { authorOf, put, rowContextOf, touched, type Author, type Call } from './management-call.ts';
import { TAGGED_METADATA_FIELDS } from './tagged-metadata.ts';
import { newUser } from './teams-join.ts';
import { budgetFrom, withSpend } from './terms.ts';
import { emailName, USER_FIELDS, userFrom, type UserFields } from './users-fields.ts';

const TEAM_FIELDS = { team_id: id, max_budget_in_team: money, user_role: oneOf(['user', 'admin']) };
type TeamEntry = Fields<typeof TEAM_FIELDS>;
const teamObject = objectOf(TEAM_FIELDS);

/** An id, or an object with what the user may spend in the team. */
const teamEntry = described<TeamEntry>(
  { anyOf: [{ type: 'string' }, teamObject.schema] },
  (value, at, mistakes) =>
    typeof value === 'string' ? { team_id: id(value, at, mistakes) } : teamObject(value, at, mistakes),
);

export const NEW_FIELDS = {
  ...KEY_FIELDS,
  ...USER_FIELDS,
  ...TAGGED_METADATA_FIELDS, // the key has them, too
  key: text,
  teams: listOf(teamEntry),
  auto_create_key: bool,
  send_invite_email: bool,
};
type NewFields = Fields<typeof NEW_FIELDS>;

/** Members of the body that the key has, too. */
const OF_THE_KEY = [
  'key_alias',
  'duration',
  'models',
  'aliases',
  'team_id',
  'allowed_routes',
  'key_type',
  'metadata',
  'config',
  'permissions',
] as const;

interface Made {
  readonly user: User;
  readonly key: VirtualKey | null;
  readonly teams: readonly string[];
  /** Of the body, those that are not there. */
  readonly absentTeams: readonly string[];
}

export async function createUser(call: Call): Promise<Row> {
  const body = await readObject(call.x);
  const fields = readFields({ ...call.x.active.snapshot.keyGeneration.users, ...body }, NEW_FIELDS);
  const value = fields.auto_create_key === false ? null : (fields.key ?? newKeyValue());
  if (value !== null && isSet(fields.key)) checkChosen(call, value);
  const userId = fields.user_id ?? randomUUID();
  const made = await call.exclusive.run(emailName(fields), () =>
    call.exclusive.run(aliasName(fields), () =>
      storeNew(call, (directory) => {
        const result = madeOf(call, fields, userId, value, directory);
        const objects = [result.user, ...(result.key === null ? [] : [result.key]), ...result.joined];
        for (const after of objects) {
          const before = directory.get(after);
          call.concerns({ kind: after.kind, id: after.id, before, after });
        }
        demand(call.caller, directory, 'user.create', result.user);
        return { changes: objects.map(put), result };
      }),
    ),
  );
  return newUserRow(call, made, value, fields);
}

function madeOf(
  call: Call,
  fields: NewFields,
  userId: string,
  value: string | null,
  directory: AccessDirectory,
): Made & { readonly joined: readonly AccessObject[] } {
  const author = authorOf(call);
  const user = userOf(fields, userId, directory, author);
  const { joined, absent } = teamsOf(fields, user, directory, author);
  const key = value === null ? null : keyOf(fields, user, value, directory, author);
  return { user, key, teams: joined.map(({ id: teamId }) => teamId), absentTeams: absent, joined };
}

function userOf(fields: UserFields, userId: string, directory: AccessDirectory, author: Author): User {
  const user = userFrom(fields, newUser(userId, null, author), directory, author);
  if (directory.user(userId) !== null)
    throw new Refusal('object_taken', `User with id ${userId} already exists`, { param: 'user_id' });
  // Rows of an earlier user of this id are not its own.
  const isChosen = isSet(fields.user_id);
  return isChosen ? { ...user, budget: withSpend(user.budget, fields.spend ?? 0, author.nowMs) } : user;
}

/** The teams that the user joins, with it in them, and those that are not there. */
function teamsOf(
  fields: NewFields,
  user: User,
  directory: AccessDirectory,
  author: Author,
): { readonly joined: readonly Team[]; readonly absent: readonly string[] } {
  const teams = new Map<string, Team>();
  const absent = new Set<string>();
  const entries = [...(fields.teams ?? []), ...(!isSet(fields.team_id) ? [] : [{ team_id: fields.team_id }])];
  for (const entry of entries) {
    const { team_id: teamId } = entry;
    if (!isSet(teamId)) throw missingField(['body', 'teams', 'team_id']);
    const team = directory.team(teamId);
    if (team === null) {
      absent.add(teamId);
      continue;
    }
    if (teams.has(teamId) || team.members.some(({ userId }) => userId === user.id)) continue;
    const members = [...team.members, memberOf(entry, user, author.nowMs)];
    teams.set(teamId, { ...team, members, ...touched(author) });
  }
  // Its key would be of that one.
  if (isSet(fields.team_id) && absent.has(fields.team_id))
    throw invalid(`Team not found, passed team id: ${fields.team_id}.`, 'team_id');
  return { joined: [...teams.values()], absent: [...absent] };
}

function memberOf(
  { max_budget_in_team: maxBudget, user_role: role }: TeamEntry,
  user: User,
  nowMs: number,
): TeamMember {
  return {
    userId: user.id,
    role: role ?? 'user',
    budgetId: null,
    budget: !isSet(maxBudget) ? NO_BUDGET : budgetFrom({ max_budget: maxBudget }, NO_BUDGET, nowMs),
    limits: NO_LIMITS,
  };
}

/** The user's budget and limits count for all its keys, so the key itself has none. */
function keyOf(
  fields: NewFields,
  user: User,
  value: string,
  directory: AccessDirectory,
  author: Author,
): VirtualKey {
  const own = Object.fromEntries(
    OF_THE_KEY.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  );
  const empty = emptyKey(digestOf(value), displayName(value), author);
  const key = keyFrom({ ...own, user_id: user.id }, empty, directory, author);
  refuseTakenAlias(key, directory);
  refuseTakenValue(key, directory, 'key');
  return !isSet(fields.key) ? key : { ...key, budget: withSpend(key.budget, 0, author.nowMs) };
}

function newUserRow(
  call: Call,
  { user, key, teams, absentTeams }: Made,
  value: string | null,
  fields: NewFields,
): Row {
  const row = userRow(user, fields.spend ?? 0, teams, rowContextOf(call));
  const told = absentTeams.map((teamId) => `teams: ${teamId} is no team here; the user is not in it`);
  const warnings = warningsOf(told);
  // `""` as LiteLLM: its clients read a text, Terraform's provider (ncecere) breaks off at null.
  if (key === null || value === null)
    return { ...row, key: '', key_name: null, token: null, expires: null, ...warnings };
  return { ...generatedRow(call, key, value, { duration: fields.duration ?? null }), ...row, ...warnings };
}
