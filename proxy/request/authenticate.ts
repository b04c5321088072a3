// Who calls. The result is a closed type: there is no path on which a failed check leaves an identity behind.
// Runs before the body is read, and asks nobody: a database in trouble can never turn into a 401.
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

export interface Caller {
  /** SHA-256 hex of the key; '' when no key is configured and everybody may call. */
  readonly keyHash: string;
}

const ANYBODY: Caller = { keyHash: '' };

/** @throws Fault missing_api_key, invalid_api_key. */
export function authenticate(x: Exchange): Caller {
  const key = x.live.snapshot.masterKey;
  if (key === null) return ANYBODY;
  const { credential } = x.headers;
  if (credential === null) {
    throw new Fault('missing_api_key', 'No API key was sent. Send it as `Authorization: Bearer <key>`.');
  }
  if (!key.equals(credential)) {
    throw new Fault('invalid_api_key', 'The API key is not valid for this proxy.');
  }
  return { keyHash: key.sha256() };
}
