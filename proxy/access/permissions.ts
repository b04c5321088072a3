// What a caller may do: each route names the access that it needs, each key has a role, and this file says which role
// opens what. Everything that is not listed as open to a role is closed to it.
import type { Buffer } from 'node:buffer';
import type { InferenceKey } from '../../config/access-settings.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';
import type { AuthenticatedCaller } from './caller.ts';
import type { CallerDirectory } from './callers.ts';
import { checkRoute } from './key-checks.ts';
import { isAdmin, seesAll } from './may.ts';

/**
 * What a route asks for. `open`: nothing, not even an allowed address. `public`: an allowed address, and no key. `metrics`: the master key, unless the configuration
 * or the port says that none is needed. `inference`: any key that makes LLM calls. `listing`: any key. `management`: any
 * virtual key; the route asks `may.ts` about each object. `admin`: an administrator. `mount`: the mounted extension
 * authenticates by itself.
 */
export type Access =
  'open' | 'public' | 'metrics' | 'inference' | 'listing' | 'management' | 'admin' | 'mount';

/** What every known key opens; the rest is for the master key. */
const FOR_EVERY_KEY: ReadonlySet<Access> = new Set<Access>(['open', 'public', 'inference', 'listing']);

/** What the key of each role is, for the refusal. */
const LIMITS: Readonly<Record<Exclude<AuthenticatedCaller['role'], 'admin'>, string>> = {
  key: 'This virtual key is no key of a proxy_admin',
  inference: 'This key of general_settings.inference_keys makes LLM calls and reads listings only',
  session: 'This key belongs to a conversation; it makes LLM calls and reads listings only',
};

/** A request to one of the routes. */
interface RouteRequest {
  readonly method: string;
  readonly path: string;
}

/** @throws Fault admin_key_required, route_denied */
export function authorize(caller: AuthenticatedCaller, access: Access, { method, path }: RouteRequest): void {
  if (caller.role === 'admin') return;
  const isKeyless = access === 'open' || access === 'public' || access === 'mount';
  const route = isKeyless ? null : ROUTE_KINDS[access];
  if (caller.role === 'key' && route !== null) checkRoute(caller.key, { path, kind: route });
  if (FOR_EVERY_KEY.has(access)) return;
  if (caller.role === 'key') {
    if (access === 'management' || isAdmin(caller)) return;
    if (seesAll(caller) && (method === 'GET' || method === 'HEAD')) return;
  }
  throw new Fault('admin_key_required', `${LIMITS[caller.role]}; this route needs the master key.`);
}

const ROUTE_KINDS = {
  inference: 'llm',
  listing: 'listing',
  management: 'management',
  admin: 'admin',
  metrics: 'admin',
} as const;

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
  if (caller.role === 'key') return caller.key.former.some(({ id }) => id === keyHash);
  const owner = caller.identity?.endUser ?? null;
  return owner !== null && issued?.identityOf(keyHash)?.endUser === owner;
}

/** Whether a route asks for a key. @param isAdminPort whether the request came on the admin port */
export function needsKey(access: Access, { access: settings }: Snapshot, isAdminPort: boolean): boolean {
  if (access === 'metrics') return settings.metricsNeedKey ?? !isAdminPort;
  return access !== 'open' && access !== 'public' && access !== 'mount';
}

/**
 * The configured key that a credential is, or null. Every key is compared, in constant time, so that the time says neither
 * which key matched nor how much of it.
 * @param digest SHA-256 of the credential
 */
export function keyOf({ masterKey, access }: Snapshot, digest: Buffer): AuthenticatedCaller | null {
  if (masterKey === null) return null;
  const isMaster = masterKey.hasDigest(digest);
  let found: InferenceKey | null = null;
  for (const one of access.inferenceKeys) if (one.key.hasDigest(digest)) found = one;
  if (isMaster) return { role: 'admin', keyHash: masterKey.sha256() };
  if (found === null) return null;
  const keyHash = found.key.sha256();
  return { role: 'inference', keyHash, ...(found.name === null ? {} : { keyName: found.name }) };
}
