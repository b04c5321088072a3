// Whether a virtual key is valid now, and which routes it opens by its type and its `allowed_routes`. Pure; the same for a
// listing as for a call. No text holds a key.
import { Fault } from '../errors/fault.ts';
import type { Team, VirtualKey } from './objects/objects.ts';

/** @throws Fault key_blocked, key_expired, team_blocked, team_removed */
export function checkKey(key: VirtualKey, team: Team | null, nowMs: number): void {
  if (key.blocked) {
    const text = "Authentication Error, Key is blocked. Update via `/key/unblock` if you're admin.";
    throw new Fault('key_blocked', text);
  }
  if (key.expiresMs !== null && nowMs >= key.expiresMs) {
    const [expired, now] = [key.expiresMs, nowMs].map((ms) => new Date(ms).toISOString());
    const text = `Authentication Error - Expired Key. Key Expiry time ${expired} and current time ${now}`;
    throw new Fault('key_expired', text);
  }
  if (team === null && key.needsTeam) {
    const text =
      `Team=${key.teamId} of this key was taken out of the configuration file, so its budget, limits and models hold no more. ` +
      'State it again, or give the key another team, or none, via `/key/update`.';
    throw new Fault('team_removed', text);
  }
  if (team?.blocked === true) {
    const text = `Team=${team.id} is blocked. Update via \`/team/unblock\` if you're admin.`;
    throw new Fault('team_blocked', text);
  }
}

/** What a route is to the keys that ask for it. */
export interface RouteKind {
  /** As sent, below the base path of a conversation. */
  readonly path: string;
  /** `management`: of keys, teams, users. `admin`: spend, models, metrics. */
  readonly kind: 'llm' | 'listing' | 'management' | 'admin';
}

type Group = (route: RouteKind, plain: string) => boolean;

const below =
  (...prefixes: readonly string[]): Group =>
  (_, plain) =>
    prefixes.some((prefix) => plain === prefix || plain.startsWith(`${prefix}/`));

const INFO: ReadonlySet<string> = new Set([
  '/key/info',
  '/v2/key/info',
  '/key/health',
  '/key/list',
  '/team/info',
  '/team/list',
  '/user/info',
  '/v2/user/info',
  '/model/info',
  '/models',
]);

/** The dialect's names for many routes at once. A name that is not here opens nothing. */
const GROUPS: ReadonlyMap<string, Group> = new Map<string, Group>([
  ['llm_api_routes', ({ kind }) => kind === 'llm' || kind === 'listing'],
  ['openai_routes', ({ kind }, plain) => (kind === 'llm' || kind === 'listing') && !isMessages(plain)],
  ['anthropic_routes', ({ kind }, plain) => kind === 'llm' && isMessages(plain)],
  ['info_routes', (_, plain) => INFO.has(plain)],
  ['management_routes', ({ kind }) => kind === 'management'],
  ['key_management_routes', below('/key', '/v2/key')],
  ['team_management_routes', below('/team')],
  ['user_management_routes', below('/user', '/v2/user')],
  ['spend_tracking_routes', below('/spend', '/global/spend')],
  ['self_managed_routes', ({ kind }) => kind === 'management'],
]);

const isMessages = (plain: string): boolean => below('/messages')({ path: plain, kind: 'llm' }, plain);

const VERSION = /^(?:\/(?:openai|anthropic))?\/{1,2}v1(?:\/v1)?(?=\/)/;

/** `/v1/x`, `//v1/x`, `/v1/v1/x` and `/v1/x/` are one route: `/x`. */
const withoutVersion = (path: string): string => path.replace(VERSION, '').replace(/(?<=.)\/$/, '');

/** @throws Fault route_denied */
export function checkRoute({ type, allowedRoutes }: VirtualKey, route: RouteKind): void {
  if (type === 'management' && route.kind === 'llm')
    throw denied('This key is of the type management, so it makes no LLM calls.');
  if (type === 'read_only' && route.kind === 'llm')
    throw denied('This key is of the type read_only, so it makes no LLM calls.');
  if (allowedRoutes.length === 0 || allowedRoutes.some((allowed) => opens(allowed, route))) return;
  const shown = allowedRoutes.slice(0, 20).join(', ');
  throw denied(
    `Virtual key is not allowed to call this route. Only allowed to call routes: [${shown}]. ` +
      `Tried to call route: ${route.path.slice(0, 200)}`,
  );
}

function opens(allowed: string, route: RouteKind): boolean {
  const plain = withoutVersion(route.path);
  const group = GROUPS.get(allowed);
  if (group !== undefined) return group(route, plain);
  if (isIn(route.path, allowed)) return true;
  // What states a version means what has one: `/v1/*` is not every path there is.
  if (VERSION.test(allowed) && route.kind !== 'llm' && route.kind !== 'listing') return false;
  if (allowed.startsWith('/anthropic/') && !isMessages(plain)) return false;
  return isIn(plain, withoutVersion(allowed));
}

const isIn = (path: string, pattern: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;

const denied = (text: string): Fault => new Fault('route_denied', text);
