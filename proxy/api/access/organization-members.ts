// Members of organizations: `POST /organization/member_add`, `PATCH /organization/member_update`, `DELETE
// /organization/member_delete`. For administrators alone: a role in an organization opens nothing.
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { Organization, OrganizationMember, User } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { storeNew } from './beginnings.ts';
import { described, id, isSet, objectOf, oneOf, oneOrMore, readFields, type Fields } from './fields.ts';
import { existingOrganization } from './organizations.ts';
import { invalid, missingField, notFound, Refusal } from './refusals.ts';
import { organizationMemberRow, type Row } from './rows.ts';
import { audited, authorOf, put, store, touched, type Author, type Call } from './management-call.ts';
import { exclusively, namedIn, userFor, userOf, type Newcomer } from './teams-join.ts';
import { userRows } from './users-read.ts';

const ROLE = oneOf(['org_admin', 'internal_user', 'internal_user_viewer']);
const NAME_FIELDS = { user_id: id, user_email: id };
const MEMBER_FIELDS = { ...NAME_FIELDS, role: ROLE };
/** Taken and not held to, it would be a limit that limits nothing. */
const NO_AMOUNT = described<null>({ enum: [null, ''] }, (value) => {
  if (value === '') return null;
  throw invalid(
    'What one member spends in an organization is not limited here. Leave max_budget_in_organization out, and state max_budget at the user, or max_budget_in_team at its place in a team.',
    'max_budget_in_organization',
  );
});
const BUDGET = { max_budget_in_organization: NO_AMOUNT };

export const ORGANIZATION_ADD_FIELDS = {
  organization_id: id,
  member: oneOrMore(objectOf(MEMBER_FIELDS)),
  ...BUDGET,
};
export const ORGANIZATION_UPDATE_FIELDS = { organization_id: id, ...MEMBER_FIELDS, ...BUDGET };
export const ORGANIZATION_REMOVE_FIELDS = { organization_id: id, ...NAME_FIELDS };

/** One that is to be a member. */
interface Joining extends Newcomer {
  readonly role: OrganizationMember['role'];
}

/** `POST /organization/member_add`: one member or a list of them. Users that do not exist are made. */
export async function addOrganizationMembers(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ORGANIZATION_ADD_FIELDS, ['organization_id', 'member']);
  const wanted = joiningOf(fields.member ?? []);
  const author = authorOf(call);
  const { organization, users, added } = await exclusively(call, wanted, () =>
    storeNew(call, (directory) => {
      demand(call.caller, directory, 'other.write', null);
      const before = existingOrganization(directory, fields.organization_id ?? '');
      const made: User[] = [];
      const named = wanted.map((one) => ({ role: one.role, user: userFor(directory, one, made, author) }));
      const coming = named.filter(({ user }) => before.members.every(({ userId }) => userId !== user.id));
      if (new Set(coming.map(({ user }) => user.id)).size < coming.length)
        throw invalid('The list names one user twice. Nobody was added. Name each user once.', 'member');
      if (coming.length === 0)
        throw new Refusal('object_exists', `User already in organization ${before.id}.`, { param: 'member' });
      const joined = coming.map(({ user, role }) => memberOf(user, role, author));
      const after = withMembers(before, [...before.members, ...joined], author);
      const users = coming.map(({ user }) => user);
      return {
        changes: audited(call, directory, [after, ...made].map(put)),
        result: { organization: after, users, added: joined },
      };
    }),
  );
  return {
    organization_id: organization.id,
    updated_users: await userRows(call, users),
    updated_organization_memberships: added.map((member) => organizationMemberRow(organization, member)),
  };
}

/** `PATCH /organization/member_update`: another role. */
export async function updateOrganizationMember(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ORGANIZATION_UPDATE_FIELDS, ['organization_id']);
  return changed(call, fields, (member) => ({
    ...member,
    role: fields.role ?? member.role,
    updatedMs: call.x.startMs,
  }));
}

/** `DELETE /organization/member_delete`. The user, its keys and its places in teams stay. */
export async function removeOrganizationMember(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ORGANIZATION_REMOVE_FIELDS, ['organization_id']);
  return changed(call, fields, () => null);
}

/** Changes one member, or removes it (null). @return the member as it is then, or was */
async function changed(
  call: Call,
  fields: Fields<typeof ORGANIZATION_REMOVE_FIELDS>,
  change: (member: OrganizationMember) => OrganizationMember | null,
): Promise<Row> {
  const author = authorOf(call);
  const { organization, member } = await store(call, (directory) => {
    demand(call.caller, directory, 'other.write', null);
    const before = existingOrganization(directory, fields.organization_id ?? '');
    const was = memberNamed(directory, before, fields);
    const is = change(was);
    const members = before.members.flatMap((one) => (one === was ? (is ?? []) : one));
    const after = withMembers(before, members, author);
    const changes = audited(call, directory, [put(after)]);
    return { changes, result: { organization: after, member: is ?? was } };
  });
  return organizationMemberRow(organization, member);
}

export const withMembers = (
  organization: Organization,
  members: readonly OrganizationMember[],
  author: Author,
): Organization => ({ ...organization, members, ...touched(author) });

const memberOf = (
  { id: userId }: User,
  role: OrganizationMember['role'],
  { nowMs }: Author,
): OrganizationMember => ({ userId, role, createdMs: nowMs, updatedMs: nowMs });

function joiningOf(members: readonly Fields<typeof MEMBER_FIELDS>[]): readonly Joining[] {
  return namedIn(members).map((named, index) => {
    const role = members[index]?.role;
    if (!isSet(role)) throw missingField([...named.at, 'role']);
    return { ...named, role };
  });
}

function memberNamed(
  directory: AccessDirectory,
  { members }: Organization,
  { user_id, user_email }: Fields<typeof NAME_FIELDS>,
): OrganizationMember {
  const named = { userId: user_id ?? null, email: user_email ?? null, at: ['body', 'user_id'] };
  // An id needs no user: servers of 0.1 delete users and leave what they do not know of.
  const userId = named.userId ?? userOf(directory, named)?.id;
  const member = members.find((one) => one.userId === userId);
  if (member === undefined)
    throw notFound(`Member not found in organization for user_id=${user_id ?? user_email ?? 'None'}`, {
      param: 'user_id',
    });
  return member;
}
