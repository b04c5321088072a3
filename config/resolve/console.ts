// `general_settings.console` -> ConsoleSettings. On by itself where a master key guards the proxy. Pure.
import type { ConsoleRole, ConsoleSettings, OidcSettings } from '../console-settings.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import { Secret } from '../secret.ts';
import type { Path } from '../tree.ts';

const AT: Path = ['general_settings', 'console'];
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

type Written = NonNullable<GatewayFile['general_settings']['console']>;
type WrittenOidc = NonNullable<Written['oidc']>;

/** null = there is no console. */
export function consoleOf(
  { general_settings: { console: written } }: GatewayFile,
  masterKey: Secret | null,
  diagnostics: Diagnostics,
): ConsoleSettings | null {
  const isOn = written?.enabled ?? masterKey !== null;
  const publicUrl = publicUrlOf(written, diagnostics);
  const oidc = oidcOf(written?.oidc, publicUrl, masterKey, diagnostics);
  if (!isOn) return null;
  return {
    publicUrl,
    sessionMs: Math.round(Number(written?.session_hours ?? 8) * HOUR_MS),
    idleMs: Math.round(Number(written?.idle_minutes ?? 30) * MINUTE_MS),
    oidc,
  };
}

function publicUrlOf(written: Written | undefined, diagnostics: Diagnostics): string | null {
  if (written?.public_url === undefined) return null;
  const at = [...AT, 'public_url'];
  const url = URL.parse(written.public_url);
  const isPlain =
    url !== null && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (!isPlain || !['http:', 'https:'].includes(url.protocol)) {
    diagnostics.error(
      at,
      'is not the address of a page',
      'write the address at which browsers reach the proxy, for example https://llm.example.com',
    );
    return null;
  }
  const plain = `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  if (!plain.endsWith('/ui')) return plain;
  diagnostics.error(at, 'ends in /ui, which is added to it', 'leave /ui out');
  return null;
}

function oidcOf(
  written: WrittenOidc | undefined,
  publicUrl: string | null,
  masterKey: Secret | null,
  diagnostics: Diagnostics,
): OidcSettings | null {
  if (written === undefined) return null;
  const at = [...AT, 'oidc'];
  if (publicUrl === null)
    diagnostics.error(
      [...AT, 'oidc'],
      'needs console.public_url: the provider sends browsers back to it',
      'set public_url to the address at which browsers reach the proxy, and register <public_url>/ui/oidc/callback',
    );
  if (masterKey === null && diagnostics.isSound(['general_settings', 'master_key']))
    diagnostics.error(at, 'needs a master key, which seals the sessions', 'set general_settings.master_key');
  const issuer = URL.parse(written.issuer);
  const isLocal = issuer !== null && ['localhost', '127.0.0.1', '[::1]'].includes(issuer.hostname);
  if (issuer === null || !(issuer.protocol === 'https:' || (issuer.protocol === 'http:' && isLocal)))
    diagnostics.error(
      [...at, 'issuer'],
      'is not an https address',
      'write the issuer as the provider states it, for example https://login.example.com/realms/main',
    );
  return {
    issuer: written.issuer,
    clientId: written.client_id,
    clientSecret: written.client_secret === undefined ? null : new Secret(written.client_secret),
    clientAuth: written.client_auth,
    scopes: ['openid', ...written.scopes.filter((scope) => scope !== 'openid')],
    groupsClaim: written.groups_claim,
    userClaim: written.user_claim,
    name: written.name,
    roles: new Map(Object.entries(written.roles) as [string, ConsoleRole][]),
  };
}
