// Who calls, once the key is known: a closed type, so that no failed check can leave an identity behind.
import { lastingId } from './budgets/scopes.ts';
import type { CallerIdentity } from './callers.ts';
import type { Team, User, VirtualKey } from './objects/objects.ts';

/** Of a key, of a team, and of a call where these have none. */
export const MOST_TAGS = 100;

/** Who calls: what rows say of them. */
export interface Caller {
  /** SHA-256 hex of the key; '' when no key is configured and anyone may call. */
  readonly keyHash: string;
  /** The name of the key, if it has one. */
  readonly keyName?: string;
  /** Whose the key is, and what its calls are tagged with; they go before what a deployment says. */
  readonly teamId?: string;
  readonly userId?: string;
  readonly tags?: readonly string[];
  /** The identity of an issued key, which stands for a session. */
  readonly identity?: CallerIdentity;
}

/** `admin`: the master key, or nobody needs one. `inference`: a key of the configuration. `session`: an issued key. */
interface PlainCaller extends Caller {
  readonly role: 'admin' | 'inference' | 'session';
}

/** A virtual key, with its team and user as they were when the call came. */
export interface KeyCaller extends Caller {
  readonly role: 'key';
  readonly key: VirtualKey;
  /** null: it has none, or one that does not exist. */
  readonly team: Team | null;
  readonly user: User | null;
}

export type AuthenticatedCaller = PlainCaller | KeyCaller;

/** Whoever calls where no key is asked for: of a proxy that is open, and of a route that is. */
export const ANYBODY: AuthenticatedCaller = Object.freeze({ role: 'admin', keyHash: '' });

/** Whoever calls with a virtual key. @param team null: the key has none, or one that does not exist; likewise `user` */
export function keyCaller(key: VirtualKey, team: Team | null, user: User | null): KeyCaller {
  return {
    role: 'key',
    key,
    team,
    user,
    keyHash: key.id,
    ...(key.alias === null ? {} : { keyName: key.alias }),
    ...(key.teamId === null ? {} : { teamId: key.teamId }),
    ...(key.userId === null ? {} : { userId: key.userId }),
    tags: tagsOf(key.tags, team?.tags ?? []),
  };
}

/** Names who calls for as long as they may: of a virtual key, whatever its present value, so that another one begins nothing anew. */
export const holderOf = (caller: AuthenticatedCaller): string =>
  caller.role === 'key' ? lastingId(caller.key) : caller.keyHash;

/** For people: whose key it is, or what the key is called. */
export function callerName(caller: AuthenticatedCaller): string {
  if (caller.role !== 'key') return caller.keyHash === '' ? 'everybody' : 'master key';
  const { key, user } = caller;
  return user?.alias ?? user?.email ?? key.alias ?? key.userId ?? key.name;
}

/** Keys of before there was a bound may have more. */
function tagsOf(own: readonly string[], team: readonly string[]): readonly string[] {
  const bounded = own.length > MOST_TAGS ? own.slice(0, MOST_TAGS) : own;
  return team.length === 0 ? bounded : [...bounded, ...team];
}
