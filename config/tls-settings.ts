// TLS as the configuration resolves it: files are read at load, so every worker has the same and a reload brings new ones.
import type { Secret } from './secret.ts';

/** Certificate authorities of a PEM file. The text is no secret; as one, no diff and no log prints it. */
export interface Authorities {
  readonly file: string;
  readonly pem: Secret;
}

/** A certificate with its chain, and the key. */
export interface Certificate {
  readonly file: string;
  readonly pem: Secret;
  readonly key: Secret;
}

/** What connections to an upstream check and show. Connections with another one are never shared. */
export interface UpstreamTls {
  /** Over all that follows. */
  readonly sha256: string;
  /** null = those of Node. */
  readonly authorities: Authorities | null;
  /** No others than these; else they are added to those of Node. */
  readonly isExclusive: boolean;
  /** null = none is shown. */
  readonly certificate: Certificate | null;
}

/** TLS of our own ports. */
export interface ListenerTls {
  /** Over all that follows. */
  readonly sha256: string;
  readonly certificate: Certificate;
  /** Clients need a certificate from one of them; null = they need none. */
  readonly clientAuthorities: Authorities | null;
}
