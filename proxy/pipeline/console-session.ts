// The session of the console as a credential: the cookie of its page, for requests that the page itself sends and that carry no
// key. It opens administration and listings; LLM calls only below `/ui/`, which no other page and no program calls.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { callerOf, sessionIn, type ConsoleSession } from '../access/console/session.ts';
import type { Access } from '../access/permissions.ts';
import { Fault } from '../errors/fault.ts';
import { asRecorded } from './authenticate.ts';
import type { Exchange } from './exchange.ts';

/** The paths of the page. */
export const CONSOLE_PATH = '/ui';
/** Browsers keep `__Host-` for https, the whole host and no other host (RFC 6265bis). */
const SECURE_NAME = '__Host-throughline';
const PLAIN_NAME = 'throughline-console';
/** Behind the name of a cookie: what it is for. */
const PURPOSES = { session: '', 'sign-in': '_sign-in' } as const;
/** What a cookie of the console is for; each has a name of its own. */
export type CookiePurpose = keyof typeof PURPOSES;

const OPENED: ReadonlySet<Access> = new Set<Access>(['admin', 'management', 'listing', 'metrics']);
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Who calls by a session; null = the request has none, or a key as well, which counts alone.
 * @throws Fault session_not_taken, session_expired, key_blocked, key_expired, team_blocked, team_removed, store_unavailable
 */
export function consoleCaller(x: Exchange, access: Access): AuthenticatedCaller | null {
  const { console: settings, masterKey } = x.active.snapshot;
  if (settings === null || masterKey === null || x.headers.credentials.length > 0) return null;
  if (!OPENED.has(access) && !(access === 'inference' && x.path.startsWith(`${CONSOLE_PATH}/`))) return null;
  const found = sessionOf(x);
  if (found === null) return null;
  demandOwnPage(x);
  if (found.session === null)
    throw new Fault('session_expired', 'This session of the console has ended. Sign in again.');
  return sessionCaller(x, found.session);
}

/** Who a session stands for now. @throws Fault session_expired, key_blocked, key_expired, team_blocked, team_removed, store_unavailable */
export function sessionCaller(x: Exchange, session: ConsoleSession): AuthenticatedCaller {
  const { snapshot, services } = x.active;
  const { console: settings } = snapshot;
  if (settings === null) throw new Fault('session_expired', 'The console is switched off.');
  return asRecorded(x, callerOf(session, { snapshot, settings, access: services.access, nowMs: x.startMs }));
}

/** The cookie of a session, and the session in it; null = there is no such cookie, or (inside) it is of no session. */
export function sessionOf(x: Exchange): { readonly session: ConsoleSession | null } | null {
  const { masterKey } = x.active.snapshot;
  const values = ownCookies(x, 'session');
  if (values.length === 0 || masterKey === null) return null;
  for (const value of values) {
    const session = sessionIn(x.active.services.sessionSeal.open(masterKey, 'session', value));
    if (session !== null) return { session };
  }
  return { session: null };
}

/** Whether cookies are for https alone, as far as the configuration says; null = it does not say. */
function isSecure({ active: { snapshot } }: Exchange): boolean | null {
  const { publicUrl = null } = snapshot.console ?? {};
  if (publicUrl !== null) return publicUrl.startsWith('https://');
  return snapshot.tls === null ? null : true;
}

/** Names that a cookie of ours may have. Proxies under several paths of one host do not take each other's. */
function cookieNames(x: Exchange, purpose: CookiePurpose): readonly string[] {
  const suffix = `${PURPOSES[purpose]}${suffixOf(x)}`;
  const secure = isSecure(x);
  if (secure === true) return [`${SECURE_NAME}${suffix}`];
  return [`${SECURE_NAME}${suffix}`, `${PLAIN_NAME}${suffix}`];
}

/** The name of a cookie that is set now, and whether it is for https alone: as the browser reached us, where nobody says so. */
export function cookieToSet(
  x: Exchange,
  purpose: CookiePurpose,
): { readonly name: string; readonly secure: boolean } {
  const secure = isSecure(x) ?? x.req.header('origin')?.toLowerCase().startsWith('https://') === true;
  return { name: `${secure ? SECURE_NAME : PLAIN_NAME}${PURPOSES[purpose]}${suffixOf(x)}`, secure };
}

function suffixOf({ active: { snapshot } }: Exchange): string {
  const path = URL.parse(snapshot.console?.publicUrl ?? '')?.pathname ?? '/';
  return path === '/'
    ? ''
    : path
        .replaceAll(/[^A-Za-z0-9]+/g, '-')
        .replace(/-$/, '')
        .slice(0, 64);
}

/** The values of our cookies. */
export const ownCookies = (x: Exchange, purpose: CookiePurpose): readonly string[] =>
  cookieNames(x, purpose).flatMap((name) => cookies(x, name));

/** The values of a cookie, in all headers that hold cookies. */
function cookies({ req: { headers } }: Exchange, name: string): readonly string[] {
  const found: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]?.toLowerCase() !== 'cookie') continue;
    for (const part of (headers[i + 1] ?? '').split(';')) {
      const equals = part.indexOf('=');
      if (equals >= 0 && part.slice(0, equals).trim() === name) found.push(part.slice(equals + 1).trim());
    }
  }
  return found;
}

/**
 * Whether the console's own page sent a request, or no browser did (words.filippo.io/csrf): every browser sends Origin with
 * what changes something, and Sec-Fetch-Site where it trusts the connection. Other requests of a page only read, and no
 * other page sees the answer.
 */
export function isByOwnPage(x: Exchange): boolean {
  const { req } = x;
  const site = req.header('sec-fetch-site');
  if (site !== null) return site === 'same-origin' || (site === 'none' && SAFE.has(req.method));
  const origin = req.header('origin');
  return origin === null || isOwnOrigin(x, origin);
}

function isOwnOrigin({ req, active: { snapshot } }: Exchange, origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false;
  const publicUrl = URL.parse(snapshot.console?.publicUrl ?? '');
  if (publicUrl !== null) return url.origin === publicUrl.origin;
  // TLS may end in front of the proxy, so the schemes need not agree.
  const host = URL.parse(`${url.protocol}//${req.header('host') ?? ''}`);
  return host !== null && host.host === url.host;
}

/** @throws Fault session_not_taken */
export function demandOwnPage(x: Exchange): void {
  if (!isByOwnPage(x))
    throw new Fault(
      'session_not_taken',
      'A session of the console counts only for requests of its own page.',
    );
  const { method } = x.req;
  if (SAFE.has(method) || method === 'DELETE') return;
  const media = x.headers.contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (media !== 'application/json')
    throw new Fault(
      'session_not_taken',
      'With a session of the console, send `content-type: application/json`.',
    );
}
