// Changing users: `POST /user/update`, `/user/delete`.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { demand, isAdmin } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { ObjectChange, User } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { storeNew } from './beginnings.ts';
import { readFields, texts, isSet } from './fields.ts';
import { invalid, missingField, notFound, type Refusal } from './refusals.ts';
import { withMembers } from './organization-members.ts';
import type { Row } from './rows.ts';
import {
  audited,
  authorOf,
  put,
  remove,
  store,
  storeRest,
  synced,
  touched,
  type Call,
} from './management-call.ts';
import { newUser } from './teams-join.ts';
import { changed } from './terms.ts';
import { emailName, USER_FIELDS, userFrom, type UserFields } from './users-fields.ts';
import { userRows } from './users-read.ts';

export const UPDATE_FIELDS = { ...USER_FIELDS, teams: texts };

/** Clients send back what they have read; other teams are joined and left by calls of their own. @throws Refusal */
function checkTeams(teams: readonly string[], userId: string, directory: AccessDirectory): void {
  const now = directory.teamsOf(userId).map(({ id }) => id);
  if (isDeepStrictEqual(new Set(teams), new Set(now))) return;
  throw invalid(
    'teams would do nothing: members join by POST /team/member_add and leave by POST /team/member_delete. Leave it out.',
    'teams',
  );
}

/** `POST /user/update`, by id or e-mail address. An administrator's makes users that do not exist, as in LiteLLM. */
export async function updateUser(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), UPDATE_FIELDS);
  if (!isSet(fields.user_id) && !isSet(fields.user_email))
    throw missingField(['body', 'user_id'], 'Either user_id or user_email must be provided');
  const madeId = randomUUID();
  const user = await call.exclusive.run(emailName(fields), () =>
    storeNew(call, (directory) => {
      const before = namedUser(fields, directory);
      const author = authorOf(call);
      const base = before ?? newUser(fields.user_id ?? madeId, null, author);
      call.concerns({ kind: 'user', id: base.id, before, after: null });
      // Whoever may not change all users is not told which ones there are, nor which addresses are taken.
      const named = { ...base, email: changed(fields.user_email, base.email) };
      demand(call.caller, directory, 'user.update', { is: base, becomes: named });
      if (isSet(fields.teams)) checkTeams(fields.teams, base.id, directory);
      const after = userFrom(fields, base, directory, author);
      call.concerns({ kind: 'user', id: base.id, before, after });
      if (before === null) demand(call.caller, directory, 'user.create', after);
      else demand(call.caller, directory, 'user.update', { is: before, becomes: after });
      return { changes: [put(after)], result: after };
    }),
  );
  const [data] = await userRows(call, [user]);
  return { user_id: user.id, data };
}

function namedUser({ user_id: id, user_email: email }: UserFields, directory: AccessDirectory): User | null {
  if (isSet(id)) return directory.user(id);
  return !isSet(email) ? null : directory.userByEmail(email);
}

const unknownUser = (id: string): Refusal =>
  notFound(`User not found, passed user_id=${id}`, { param: 'user_id', raw: true });

export const DELETE_FIELDS = { user_ids: texts };

/** `POST /user/delete`: the users, their keys and memberships; nothing at all when one of them is not there. */
export async function deleteUsers(call: Call): Promise<number> {
  const { user_ids: ids } = readFields(await readObject(call.x), DELETE_FIELDS, ['user_ids']);
  const names = [...new Set(ids)];
  await store(call, (directory) => {
    const users = names.map((id) => {
      const user = directory.user(id);
      if (user === null) {
        call.concerns({ kind: 'user', id, before: null, after: null });
        if (!isAdmin(call.caller))
          demand(call.caller, directory, 'user.delete', newUser(id, null, authorOf(call)));
        throw unknownUser(id);
      }
      call.concerns({ kind: 'user', id, before: user, after: null });
      demand(call.caller, directory, 'user.delete', user);
      return user;
    });
    return { changes: [...users.map(remove), ...leftBy(call, names, directory)], result: null };
  });
  await synced(call); // another process may have given them keys and memberships meanwhile
  await storeRest(call, (directory) => {
    const gone = names.filter((id) => directory.user(id) === null);
    return { changes: leftBy(call, gone, directory), result: null };
  });
  return names.length;
}

/** What goes with users: their keys, and their places in teams and organizations. */
function leftBy(call: Call, ids: readonly string[], directory: AccessDirectory): readonly ObjectChange[] {
  const author = authorOf(call);
  const gone = new Set(ids);
  const others = <T extends { readonly userId: string }>(members: readonly T[]): readonly T[] =>
    members.filter(({ userId }) => !gone.has(userId));
  const keys = ids.flatMap((id) => directory.keysOfUser(id));
  const teams = new Set(ids.flatMap((id) => directory.teamsOf(id)));
  const left = [...teams].map((team) => ({ ...team, members: others(team.members), ...touched(author) }));
  const organizations = new Set(ids.flatMap((id) => directory.organizationsOf(id)));
  const smaller = [...organizations].map((one) => withMembers(one, others(one.members), author));
  return audited(call, directory, [...keys.map(remove), ...left.map(put), ...smaller.map(put)]);
}
