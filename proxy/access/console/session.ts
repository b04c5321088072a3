// A session of the console: who signed in, and whom its requests are made by. Nothing of it is kept here; it is checked at each
// request against the keys, users and roles of that moment, so that a key that is blocked or deleted ends its sessions at once.
import { hash } from 'node:crypto';
import type { ConsoleRole, ConsoleSettings } from '../../../config/console-settings.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import { Fault } from '../../errors/fault.ts';
import { keyCaller, type AuthenticatedCaller } from '../caller.ts';
import { checkKey } from '../key-checks.ts';
import { blankKey, blankUser } from '../objects/blank.ts';
import type { AccessObjects } from '../objects/access-objects.ts';

/** Who signed in. */
export type Holder =
  | { readonly kind: 'master' }
  /** SHA-256 hex of a virtual key. */
  | { readonly kind: 'key'; readonly keyHash: string }
  | {
      readonly kind: 'oidc';
      readonly userId: string;
      /** For people. */
      readonly name: string;
      /** Those that have a role. */
      readonly groups: readonly string[];
    };

export interface ConsoleSession {
  readonly id: string;
  readonly createdMs: number;
  /** When its person did something last. */
  readonly activeMs: number;
  readonly holder: Holder;
}

/** Why there is no session any more. */
export type SessionEnd = 'expired' | 'idle' | 'revoked';

/** A session as it was sealed; null = the text is of no session. */
export function sessionIn(value: unknown): ConsoleSession | null {
  const one = value as Partial<ConsoleSession> | null;
  if (typeof one?.id !== 'string' || typeof one.createdMs !== 'number') return null;
  if (typeof one.activeMs !== 'number' || typeof one.holder !== 'object') return null;
  return one as ConsoleSession;
}

/** The moments at which it ends by itself, epoch ms. */
export function endsOf(
  { createdMs, activeMs }: ConsoleSession,
  { sessionMs, idleMs }: ConsoleSettings,
): { readonly atMs: number; readonly idleAtMs: number } {
  const atMs = createdMs + sessionMs;
  return { atMs, idleAtMs: Math.min(atMs, activeMs + idleMs) };
}

interface Now {
  readonly snapshot: Snapshot;
  readonly settings: ConsoleSettings;
  readonly access: AccessObjects;
  readonly nowMs: number;
}

/** Why a session has ended, or null. */
export function endOf(session: ConsoleSession, { settings, access, nowMs }: Now): SessionEnd | null {
  const { atMs, idleAtMs } = endsOf(session, settings);
  if (access.directory.isSignedOut(session.id)) return 'revoked';
  if (nowMs >= atMs) return 'expired';
  return nowMs >= idleAtMs ? 'idle' : null;
}

/**
 * By whom the requests of a session are made.
 * @throws Fault session_expired, key_blocked, key_expired, team_blocked, team_removed, store_unavailable
 */
export function callerOf(session: ConsoleSession, now: Now): AuthenticatedCaller {
  const end = endOf(session, now);
  if (end !== null) throw ended(END_TEXTS[end]);
  const { holder } = session;
  const { snapshot, access, nowMs } = now;
  const { directory } = access;
  switch (holder.kind) {
    case 'master': {
      if (snapshot.masterKey === null) throw ended(END_TEXTS.revoked);
      return { role: 'admin', keyHash: snapshot.masterKey.sha256() };
    }
    case 'key': {
      const key = directory.key(holder.keyHash);
      if (key === null && !access.isLoaded)
        throw new Fault('store_unavailable', 'The store that may know this key does not answer.', {
          headers: [['retry-after', '1']],
        });
      if (key === null) throw ended(END_TEXTS.revoked);
      const team = key.teamId === null ? null : directory.team(key.teamId);
      checkKey(key, team, nowMs);
      return keyCaller(key, team, key.userId === null ? null : directory.user(key.userId));
    }
    case 'oidc': {
      const { oidc } = now.settings;
      const role = oidc === null ? null : roleOf(holder.groups, oidc.roles);
      if (oidc === null || role === null) throw ended('Your groups do not open this console any more.');
      const { userId, name } = holder;
      const id = hash('sha256', `console ${oidc.issuer} ${userId}`, 'hex');
      const key = {
        ...blankKey(id, '', session.createdMs),
        name: 'console',
        alias: `console: ${name}`,
        userId,
      };
      const user = directory.user(userId) ?? blankUser(userId, session.createdMs);
      return keyCaller(key, null, { ...user, role });
    }
  }
}

/** The widest first. */
const ROLES: readonly ConsoleRole[] = [
  'proxy_admin',
  'proxy_admin_viewer',
  'internal_user',
  'internal_user_viewer',
];

/** The widest role of somebody's groups; null = none of them has one. */
export function roleOf(
  groups: readonly string[],
  roles: ReadonlyMap<string, ConsoleRole>,
): ConsoleRole | null {
  const own = new Set(groups.map((group) => roles.get(group)));
  return ROLES.find((role) => own.has(role)) ?? null;
}

const END_TEXTS: Readonly<Record<SessionEnd, string>> = {
  expired: 'This session of the console has ended.',
  idle: 'This session of the console has ended, because nobody did anything for a while.',
  revoked: 'This session of the console was ended.',
};

const ended = (text: string): Fault => new Fault('session_expired', `${text} Sign in again.`);
