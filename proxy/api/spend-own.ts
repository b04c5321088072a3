// Whose rows and sums a caller sees: all of them, or the part of a key, a user, or a team that they are an admin of. One owner of
// that rule for the routes that people of all roles read.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { isAdminOfTeam, seesAll, visibleKeys } from '../access/may.ts';
import type { AccessDirectory } from '../access/objects/directory.ts';
import { Fault } from '../errors/fault.ts';

/** What is asked for; null = everybody's. */
interface Asked {
  readonly apiKeyHash: string | null;
  readonly user: string | null;
  readonly team: string | null;
}

/** What is added to a filter; `all`: nothing. */
type OwnPart =
  | { readonly whose: 'all' }
  | { readonly whose: 'own'; readonly apiKeyHash?: string; readonly user?: string; readonly team?: string };

/** @throws Fault management_denied */
export function ownPart(caller: AuthenticatedCaller, directory: AccessDirectory, asked: Asked): OwnPart {
  if (seesAll(caller)) return { whose: 'all' };
  if (caller.role !== 'key') throw denied('This needs the master key, or a virtual key.');
  const { userId, id, type } = caller.key;
  if (asked.team !== null && isAdminOf(caller, directory, asked.team))
    return { whose: 'own', team: asked.team };
  if (asked.apiKeyHash !== null && asked.apiKeyHash !== id) {
    const isVisible = [...visibleKeys(caller, directory)].some((key) => key.id === asked.apiKeyHash);
    if (!isVisible) throw denied('You are not allowed to see the calls of this key.');
    return { whose: 'own', apiKeyHash: asked.apiKeyHash };
  }
  if (userId === null || type === 'llm_api') return { whose: 'own', apiKeyHash: id };
  if (asked.user !== null && asked.user !== userId)
    throw denied('You are not allowed to see the calls of another user.');
  return { whose: 'own', user: userId };
}

function isAdminOf(caller: AuthenticatedCaller, directory: AccessDirectory, teamId: string): boolean {
  const team = directory.team(teamId);
  return team !== null && isAdminOfTeam(caller, team);
}

export const denied = (why: string): Fault => new Fault('management_denied', why);
