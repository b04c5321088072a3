// Who may see and change which object. One owner of these rules, pure: the routes of administration ask here, with the object
// as it is and as it is to become. What is not stated here is refused.
//
// Callers, from the widest to the narrowest:
// - admin: the master key, and keys whose user has the role proxy_admin. Everything.
// - viewer of all: keys whose user is proxy_admin_viewer. Reads everything.
// - user: keys of a user. Sees and makes keys of their own, sees themselves and their teams. internal_user_viewer: sees only.
// - team admin: keys of a user whom a team lists as `admin`. Changes that team, its members and its keys; does not raise what
//   the team may spend or call.
// - key without a user: sees itself and its team.
// The type of a key narrows all of it: `llm_api` sees itself alone, `read_only` changes nothing; what a key with terms of its own hands
// on, key-reach.ts says. Whoever learns the value of a key can do what its user can, so a key for somebody else makes LLM calls only.
//
// Actions: `<kind>.read`, `.create` (the wanted object; a new value of a key is one, too), `.update` (as it is, as it becomes;
// block and unblock of keys and teams, regenerate and reset of spend are updates), `.delete`; `team.members` for changes of its
// members alone; `other.read` and `other.write` for customers, budgets, organizations, access groups and tags, which are an admin's.
import { Fault } from '../errors/fault.ts';
import type { AccessDirectory } from './objects/directory.ts';
import type { Team, User, VirtualKey } from './objects/objects.ts';
import type { AuthenticatedCaller } from './caller.ts';
import { isWithin, whyNotRevoke, whyNotChangeUser, whyNotChangeTeam, whyNotMake } from './key-reach.ts';
import {
  CALLS_ONLY,
  FOR_ADMINS,
  LLM_ONLY,
  managementRole,
  READ_ONLY,
  whyNeverChanges,
  type Role,
} from './management-role.ts';
import { sessionTermsOf } from './session-terms.ts';

interface Update<T> {
  readonly is: T;
  readonly becomes: T;
}

/** What each action is about. */
interface Subjects {
  readonly 'key.read': VirtualKey;
  readonly 'key.create': VirtualKey;
  readonly 'key.update': Update<VirtualKey>;
  readonly 'key.delete': VirtualKey;
  readonly 'team.read': Team;
  readonly 'team.create': Team;
  readonly 'team.update': Update<Team>;
  readonly 'team.members': Team;
  readonly 'team.delete': Team;
  readonly 'user.read': User;
  readonly 'user.create': User;
  readonly 'user.update': Update<User>;
  readonly 'user.delete': User;
  readonly 'other.read': null;
  readonly 'other.write': null;
}

export type ManagementAction = keyof Subjects;

/** null: it may. Else a sentence that says why not and holds no secret. */
export function whyNot<A extends ManagementAction>(
  caller: AuthenticatedCaller,
  directory: AccessDirectory,
  action: A,
  subject: Subjects[A],
): string | null {
  const role = managementRole(caller);
  if (role === 'admin') return null;
  if (caller.role !== 'key') return CALLS_ONLY;
  if (caller.key.type === 'llm_api') return isItself(caller.key, action, subject) ? null : LLM_ONLY;
  const isRead = action.endsWith('.read');
  const never = isRead ? null : whyNeverChanges(caller.key, role);
  if (never !== null) return never;
  if (role === 'proxy_admin_viewer') return null;
  const rules: Rules = RULES;
  return rules[action](new Holder(caller.key, role, directory), subject);
}

/** @throws Fault management_denied, as `whyNot` */
export function demand<A extends ManagementAction>(
  caller: AuthenticatedCaller,
  directory: AccessDirectory,
  action: A,
  subject: Subjects[A],
): void {
  const why = whyNot(caller, directory, action, subject);
  if (why !== null) throw new Fault('management_denied', why);
}

/** Whether a caller is an administrator: the master key, or a key of a user with that role. */
export const isAdmin = (caller: AuthenticatedCaller): boolean => managementRole(caller) === 'admin';

/** Whether everything may be read: by administrators, and by viewers of all. */
export function seesAll(caller: AuthenticatedCaller): boolean {
  const role = managementRole(caller);
  return role === 'admin' || role === 'proxy_admin_viewer';
}

/** The keys that a caller may see: all of them, else their own and those of teams that they are an admin of. */
export function visibleKeys(caller: AuthenticatedCaller, directory: AccessDirectory): Iterable<VirtualKey> {
  if (seesAll(caller)) return directory.all('key');
  if (caller.role !== 'key') return [];
  const { id, userId, type } = caller.key;
  const own = directory.key(id);
  const keys = new Set(own === null ? [] : [own]);
  if (userId === null || type === 'llm_api') return keys;
  for (const key of directory.keysOfUser(userId)) keys.add(key);
  for (const team of directory.teamsOf(userId))
    if (isTeamAdmin(team, userId)) for (const key of directory.keysOfTeam(team.id)) keys.add(key);
  return keys;
}

/** The teams that a caller may see. */
export function visibleTeams(caller: AuthenticatedCaller, directory: AccessDirectory): Iterable<Team> {
  if (seesAll(caller)) return directory.all('team');
  if (caller.role !== 'key' || caller.key.type === 'llm_api') return [];
  const { teamId, userId } = caller.key;
  const own = teamId === null ? null : directory.team(teamId);
  return new Set([...(own === null ? [] : [own]), ...(userId === null ? [] : directory.teamsOf(userId))]);
}

/** Whether a caller's user is an admin of a team, whatever the key may change: an admin sees what the team has spent. */
export function isAdminOfTeam(caller: AuthenticatedCaller, team: Team): boolean {
  if (caller.role !== 'key' || caller.key.type === 'llm_api') return false;
  return caller.key.userId !== null && isTeamAdmin(team, caller.key.userId);
}

/** The teams of which that holds. */
export const teamsOfAdmin = (caller: AuthenticatedCaller, directory: AccessDirectory): Team[] =>
  [...visibleTeams(caller, directory)].filter((team) => isAdminOfTeam(caller, team));

/** The teams that a caller may change the members of. */
export const teamsAdministeredBy = (caller: AuthenticatedCaller, directory: AccessDirectory): Team[] =>
  [...visibleTeams(caller, directory)].filter(
    (team) => whyNot(caller, directory, 'team.members', team) === null,
  );

const isItself = (own: VirtualKey, action: ManagementAction, subject: Subjects[ManagementAction]): boolean =>
  action === 'key.read' && subject !== null && 'id' in subject && subject.id === own.id;

const isTeamAdmin = ({ members }: Team, userId: string): boolean =>
  members.some((member) => member.userId === userId && member.role === 'admin');

/** Whoever holds a key of no administrator. */
class Holder {
  readonly key: VirtualKey;
  readonly userId: string | null;
  /** Whether objects may be changed at all. */
  readonly changes: boolean;
  readonly #role: Role;
  readonly #directory: AccessDirectory;

  constructor(key: VirtualKey, role: Role, directory: AccessDirectory) {
    this.key = key;
    this.userId = key.userId;
    this.changes = role === 'internal_user';
    this.#role = role;
    this.#directory = directory;
  }

  is(userId: string | null): boolean {
    return userId !== null && userId === this.userId;
  }

  /** Whether the holder's user, as it is stored, may do more: groups may have given a session of the console a lesser role. */
  isLessThanUser(): boolean {
    const stored = this.userId === null ? null : this.#directory.user(this.userId);
    return stored !== null && stored.role.startsWith('proxy_admin') && stored.role !== this.#role;
  }

  adminOf(teamId: string | null): boolean {
    const team = teamId === null ? null : this.#directory.team(teamId);
    return team !== null && this.userId !== null && isTeamAdmin(team, this.userId);
  }

  memberOf(teamId: string): boolean {
    return this.userId !== null && this.isMember(this.userId, teamId);
  }

  isMember(userId: string, teamId: string): boolean {
    return this.#directory.team(teamId)?.members.some((member) => member.userId === userId) ?? false;
  }
}

type Rules = { readonly [A in ManagementAction]: (holder: Holder, subject: Subjects[A]) => string | null };

/** Whoever blocked it had a reason, and it may be its user. */
const UNBLOCKS = 'Only an admin of the proxy, or of its team, unblocks a key, or moves one that is blocked.';
const adminsOnly = (): string => FOR_ADMINS;

const RULES: Rules = {
  'key.read': (holder, key) =>
    key.id === holder.key.id || holder.is(key.userId) || holder.adminOf(key.teamId)
      ? null
      : 'You are not allowed to access this key: it is neither yours nor of a team that you are an admin of.',
  'key.create': (holder, key) => mayMakeKey(holder, key, 'make') ?? mayStandFor(holder, key),
  'key.update': (holder, { is, becomes }) =>
    mayOwn(holder, is) ??
    mayUnblock(holder, is, becomes) ??
    mayMakeKey(holder, becomes, 'change') ??
    (opensTheSame(is, becomes) ? null : mayStandFor(holder, becomes)),
  'key.delete': (holder, key) =>
    mayOwn(holder, key) ?? (key.id === holder.key.id ? null : whyNotRevoke(holder.key, key)),
  'team.read': (holder, team) =>
    team.id === holder.key.teamId || holder.memberOf(team.id)
      ? null
      : 'You are not allowed to access this team: you are not a member of it.',
  'team.create': adminsOnly,
  'team.update': mayUpdateTeam,
  'team.members': (holder, team) =>
    holder.changes && holder.adminOf(team.id)
      ? whyNotChangeTeam(holder.key, team)
      : 'Only an admin of the team, or of the proxy, changes its members.',
  'team.delete': adminsOnly,
  'user.read': (holder, { id }) =>
    holder.is(id) ? null : 'You are not allowed to access this user: it is not you.',
  'user.create': adminsOnly,
  'user.update': mayUpdateUser,
  'user.delete': adminsOnly,
  'other.read': adminsOnly,
  'other.write': adminsOnly,
};

/** Whether a key is the holder's to change. */
function mayOwn(holder: Holder, key: VirtualKey, does: 'change' | 'make' = 'change'): string | null {
  if (holder.userId === null) return FOR_ADMINS;
  if (!holder.changes) return READ_ONLY;
  if (holder.is(key.userId) || holder.adminOf(key.teamId)) return null;
  return `You are not allowed to ${does} this key: it is neither yours nor of a team that you are an admin of.`;
}

/** In a team that its user is an admin of, they would unblock it. */
const mayUnblock = (holder: Holder, is: VirtualKey, becomes: VirtualKey): string | null =>
  is.blocked && (!becomes.blocked || becomes.teamId !== is.teamId) && !holder.adminOf(is.teamId)
    ? UNBLOCKS
    : null;

/** Whether a holder may make such a key, or make one such. */
function mayMakeKey(holder: Holder, wanted: VirtualKey, does: 'change' | 'make'): string | null {
  const owner = mayOwn(holder, wanted, does);
  if (owner !== null) return owner;
  if (wanted.teamId !== null && !holder.memberOf(wanted.teamId))
    return `You are not a member of the team ${wanted.teamId}.`;
  if (wanted.organizationId !== null && wanted.organizationId !== holder.key.organizationId)
    return FOR_ADMINS;
  return whyNotMake(holder.key, wanted);
}

/** Whether a holder may know the value of such a key: with it, they are its user. */
function mayStandFor(holder: Holder, { userId, teamId, type }: VirtualKey): string | null {
  if (userId === null) return null;
  if (holder.is(userId))
    return type === 'llm_api' || !holder.isLessThanUser()
      ? null
      : 'A key of your user may do more than you may now: state key_type llm_api.';
  if (teamId === null || !holder.isMember(userId, teamId)) return `${userId} is not a member of the team.`;
  return type === 'llm_api' ? null : 'A key for another user makes LLM calls only: state key_type llm_api.';
}

/** What a key may call and spend, and for how long. */
const TERMS_OF_KEYS = [
  'models',
  'aliases',
  'allowedRoutes',
  'type',
  'budget',
  'budgetId',
  'limits',
  'expiresMs',
  'tags',
] as const;

/** Whether a change makes another key of it than it was for those who may not make such keys. */
export const changesTerms = (is: VirtualKey, becomes: VirtualKey): boolean =>
  is.teamId !== becomes.teamId ||
  TERMS_OF_KEYS.some((name) => !isSame(is[name], becomes[name])) ||
  !isSame(sessionTermsOf(is.metadata), sessionTermsOf(becomes.metadata));

/** Whose key it is and what it opens, as before. */
const opensTheSame = (is: VirtualKey, becomes: VirtualKey): boolean =>
  is.userId === becomes.userId && is.type === becomes.type && is.teamId === becomes.teamId;

function mayUpdateTeam(holder: Holder, { is, becomes }: Update<Team>): string | null {
  if (!holder.changes || !holder.adminOf(is.id))
    return 'Only an admin of the team, or of the proxy, changes it.';
  const beyond = whyNotChangeTeam(holder.key, is);
  if (beyond !== null) return beyond;
  const [, changed] = FIXED_OF_TEAMS.find(([name]) => !isSame(is[name], becomes[name])) ?? [];
  if (changed !== undefined) return `Only an admin of the proxy changes the ${changed} of a team.`;
  // A tag may have a budget.
  if (!is.tags.every((tag) => becomes.tags.includes(tag)))
    return 'Only an admin of the proxy takes tags from a team.';
  return isWithin(becomes.models, is.models) ? null : 'Only an admin of the proxy gives a team more models.';
}

/** With their names for people. */
const FIXED_OF_TEAMS = [
  ['budget', 'budget'],
  ['limits', 'limits'],
  ['organizationId', 'organization'],
  ['memberBudgetId', 'member budget'],
  ['modelAliases', 'model aliases'],
  ['blocked', 'blocking'],
] as const;

function mayUpdateUser(holder: Holder, { is, becomes }: Update<User>): string | null {
  if (!holder.is(is.id)) return 'You are not allowed to change this user: it is not you.';
  if (!holder.changes) return READ_ONLY;
  const limited = whyNotChangeUser(holder.key);
  if (limited !== null) return limited;
  // Members of teams are named by their address, too: whoever states another's is let in as them.
  const fixed = ['role', 'email', 'budget', 'budgetId', 'limits', 'models'] as const;
  const changed = fixed.find((name) => !isSame(is[name], becomes[name]));
  return changed === undefined
    ? null
    : `Nobody changes their own ${changed === 'budgetId' ? 'budget' : changed}.`;
}

/** When a budget was set is no term of it. */
const isSame = (is: unknown, becomes: unknown): boolean => termsOf(is) === termsOf(becomes);
const termsOf = (value: unknown): string =>
  JSON.stringify(value, (name, one: unknown) => (name === 'budgetSetMs' ? 0 : one));
