// Authenticates the caller. The result is a closed type: no failed check can leave an identity behind. Runs before the
// body is read and queries no database, so a database outage never becomes a 401. The one exception: an unknown key that
// another server may have issued a moment ago.
import { hash } from 'node:crypto';
import { scopeOf, type KnownCaller } from '../access/callers.ts';
import { keyOf, type AuthenticatedCaller } from '../access/permissions.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

export type { AuthenticatedCaller, Caller } from '../access/permissions.ts';

type Scope = ReturnType<typeof scopeOf>;

const ANYBODY: AuthenticatedCaller = { role: 'admin', keyHash: '' };

/** The caller; a promise only where the store must be queried. @throws Fault missing_api_key, invalid_api_key, store_unavailable */
export function authenticate(x: Exchange): AuthenticatedCaller | Promise<AuthenticatedCaller> {
  const { services, snapshot } = x.active;
  const { credential } = x.headers;
  const scope = services.callers === null ? null : scopeOf(x.path);
  const configured = scope === null && credential !== null ? keyOf(snapshot, credential) : null;
  if (configured !== null) return asRecorded(x, configured);
  const virtual = scope === null && credential !== null ? virtualKey(x, credential) : null;
  if (virtual !== null) return virtual;
  const known = credential === null ? null : (services.callers?.find(credential, x.startMs) ?? null);
  const catchUp =
    known === null && credential !== null ? (services.callers?.catchUp(credential) ?? null) : null;
  if (catchUp === null) return callerOf(x, scope, known);
  return afterCatchUp(x, scope, catchUp);
}

/** Rows may have to name the master key without its hash. */
function asRecorded({ active: { snapshot } }: Exchange, caller: AuthenticatedCaller): AuthenticatedCaller {
  if (caller.role !== 'admin' || !snapshot.access.hidesMasterKey) return caller;
  return { ...caller, keyHash: `${snapshot.dialect.brand}_proxy_master_key` };
}

/** One digest and one look-up, however many keys there are; what is done for an unknown key tells nothing of the others. */
function virtualKey({ active, startMs }: Exchange, credential: string): AuthenticatedCaller | null {
  if (active.snapshot.masterKey === null) return null; // anybody is an administrator
  const { directory } = active.services.access;
  const key = directory.keyOfCredential(hash('sha256', credential, 'hex'), startMs);
  if (key === null) return null;
  return {
    role: 'key',
    key,
    team: key.teamId === null ? null : directory.team(key.teamId),
    user: key.userId === null ? null : directory.user(key.userId),
    keyHash: key.id,
    ...(key.alias === null ? {} : { keyName: key.alias }),
  };
}

async function afterCatchUp(x: Exchange, scope: Scope, catchUp: Promise<void>): Promise<AuthenticatedCaller> {
  try {
    await catchUp;
  } catch (cause) {
    throw new Fault('store_unavailable', 'The store that may know this key does not answer.', {
      cause,
      headers: [['retry-after', '1']],
    });
  }
  const { credential } = x.headers;
  return callerOf(
    x,
    scope,
    credential === null ? null : (x.active.services.callers?.find(credential, x.startMs) ?? null),
  );
}

function callerOf(x: Exchange, scope: Scope, known: KnownCaller | null): AuthenticatedCaller {
  const { credential } = x.headers;
  if (known !== null && (scope === null || known.identity.sessionId.replaceAll('-', '') === scope.id)) {
    return { role: 'session', ...known };
  }
  if (scope !== null) {
    throw new Fault('invalid_api_key', 'This base URL takes the key of its own conversation only.');
  }
  if (x.active.snapshot.masterKey === null) return ANYBODY;
  if (credential === null) {
    throw new Fault('missing_api_key', 'No API key was sent. Send it as `Authorization: Bearer <key>`.');
  }
  throw new Fault('invalid_api_key', 'The API key is not valid for this proxy.');
}
