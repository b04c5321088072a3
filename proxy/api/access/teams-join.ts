// Who joins a team: known users by id or e-mail address, and users that are made on the way.
import { randomUUID } from 'node:crypto';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { blankUser } from '../../access/objects/blank.ts';
import { NO_BUDGET, NO_LIMITS, type Team, type TeamMember, type User } from '../../access/objects/objects.ts';
import { Refusal, wrongFields } from './refusals.ts';
import { newObject, type Author, type Call } from './management-call.ts';

/** By what a call names a user. */
export interface Naming {
  readonly userId: string | null;
  readonly email: string | null;
  /** Where the body names them. */
  readonly at: readonly (string | number)[];
}

/** Somebody who is to be a member. */
export interface Joining extends Naming {
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
export function userFor(directory: AccessDirectory, one: Naming, users: User[], author: Author): User {
  const known = userOf(directory, one, users);
  if (known !== null) return known;
  const user = newUser(one.userId ?? randomUUID(), one.email, author);
  users.push(user);
  return user;
}

const folded = (email: string): string => email.trim().toLowerCase();

/** The user that a call names, among those that it makes too; null = there is none yet. */
export function userOf(
  directory: AccessDirectory,
  { userId, email, at }: Naming,
  also: readonly User[] = [],
): User | null {
  if (userId === null && email === null)
    throw wrongFields([{ type: 'missing', loc: at, msg: 'Either user_id or user_email must be provided' }]);
  const byEmail =
    email === null
      ? null
      : (directory.userByEmail(email) ??
        also.find((user) => user.email !== null && folded(user.email) === folded(email)) ??
        null);
  if (userId === null) return byEmail;
  const byId = directory.user(userId) ?? also.find(({ id }) => id === userId) ?? null;
  if (byId === null && byEmail !== null)
    throw new Refusal('object_exists', `User with email ${email} already exists, and has another user_id.`, {
      param: 'user_email',
    });
  return byId;
}

/** Runs what adds members while no other call makes a user with one of their addresses: each of them would find it free. */
export function exclusively<T>(
  { exclusive }: Call,
  joining: readonly Naming[],
  act: () => Promise<T>,
): Promise<T> {
  const emails = joining.flatMap(({ email }) => (email === null ? [] : [`email/${folded(email)}`]));
  // In one order, so that no two calls wait for each other.
  return [...new Set(emails)]
    .toSorted()
    .reduceRight<() => Promise<T>>((inner, name) => () => exclusive.run(name, inner), act)();
}
