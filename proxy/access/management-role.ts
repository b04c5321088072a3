// What a caller is to the management API, and which of its routes it may use at all, whatever a call is about: so much is decided
// before the body of a call is read. may.ts decides about each object.
import { Fault } from '../errors/fault.ts';
import type { AuthenticatedCaller } from './caller.ts';
import type { UserRole, VirtualKey } from './objects/objects.ts';

export type Role = 'admin' | Exclude<UserRole, 'proxy_admin'> | 'no_user' | 'none';

/**
 * Whom a route is for: `object`, may.ts says it of each object; `change`, whoever changes anything; `view`, those who see everything;
 * `admin`, administrators.
 */
export type RouteAudience = 'object' | 'change' | 'view' | 'admin';

export const CALLS_ONLY = 'This key makes LLM calls and reads listings only.';
export const LLM_ONLY =
  'This key is of the type llm_api: it makes LLM calls, reads listings, and sees itself.';
export const FOR_ADMINS = 'This needs the master key, or a key of a proxy_admin.';
export const READ_ONLY = 'The user of this key only reads.';

export function managementRole(caller: AuthenticatedCaller): Role {
  if (caller.role === 'admin') return 'admin';
  if (caller.role !== 'key') return 'none';
  const { user, key } = caller;
  if (key.type === 'llm_api') return 'none'; // whatever its user may: others may hold it
  if (user === null) return 'no_user';
  if (user.role !== 'proxy_admin') return user.role;
  return key.type === 'read_only' ? 'proxy_admin_viewer' : 'admin';
}

/** Why a key of no administrator changes nothing, whatever it is; null = that depends on what. */
export function whyNeverChanges({ type }: VirtualKey, role: Role): string | null {
  if (type === 'read_only') return 'This key is of the type read_only; it changes nothing.';
  return role === 'proxy_admin_viewer' ? 'The role proxy_admin_viewer only reads.' : null;
}

/** @throws Fault management_denied where the caller may use the route for nothing */
export function demandAudience(caller: AuthenticatedCaller, audience: RouteAudience): void {
  const why = whyNotOf(caller, audience);
  if (why !== null) throw new Fault('management_denied', why);
}

function whyNotOf(caller: AuthenticatedCaller, audience: RouteAudience): string | null {
  const role = managementRole(caller);
  if (role === 'admin' || audience === 'object') return null;
  if (caller.role !== 'key') return CALLS_ONLY;
  if (caller.key.type === 'llm_api') return LLM_ONLY;
  if (audience === 'view') return role === 'proxy_admin_viewer' ? null : FOR_ADMINS;
  const never = whyNeverChanges(caller.key, role);
  if (never !== null) return never;
  if (audience === 'admin' || role === 'no_user') return FOR_ADMINS;
  return role === 'internal_user' ? null : READ_ONLY;
}
