// `/ui/session`: who has signed in to the console, signing in with a key, and signing out. The answers hold no secret; the
// session itself is in a cookie that no script reads.
import { hash, randomBytes } from 'node:crypto';
import type { Json } from '../../bodies/json.ts';
import { isAdmin, seesAll, teamsAdministeredBy, whyNot } from '../../access/may.ts';
import { callerName, type AuthenticatedCaller } from '../../access/caller.ts';
import { checkKey } from '../../access/key-checks.ts';
import {
  endsOf,
  type ConsoleSession,
  type Holder,
  type SessionEnd,
  endOf,
} from '../../access/console/session.ts';
import type { SignInThrottle } from '../../access/console/sign-in-throttle.ts';
import { blankKey, signOutOf } from '../../access/objects/blank.ts';
import { ObjectConflict } from '../../access/objects/access-objects.ts';
import { keyOf } from '../../access/permissions.ts';
import type { ConsoleSettings } from '../../../config/console-settings.ts';
import { VERSION } from '../../active-config/version.ts';
import { Fault } from '../../errors/fault.ts';
import {
  cookieToSet,
  type CookiePurpose,
  demandOwnPage,
  isByOwnPage,
  sessionCaller,
  sessionOf,
} from '../../pipeline/console-session.ts';
import { sendEmpty, sendResponse } from '../../pipeline/respond.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { readObject } from '../json-body.ts';

/** A session is renewed when its person does something, and not more often than this. */
const RENEWED_AFTER_MS = 60_000;
/** No session lasts longer (schemas/gateway.json), so no sign-out has to be remembered for longer. */
const LONGEST_SESSION_MS = 168 * 3_600_000;
const MOST_FORGOTTEN = 100;
const LONGEST_KEY = 1_000;
const SIGN_IN_PATH = 'ui/oidc/login';

/** `GET /ui/session`: 200 in any case; renews a session that is used. */
export function showSession(x: Exchange): void {
  const settings = settingsOf(x);
  if (x.active.snapshot.masterKey === null) {
    send(x, { signed_in: true, ...openTo(x), ...common(x, settings) });
    return;
  }
  const found = sessionOf(x);
  if (found === null) return send(x, { signed_in: false, ...common(x, settings) });
  const { session } = found;
  const end = session === null ? 'revoked' : whyEnded(x, session, settings);
  if (session === null || end !== null)
    return send(x, { signed_in: false, reason: end, ...common(x, settings) }, [cleared(x)]);
  const isUsed = x.startMs - session.activeMs >= RENEWED_AFTER_MS && isByOwnPage(x);
  const renewed = isUsed ? { ...session, activeMs: x.startMs } : session;
  const caller = sessionCaller(x, session);
  send(x, described(x, renewed, caller, settings), isUsed ? [cookieOf(x, renewed, settings)] : []);
}

/** `POST /ui/session` with `{key}`. @throws Fault too_many_sign_ins, invalid_api_key, sign_in_refused, ... */
export async function signIn(x: Exchange, throttle: SignInThrottle): Promise<void> {
  const settings = settingsOf(x);
  demandOwnPage(x);
  throttle.begin(x.clientAddress);
  const { key } = await readObject(x, 'sign-in');
  if (typeof key !== 'string' || key.trim() === '' || key.length > LONGEST_KEY)
    throw new Fault('invalid_parameter', 'Send `{"key": "sk-..."}`.', { param: 'key' });
  const holder = await holderOf(x, key.trim());
  throttle.succeeded(x.clientAddress);
  const session = begun(x, holder);
  send(x, described(x, session, sessionCaller(x, session), settings), [cookieOf(x, session, settings)]);
}

/** A session begins. It is in the log, with the key that later changes by it are logged with. */
export function begun(x: Exchange, holder: Holder): ConsoleSession {
  const id = randomBytes(16).toString('hex');
  const session = { id, createdMs: x.startMs, activeMs: x.startMs, holder };
  const { keyHash, userId = null } = sessionCaller(x, session);
  const who = { by: holder.kind, user: userId, key: keyHash.slice(0, 12) };
  x.active.services.log.info(
    { event: 'console_sign_in', call_id: x.id, ...who, address: x.clientAddress },
    'somebody signed in to the console',
  );
  return session;
}

/** `DELETE /ui/session`: ends it for every copy of the cookie, on all servers. @throws Fault store_unavailable */
export async function signOut(x: Exchange): Promise<void> {
  const settings = settingsOf(x);
  demandOwnPage(x);
  const { session = null } = sessionOf(x) ?? {};
  if (session !== null && endOf(session, { ...nowOf(x), settings }) === null) await end(x, session);
  sendEmpty(x, 204, ['cache-control', 'no-store', 'set-cookie', cleared(x)]);
}

/** @throws Fault route_not_found where the console is off */
export function settingsOf({ active: { snapshot }, path }: Exchange): ConsoleSettings {
  if (snapshot.console === null)
    throw new Fault('route_not_found', `There is no route ${path.slice(0, 200)} on this proxy.`);
  return snapshot.console;
}

/** The header that gives a session to a browser. */
export function cookieOf(x: Exchange, session: ConsoleSession, settings: ConsoleSettings): string {
  const { masterKey } = x.active.snapshot;
  if (masterKey === null) throw new Error('sessions are sealed with the master key');
  const seconds = Math.max(0, Math.ceil((endsOf(session, settings).atMs - x.startMs) / 1000));
  return setCookie(x, 'session', x.active.services.sessionSeal.seal(masterKey, 'session', session), seconds);
}

const cleared = (x: Exchange): string => setCookie(x, 'session', '', 0);

/** Strict: the page is the same for all, and asks for its data itself, so that nothing needs the cookie from elsewhere. */
export function setCookie(
  x: Exchange,
  purpose: CookiePurpose,
  value: string,
  seconds: number,
  site: 'Strict' | 'Lax' = 'Strict',
): string {
  const { name, secure } = cookieToSet(x, purpose);
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure ? '; Secure' : ''}`;
}

const nowOf = ({ active: { snapshot, services }, startMs }: Exchange) => ({
  snapshot,
  access: services.access,
  nowMs: startMs,
});

/** Keys that end with their sessions count as revoked. @throws Fault store_unavailable */
function whyEnded(x: Exchange, session: ConsoleSession, settings: ConsoleSettings): SessionEnd | null {
  const end = endOf(session, { ...nowOf(x), settings });
  if (end !== null) return end;
  try {
    sessionCaller(x, session);
    return null;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.status === 401) return 'revoked';
    throw thrown;
  }
}

/** @throws Fault invalid_api_key, sign_in_refused, key_blocked, key_expired, team_blocked, team_removed, store_unavailable */
async function holderOf(x: Exchange, key: string): Promise<Holder> {
  const { snapshot, services } = x.active;
  const digest = hash('sha256', key, 'buffer');
  const configured = keyOf(snapshot, digest);
  if (configured?.role === 'admin') return { kind: 'master' };
  const { directory } = services.access;
  const find = () => directory.keyOfCredential(digest.toString('hex'), x.startMs);
  let virtual = configured === null ? find() : null;
  if (virtual === null && configured === null) {
    await services.access.sync(); // another server may have made it a moment ago
    virtual = find();
  }
  if (virtual !== null) {
    checkKey(virtual, virtual.teamId === null ? null : directory.team(virtual.teamId), x.startMs);
    return { kind: 'key', keyHash: virtual.id };
  }
  if (configured !== null || (services.callers?.find(key, x.startMs) ?? null) !== null)
    throw new Fault('sign_in_refused', 'This key makes LLM calls only. Sign in with a key of your own.');
  if (!services.access.isLoaded)
    throw new Fault('store_unavailable', 'The store that may know this key does not answer.', {
      headers: [['retry-after', '1']],
    });
  throw new Fault('invalid_api_key', 'This is no key of this proxy.');
}

async function end(x: Exchange, { id }: ConsoleSession): Promise<void> {
  const { access, clock } = x.active.services;
  const nowMs = clock.now();
  try {
    await access.change([{ put: signOutOf(id, nowMs) }]);
  } catch (thrown) {
    if (!(thrown instanceof ObjectConflict)) throw thrown; // else somebody ended it meanwhile
  }
  const old = [...access.directory.all('sign_out')]
    .filter((one) => one.createdMs < nowMs - LONGEST_SESSION_MS)
    .slice(0, MOST_FORGOTTEN);
  // On its own: another server may have forgotten one of them, and that must not undo the sign-out. The next one tries again.
  if (old.length > 0) await access.change(old.map((one) => ({ remove: one }))).catch(() => undefined);
}

function common({ active: { snapshot } }: Exchange, { oidc }: ConsoleSettings): Json {
  const sign_in = {
    key: snapshot.masterKey !== null,
    oidc: oidc === null ? null : { name: oidc.name, path: SIGN_IN_PATH },
  };
  return { sign_in, console: { version: VERSION } };
}

/** Of a proxy without a key, on which everybody is an administrator. */
function openTo(x: Exchange): Json {
  const caller: AuthenticatedCaller = { role: 'admin', keyHash: '' };
  return {
    who: withoutKey(caller, 'open'),
    role: 'admin',
    may: mayOf(x, caller),
    expires_at: null,
    idle_expires_at: null,
    ...partsOf(x, caller),
  };
}

function described(
  x: Exchange,
  session: ConsoleSession,
  caller: AuthenticatedCaller,
  settings: ConsoleSettings,
): Json {
  const { atMs, idleAtMs } = endsOf(session, settings);
  return {
    signed_in: true,
    who: whoOf(x, session.holder, caller),
    role: roleOf(caller),
    may: mayOf(x, caller),
    expires_at: new Date(atMs).toISOString(),
    idle_expires_at: new Date(idleAtMs).toISOString(),
    ...partsOf(x, caller),
    ...common(x, settings),
  };
}

function whoOf(x: Exchange, holder: Holder, caller: AuthenticatedCaller): Json {
  const { directory } = x.active.services.access;
  if (caller.role !== 'key') return withoutKey(caller, 'master');
  const { key } = caller;
  return {
    name: holder.kind === 'oidc' ? holder.name : callerName(caller),
    kind: holder.kind,
    user_id: key.userId,
    key_alias: holder.kind === 'oidc' ? null : key.alias,
    key_hash: holder.kind === 'oidc' ? null : key.id,
    team_id: key.teamId,
    admin_of: isAdmin(caller) ? [] : teamsAdministeredBy(caller, directory).map(({ id }) => id),
  };
}

const withoutKey = (caller: AuthenticatedCaller, kind: 'open' | 'master'): Json => ({
  name: callerName(caller),
  kind,
  user_id: null,
  key_alias: null,
  key_hash: null,
  team_id: null,
  admin_of: [],
});

/** In the words of the page. */
function roleOf(caller: AuthenticatedCaller): 'admin' | 'viewer' | 'user' | 'user_viewer' | 'key' {
  if (isAdmin(caller)) return 'admin';
  if (seesAll(caller)) return 'viewer';
  const role = caller.role === 'key' ? caller.user?.role : undefined;
  if (role === 'internal_user') return 'user';
  return role === 'internal_user_viewer' ? 'user_viewer' : 'key';
}

/** What the page shows; each route decides by itself. */
function mayOf(x: Exchange, caller: AuthenticatedCaller): Json {
  const { access, mount } = x.active.services;
  const [change, seeAll] = [isAdmin(caller), seesAll(caller)];
  const type = caller.role === 'key' ? caller.key.type : 'default';
  // Who may make any key may make one for LLM calls.
  const own = { ...blankKey('', '', 0), userId: caller.userId ?? null, type: 'llm_api' } as const;
  return {
    see_all: seeAll,
    change,
    models: change,
    keys: whyNot(caller, access.directory, 'key.create', own) === null,
    teams: change,
    users: change,
    spend: true,
    rows: true,
    chain: seeAll,
    config: seeAll,
    doctor: seeAll,
    platform: change && mount !== null,
    call: type === 'default' || type === 'llm_api',
  };
}

function partsOf(x: Exchange, caller: AuthenticatedCaller): Json {
  const { snapshot, services } = x.active;
  const isOn = services.mount !== null;
  return {
    has: {
      platform: isOn,
      oidc: snapshot.console?.oidc !== undefined && snapshot.console.oidc !== null,
      runtime_models: true,
      stored_models: snapshot.storeModelInDb,
      brake: snapshot.brake !== null,
    },
    platform_users:
      isOn && isAdmin(caller) ? (snapshot.platform?.users ?? []).map(({ userId }) => userId ?? '') : [],
  };
}

function send(x: Exchange, body: Json, setCookies: readonly string[] = []): void {
  const headers = [
    'content-type',
    'application/json',
    'cache-control',
    'no-store',
    'x-content-type-options',
    'nosniff',
  ];
  const cookies = setCookies.flatMap((cookie) => ['set-cookie', cookie]);
  sendResponse(x, 200, [...headers, ...cookies], Buffer.from(JSON.stringify(body)));
}
