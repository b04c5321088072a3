// Authenticates the caller. The result is a closed type: no failed check can leave an identity behind. Runs before the
// body is read and queries no database, so a database outage never becomes a 401. The one exception: an unknown key that
// another process may have stored a moment ago. However many of these come, the store is asked 20 times a second.
import { Buffer } from 'node:buffer';
import { scopeOf, type KnownCaller } from '../access/callers.ts';
import { ANYBODY, keyCaller, type AuthenticatedCaller } from '../access/caller.ts';
import { checkKey } from '../access/key-checks.ts';
import { keyOf } from '../access/permissions.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

type Scope = ReturnType<typeof scopeOf>;

/**
 * The caller; a promise only where the store must be queried.
 * @throws Fault missing_api_key, invalid_api_key, key_blocked, key_expired, team_blocked, team_removed, store_unavailable
 */
export function authenticate(x: Exchange): AuthenticatedCaller | Promise<AuthenticatedCaller> {
  const { services } = x.active;
  const { credential } = x.headers;
  const scope = services.callers === null ? null : scopeOf(x.path);
  if (credential === null) return callerOf(x, scope, null);
  const found = holderOf(x, scope, credential);
  if (found !== null) return found;
  const known = services.callers?.find(credential, x.startMs) ?? null;
  if (known !== null) return callerOf(x, scope, known);
  const news = newsOf(x, scope, credential);
  return news.length === 0 ? callerOf(x, scope, null) : afterNews(x, scope, credential, news);
}

/** What must be known before a key counts as unknown. */
function newsOf({ active }: Exchange, scope: Scope, credential: string): readonly Promise<void>[] {
  const { services, snapshot } = active;
  const mayBeStored = scope === null && snapshot.masterKey !== null && credential.startsWith('sk-');
  const asked = [
    mayBeStored ? services.access.catchUp() : null,
    services.callers?.catchUp(credential) ?? null,
  ];
  return asked.filter((one) => one !== null);
}

/** Of a key of the configuration, or a virtual one. @throws Fault key_blocked, key_expired, team_blocked, team_removed */
function holderOf(x: Exchange, scope: Scope, credential: string): AuthenticatedCaller | null {
  const { snapshot } = x.active;
  if (scope !== null || snapshot.masterKey === null) return null;
  const sha256 = x.req.digestOf(credential);
  const configured = keyOf(snapshot, Buffer.from(sha256, 'hex'));
  return configured === null ? virtualKey(x, sha256) : asRecorded(x, configured);
}

/** Rows may have to name the master key without its hash. */
export function asRecorded(
  { active: { snapshot } }: Exchange,
  caller: AuthenticatedCaller,
): AuthenticatedCaller {
  if (caller.role !== 'admin' || !snapshot.access.hidesMasterKey) return caller;
  return { ...caller, keyHash: `${snapshot.dialect.brand}_proxy_master_key` };
}

/**
 * One look-up by the digest, however many keys there are: its time says nothing of a key that is not known by its whole.
 * @throws Fault key_blocked, key_expired, team_blocked, team_removed
 */
function virtualKey({ active, startMs }: Exchange, sha256: string): AuthenticatedCaller | null {
  const { directory } = active.services.access;
  const key = directory.keyOfCredential(sha256, startMs);
  if (key === null) return null;
  const team = key.teamId === null ? null : directory.team(key.teamId);
  checkKey(key, team, startMs);
  return keyCaller(key, team, key.userId === null ? null : directory.user(key.userId));
}

async function afterNews(
  x: Exchange,
  scope: Scope,
  credential: string,
  news: readonly Promise<void>[],
): Promise<AuthenticatedCaller> {
  try {
    await Promise.all(news);
  } catch (cause) {
    throw new Fault('store_unavailable', 'The store that may know this key does not answer.', {
      cause,
      headers: [['retry-after', '1']],
    });
  }
  const known = x.active.services.callers?.find(credential, x.startMs) ?? null;
  return holderOf(x, scope, credential) ?? callerOf(x, scope, known);
}

/** Claude Code 2.1 repeats a call with a refused bearer token for three minutes unless told not to; SDKs read it too. */
const FINAL = { headers: [['x-should-retry', 'false']] } as const;

function callerOf(x: Exchange, scope: Scope, known: KnownCaller | null): AuthenticatedCaller {
  const { credential } = x.headers;
  if (known !== null && (scope === null || known.identity.sessionId.replaceAll('-', '') === scope.id)) {
    return { role: 'session', ...known };
  }
  if (scope !== null) {
    throw new Fault('invalid_api_key', 'This base URL takes the key of its own conversation only.', FINAL);
  }
  if (x.active.snapshot.masterKey === null) return ANYBODY;
  if (credential === null) {
    const text = 'Authentication Error, No api key passed in. Send it as `Authorization: Bearer <key>`.';
    throw new Fault('missing_api_key', text, FINAL);
  }
  // The database was not there when the proxy started: this key may be one of those that it holds.
  if (!x.active.services.access.isLoaded && credential.startsWith('sk-')) {
    throw new Fault('store_unavailable', 'The store that may know this key does not answer.', {
      headers: [['retry-after', '1']],
    });
  }
  const text =
    'Authentication Error, Invalid proxy server token passed. The API key is not valid for this proxy.';
  throw new Fault('invalid_api_key', text, FINAL);
}
