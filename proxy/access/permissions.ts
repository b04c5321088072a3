// What a caller may do: each route names the access that it needs, each key has a role, and this file says which role
// opens what. Everything that is not listed as open to a role is closed to it.
import { hash } from 'node:crypto';
import type { InferenceKey } from '../../config/access-settings.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';
import type { CallerDirectory, CallerIdentity } from './callers.ts';
import type { Team, User, VirtualKey } from './objects/objects.ts';

/**
 * What a route asks for. `open`: nothing, not even an allowed address. `metrics`: the master key, unless the configuration
 * or the port says that none is needed. `inference`: any key. `admin`: the master key. `mount`: the mounted extension
 * authenticates by itself.
 */
export type Access = 'open' | 'metrics' | 'inference' | 'admin' | 'mount';

/** Who calls: what rows say of them. */
export interface Caller {
  /** SHA-256 hex of the key; '' when no key is configured and anyone may call. */
  readonly keyHash: string;
  /** The name of an inference key, if it has one. */
  readonly keyName?: string;
  /** The identity of an issued key, which stands for a session. */
  readonly identity?: CallerIdentity;
}

/** `admin`: the master key, or nobody needs one. `inference`: a key of the configuration. `session`: an issued key. */
interface PlainCaller extends Caller {
  readonly role: 'admin' | 'inference' | 'session';
}

/** A virtual key, with its team and user as they were when the call came. */
interface KeyCaller extends Caller {
  readonly role: 'key';
  readonly key: VirtualKey;
  /** null: it has none, or one that does not exist. */
  readonly team: Team | null;
  readonly user: User | null;
}

export type AuthenticatedCaller = PlainCaller | KeyCaller;

/** What every known key opens; the rest is for the master key. */
const FOR_EVERY_KEY: ReadonlySet<Access> = new Set<Access>(['open', 'inference']);

/** What the key of each role is, for the refusal. */
const LIMITS: Readonly<Record<Exclude<AuthenticatedCaller['role'], 'admin'>, string>> = {
  key: 'This virtual key is not of a proxy_admin',
  inference: 'This key of general_settings.inference_keys makes LLM calls and reads listings only',
  session: 'This key belongs to a conversation; it makes LLM calls and reads listings only',
};

/** @throws Fault admin_key_required */
export function authorize(caller: AuthenticatedCaller, access: Access): void {
  if (caller.role === 'admin' || FOR_EVERY_KEY.has(access)) return;
  throw new Fault('admin_key_required', `${LIMITS[caller.role]}; this route needs the master key.`);
}

/**
 * Whether a response that a key made is this caller's: of the same key, or of a conversation of the same owner. The master
 * key owns all.
 * @param keyHash of the key that made it. @param issued null: no keys are issued
 */
export function ownsResponse(
  caller: AuthenticatedCaller,
  keyHash: string,
  issued: CallerDirectory | null,
): boolean {
  if (caller.role === 'admin' || caller.keyHash === keyHash) return true;
  const owner = caller.identity?.endUser ?? null;
  return owner !== null && issued?.identityOf(keyHash)?.endUser === owner;
}

/** Whether a route asks for a key. @param isAdminPort whether the request came on the admin port */
export function needsKey(access: Access, { access: settings }: Snapshot, isAdminPort: boolean): boolean {
  if (access === 'metrics') return settings.metricsNeedKey ?? !isAdminPort;
  return access === 'inference' || access === 'admin';
}

/**
 * The configured key that a credential is, or null. Every key is compared, in constant time, so that the time says neither
 * which key matched nor how much of it.
 */
export function keyOf({ masterKey, access }: Snapshot, credential: string): AuthenticatedCaller | null {
  if (masterKey === null) return null;
  const digest = hash('sha256', credential, 'buffer');
  const isMaster = masterKey.hasDigest(digest);
  let found: InferenceKey | null = null;
  for (const one of access.inferenceKeys) if (one.key.hasDigest(digest)) found = one;
  if (isMaster) return { role: 'admin', keyHash: masterKey.sha256() };
  if (found === null) return null;
  const keyHash = found.key.sha256();
  return { role: 'inference', keyHash, ...(found.name === null ? {} : { keyName: found.name }) };
}
