// Who joins a team: known users by id or e-mail address, and users that are made on the way.
import { randomUUID } from 'node:crypto';
import { foldedEmail, type AccessDirectory } from '../../access/objects/directory.ts';
import { blankUser } from '../../access/objects/blank.ts';
import { NO_BUDGET, NO_LIMITS, type Team, type TeamMember, type User } from '../../access/objects/objects.ts';
import { missingField, Refusal } from './refusals.ts';
import { newObject, type Author, type Call } from './management-call.ts';

/** By what a call names a user. */
export interface Naming {
  readonly userId: string | null;
  readonly email: string | null;
  /** Where the body names them. */
  readonly at: readonly (string | number)[];
}

/** Who is made where nobody has that name yet. */
export interface Newcomer extends Naming {
  /** For a user without one, the same at each attempt to store the call. */
  readonly madeId: string;
}

/** The same as a body has it. */
interface SentNaming {
  readonly user_id?: string | null | undefined;
  readonly user_email?: string | null | undefined;
}

/** How the body names each one that is to be a member; the member `member` is one of them or a list. @throws Refusal for none */
export function namedIn(members: readonly SentNaming[]): readonly Newcomer[] {
  if (members.length === 0) throw missingField(['body', 'member']);
  return members.map(({ user_id, user_email }, index) => ({
    userId: user_id ?? null,
    email: user_email ?? null,
    at: members.length === 1 ? ['body', 'member'] : ['body', 'member', index],
    madeId: randomUUID(),
  }));
}

/** Somebody who is to be a member. */
export interface Joining extends Newcomer {
  readonly role: TeamMember['role'];
}

interface Joined {
  /** All members of the team after it. */
  readonly members: readonly TeamMember[];
  /** Those that came. */
  readonly added: readonly TeamMember[];
  /** Users that did not exist. */
  readonly users: readonly User[];
  /** The first one that names a user again, with another role than before; null = there is none. */
  readonly contradicting: Joining | null;
}

/** A user that is known by an id, an e-mail address, or both. */
export const newUser = (id: string, email: string | null, author: Author): User => ({
  ...blankUser(id, author.nowMs),
  ...newObject(author),
  email,
});

/**
 * A team's members with others added to them; those who are in already, or named twice, are passed over.
 * @throws Refusal where one is named by nothing, or by the address of somebody else
 */
export function joined(
  directory: AccessDirectory,
  team: Team,
  joining: readonly Joining[],
  author: Author,
): Joined {
  const users: User[] = [];
  const added: TeamMember[] = [];
  const roles = new Map<string, Joining['role']>();
  let contradicting: Joining | null = null;
  const isIn = (userId: string): boolean =>
    [...team.members, ...added].some((member) => member.userId === userId);
  for (const one of joining) {
    const user = userFor(directory, one, users, author);
    if ((roles.get(user.id) ?? one.role) !== one.role) contradicting ??= one;
    roles.set(user.id, one.role);
    if (!isIn(user.id))
      added.push({ userId: user.id, role: one.role, budgetId: null, budget: NO_BUDGET, limits: NO_LIMITS });
  }
  return { members: [...team.members, ...added], added, users, contradicting };
}

/** The user that a call names; one that there is not yet is made, and put to those that the call makes. */
export function userFor(directory: AccessDirectory, one: Newcomer, users: User[], author: Author): User {
  const known = userOf(directory, one, users);
  if (known !== null) return known;
  const user = newUser(one.userId ?? one.madeId, one.email, author);
  users.push(user);
  return user;
}

/** The user that a call names, among those that it makes too; null = there is none yet. */
export function userOf(
  directory: AccessDirectory,
  { userId, email, at }: Naming,
  also: readonly User[] = [],
): User | null {
  if (userId === null && email === null)
    throw missingField(at, 'Either user_id or user_email must be provided');
  const byEmail =
    email === null
      ? null
      : (directory.userByEmail(email) ??
        also.find((user) => user.email !== null && foldedEmail(user.email) === foldedEmail(email)) ??
        null);
  if (userId === null) return byEmail;
  const byId = directory.user(userId) ?? also.find(({ id }) => id === userId) ?? null;
  if (byId === null && byEmail !== null)
    throw new Refusal('object_exists', `User with email ${email} already exists, and has another user_id.`, {
      param: 'user_email',
    });
  return byId;
}

/** What calls that want the same address wait for each other by. */
export const emailLock = (email: string): string => `email/${foldedEmail(email)}`;

/** Runs what adds members while no other call makes a user with one of their addresses: each of them would find it free. */
export function exclusively<T>(
  { exclusive }: Call,
  joining: readonly Naming[],
  act: () => Promise<T>,
): Promise<T> {
  const emails = joining.flatMap(({ email }) => (email === null ? [] : [emailLock(email)]));
  // In one order, so that no two calls wait for each other.
  return [...new Set(emails)]
    .toSorted()
    .reduceRight<() => Promise<T>>((inner, name) => () => exclusive.run(name, inner), act)();
}
