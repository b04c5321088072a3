// The OpenID Connect client of the console, by openid-client: discovery, the code flow with PKCE, state and nonce, and what the
// provider says of a person. The library is loaded by the first sign-in.
import type * as client from 'openid-client';
import type { OidcSettings } from '../../../config/console-settings.ts';
import { roleOf } from '../../access/console/session.ts';
import { pooledFetch } from '../../upstream/pooled-fetch.ts';
import type { Pools } from '../../upstream/pools.ts';

type Library = typeof client;

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 1024 * 1024;
const LONGEST_NAME = 200;

/** What is remembered of a sign-in while its person is at the provider. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Whom the provider has named. */
export interface Person {
  readonly userId: string;
  readonly name: string;
  /** Those that have a role; empty = the person may not sign in. */
  readonly groups: readonly string[];
}

/** The provider did not answer: it may do so later. */
export class ProviderAway extends Error {
  override readonly name = 'ProviderAway';
}

/** The provider, or what it answered, says that nobody signs in by this. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

export class OidcClient {
  readonly #pools: Pools;
  #known: { readonly settings: OidcSettings; readonly config: client.Configuration } | null = null;

  constructor(pools: Pools) {
    this.#pools = pools;
  }

  /** Where a browser goes to sign in, and what to remember meanwhile. @throws ProviderAway */
  async begin(settings: OidcSettings, redirectUri: string): Promise<{ url: URL; secrets: SignInSecrets }> {
    const library = await import('openid-client');
    const config = await this.#configuration(library, settings);
    const secrets = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    };
    const url = library.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: settings.scopes.join(' '),
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: 'S256',
    });
    return { url, secrets };
  }

  /** Who came back from the provider. @param url with the query that the provider has made. @throws ProviderAway, SignInRefused */
  async end(settings: OidcSettings, url: URL, secrets: SignInSecrets): Promise<Person> {
    const library = await import('openid-client');
    const config = await this.#configuration(library, settings);
    try {
      const tokens = await library.authorizationCodeGrant(config, url, {
        expectedState: secrets.state,
        expectedNonce: secrets.nonce,
        pkceCodeVerifier: secrets.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new SignInRefused('the provider named nobody');
      if (
        claims[settings.groupsClaim] !== undefined ||
        config.serverMetadata().userinfo_endpoint === undefined
      )
        return personOf(claims, settings);
      // Many providers tell of groups there alone.
      const more = await library.fetchUserInfo(config, tokens.access_token, claims.sub);
      return personOf({ ...claims, ...more }, settings);
    } catch (cause) {
      if (cause instanceof SignInRefused) throw cause;
      if (isAway(cause)) throw new ProviderAway(whyOf(cause), { cause });
      throw new SignInRefused(whyOf(cause), { cause });
    }
  }

  /** What the provider says of itself is asked for once; a failure is forgotten. @throws ProviderAway */
  async #configuration(library: Library, settings: OidcSettings): Promise<client.Configuration> {
    if (this.#known?.settings === settings) return this.#known.config;
    const { issuer, clientId, clientSecret, clientAuth } = settings;
    const isPlain = issuer.startsWith('http://'); // of this machine alone: see config/resolve/console.ts
    const secret = clientSecret?.reveal();
    const withSecret =
      clientAuth === 'client_secret_post' ? library.ClientSecretPost : library.ClientSecretBasic;
    try {
      const config = await library.discovery(
        new URL(issuer),
        clientId,
        undefined,
        secret === undefined ? library.None() : withSecret(secret),
        {
          timeout: TIMEOUT_MS / 1000,
          [library.customFetch]: pooledFetch(this.#pools, { timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES }),
          execute: isPlain ? [library.allowInsecureRequests] : [],
        },
      );
      library.enableNonRepudiationChecks(config); // signatures count, not the connection alone
      this.#known = { settings, config };
      return config;
    } catch (cause) {
      throw new ProviderAway(whyOf(cause), { cause });
    }
  }
}

type Claims = Readonly<Record<string, unknown>>;

function personOf(claims: Claims, { userClaim, groupsClaim, roles }: OidcSettings): Person {
  const userId = textOf(claims[userClaim]);
  if (userId === null) throw new SignInRefused(`the claim ${userClaim} is missing`);
  if (userClaim === 'email' && claims['email_verified'] !== true)
    throw new SignInRefused('the provider does not say that the e-mail address is verified');
  const stated = claims[groupsClaim];
  const groups = (Array.isArray(stated) ? stated : [stated]).filter((one) => typeof one === 'string');
  const name = ['name', 'preferred_username', 'email']
    .map((claim) => textOf(claims[claim]))
    .find((one) => one !== null);
  const own = groups.filter((group) => roleOf([group], roles) !== null);
  return { userId, name: (name ?? userId).slice(0, LONGEST_NAME), groups: own };
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME ? value : null;

/** fetch reports a provider that cannot be reached as a TypeError, which the library wraps. */
function isAway(error: unknown): boolean {
  for (let one: unknown = error; one instanceof Error; one = one.cause)
    if (
      one.name === 'TimeoutError' ||
      (one instanceof TypeError && /fetch failed|no answer/.test(one.message))
    )
      return true;
  return false;
}

/** The library's codes and sentences name no token. */
function whyOf(error: unknown): string {
  const { code, error: oauth, message } = error as { code?: unknown; error?: unknown; message?: unknown };
  return [code, oauth, message]
    .filter((one) => typeof one === 'string')
    .join(': ')
    .slice(0, 300);
}
