// What the console (the page at `/ui`) is configured with, in the server's units.
import type { Secret } from './secret.ts';

/** What somebody who signs in through a provider may do; as the roles of users. */
export type ConsoleRole = 'proxy_admin' | 'proxy_admin_viewer' | 'internal_user' | 'internal_user_viewer';

export interface OidcSettings {
  /** Without the path of its discovery document. */
  readonly issuer: string;
  readonly clientId: string;
  /** null: a public client, which has PKCE alone. */
  readonly clientSecret: Secret | null;
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post';
  readonly scopes: readonly string[];
  /** The claim that lists the groups. */
  readonly groupsClaim: string;
  /** The claim that says who it is: the id of the user. */
  readonly userClaim: string;
  /** What the page calls the provider. */
  readonly name: string;
  /** The role of each group, as the file lists them. */
  readonly roles: ReadonlyMap<string, ConsoleRole>;
}

export interface ConsoleSettings {
  /** Of the proxy as browsers reach it, without a slash at the end; null = not stated. */
  readonly publicUrl: string | null;
  /** A session ends after so long. */
  readonly sessionMs: number;
  /** A session ends when nobody has done anything for so long. */
  readonly idleMs: number;
  /** null: keys alone sign in. */
  readonly oidc: OidcSettings | null;
}
