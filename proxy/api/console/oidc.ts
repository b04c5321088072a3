// `/ui/oidc/login` and `/ui/oidc/callback`: signing in to the console through the organization's provider. What a sign-in needs until
// its person is back is sealed in a cookie of ten minutes, so that any worker or server may answer. Whatever goes wrong leads
// back to the page, which says what to do.
import type { ConsoleSettings, OidcSettings } from '../../../config/console-settings.ts';
import { ownCookies } from '../../pipeline/console-session.ts';
import { sendResponse } from '../../pipeline/respond.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { OidcClient, ProviderAway, SignInRefused, type Person, type SignInSecrets } from './oidc-client.ts';
import { begun, cookieOf, setCookie, settingsOf } from './session.ts';

/** What the page gets to say. */
type Why = 'off' | 'unavailable' | 'no_role' | 'expired' | 'refused' | 'loop';

interface Pending extends SignInSecrets {
  readonly atMs: number;
  /** A place of the page. */
  readonly to: string;
  /** Sign-ins that this browser has begun in a row. */
  readonly count: number;
}

const PENDING_MS = 600_000;
/** A person needs longer; a page that sends itself does not. */
const HASTE_MS = 60_000;
const MOST_IN_HASTE = 5;
const PLACE = /^[\w-]{0,40}(?:\?[\w=&%.,:~+*-]{0,400})?$/;

export class OidcRoutes {
  #client: OidcClient | null = null;

  /** `GET /ui/oidc/login` */
  async login(x: Exchange): Promise<void> {
    const known = oidcOf(x);
    if (known === null) return back(x, 'off');
    const { settings, oidc } = known;
    const before = pendingOf(x);
    const count = before !== null && x.startMs - before.atMs < HASTE_MS ? before.count + 1 : 1;
    if (count > MOST_IN_HASTE) return back(x, 'loop');
    const wanted = new URLSearchParams(x.query).get('to') ?? '';
    try {
      const { url, secrets } = await this.#made(x).begin(oidc, redirectUri(settings));
      const to = PLACE.test(wanted) ? wanted : '';
      const pending: Pending = { ...secrets, atMs: x.startMs, to, count };
      redirect(x, url.href, [pendingCookie(x, pending)]);
    } catch (error) {
      this.#failed(x, error);
    }
  }

  /** `GET /ui/oidc/callback` */
  async callback(x: Exchange): Promise<void> {
    const known = oidcOf(x);
    if (known === null) return back(x, 'off');
    const { settings, oidc } = known;
    const pending = pendingOf(x);
    const query = new URLSearchParams(x.query);
    const isOurs =
      pending !== null && x.startMs - pending.atMs < PENDING_MS && query.get('state') === pending.state;
    if (!isOurs) return back(x, 'expired');
    try {
      const url = new URL(`${redirectUri(settings)}?${x.query}`);
      const person = await this.#made(x).end(oidc, url, pending);
      if (person.groups.length === 0) return back(x, 'no_role');
      redirect(x, `../${pending.to}`, [cookieOf(x, begunBy(x, person), settings), forgotten(x)]);
    } catch (error) {
      this.#failed(x, error);
    }
  }

  #failed(x: Exchange, error: unknown): void {
    const isAway = error instanceof ProviderAway;
    if (!isAway && !(error instanceof SignInRefused)) throw error;
    const why = error.message;
    x.active.services.log.warn(
      { event: 'console_sign_in_failed', call_id: x.id, address: x.clientAddress, why },
      isAway ? 'the OpenID Connect provider does not answer' : 'a sign-in through the provider was refused',
    );
    back(x, isAway ? 'unavailable' : 'refused');
  }

  #made({ active: { services } }: Exchange): OidcClient {
    return (this.#client ??= new OidcClient(services.pools));
  }
}

const begunBy = (x: Exchange, { userId, name, groups }: Person) =>
  begun(x, { kind: 'oidc', userId, name, groups });

/** null: no provider is configured. @throws Fault route_not_found */
function oidcOf(x: Exchange): { settings: ConsoleSettings; oidc: OidcSettings } | null {
  const settings = settingsOf(x);
  return settings.oidc === null ? null : { settings, oidc: settings.oidc };
}

const redirectUri = ({ publicUrl }: ConsoleSettings): string => `${publicUrl ?? ''}/ui/oidc/callback`;

/** To the page, with what it is to say; both routes are one level below it. */
const back = (x: Exchange, why: Why): void => redirect(x, `../?signin=${why}`, [forgotten(x)]);

function redirect(x: Exchange, location: string, cookies: readonly string[]): void {
  const headers = ['location', location, 'cache-control', 'no-store', 'referrer-policy', 'no-referrer'];
  sendResponse(x, 302, [...headers, ...cookies.flatMap((one) => ['set-cookie', one])], Buffer.alloc(0));
}

function pendingOf(x: Exchange): Pending | null {
  const { masterKey } = x.active.snapshot;
  if (masterKey === null) return null;
  for (const text of ownCookies(x, 'sign-in')) {
    const value = x.active.services.sessionSeal.open(masterKey, 'sign-in', text) as Partial<Pending> | null;
    if (typeof value?.state === 'string' && typeof value.atMs === 'number') return value as Pending;
  }
  return null;
}

function pendingCookie(x: Exchange, pending: Pending): string {
  const { masterKey } = x.active.snapshot;
  if (masterKey === null) throw new Error('sign-ins are sealed with the master key');
  const text = x.active.services.sessionSeal.seal(masterKey, 'sign-in', pending);
  // Lax: the provider sends the browser back to us.
  return setCookie(x, 'sign-in', text, PENDING_MS / 1000, 'Lax');
}

const forgotten = (x: Exchange): string => setCookie(x, 'sign-in', '', 0, 'Lax');
