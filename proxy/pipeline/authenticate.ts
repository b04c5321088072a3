// Authenticates the caller. The result is a closed type: no failed check can leave an identity behind. Runs before the
// body is read and queries no database, so a database outage never becomes a 401. The one exception: an unknown key that
// another server may have issued a moment ago.
import { scopeOf, type CallerIdentity, type KnownCaller } from '../access/callers.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

export interface Caller {
  /** SHA-256 hex of the key; '' when no key is configured and anyone may call. */
  readonly keyHash: string;
  /** The identity of an issued key; absent for the master key. Such a caller may make LLM calls, nothing else. */
  readonly identity?: CallerIdentity;
}

type Scope = ReturnType<typeof scopeOf>;

const ANYBODY: Caller = { keyHash: '' };

/** The caller; a promise only where the store must be queried. @throws Fault missing_api_key, invalid_api_key, store_unavailable */
export function authenticate(x: Exchange): Caller | Promise<Caller> {
  const { services, snapshot } = x.active;
  const { credential } = x.headers;
  const key = snapshot.masterKey;
  const scope = services.callers === null ? null : scopeOf(x.path);
  if (scope === null && credential !== null && key?.equals(credential) === true) {
    return { keyHash: key.sha256() };
  }
  const known = credential === null ? null : (services.callers?.find(credential, x.startMs) ?? null);
  const catchUp =
    known === null && credential !== null ? (services.callers?.catchUp(credential) ?? null) : null;
  if (catchUp === null) return callerOf(x, scope, known);
  return afterCatchUp(x, scope, catchUp);
}

async function afterCatchUp(x: Exchange, scope: Scope, catchUp: Promise<void>): Promise<Caller> {
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

function callerOf(x: Exchange, scope: Scope, known: KnownCaller | null): Caller {
  const { credential } = x.headers;
  const key = x.active.snapshot.masterKey;
  if (known !== null && (scope === null || known.identity.sessionId.replaceAll('-', '') === scope.id)) {
    return known;
  }
  if (scope !== null) {
    throw new Fault('invalid_api_key', 'This base URL takes the key of its own conversation only.');
  }
  if (key === null) return ANYBODY;
  if (credential === null) {
    throw new Fault('missing_api_key', 'No API key was sent. Send it as `Authorization: Bearer <key>`.');
  }
  throw new Fault('invalid_api_key', 'The API key is not valid for this proxy.');
}
