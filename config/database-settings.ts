// Settings of the PostgreSQL database (`general_settings.database_url`).
import type { Secret } from './secret.ts';

/** As in libpq: `prefer` uses TLS if the server offers it, `require` encrypts but accepts any certificate. */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** The PostgreSQL database that stores durable data. */
export interface DatabaseSettings {
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: Secret | null;
  /** Schema of all tables. */
  readonly schema: string;
  /** Command line options for the server, as libpq's `options`. */
  readonly options: string | null;
  readonly tls: TlsMode;
  /** Paths of PEM files. */
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
  readonly connectTimeoutMs: number;
  /** `postgresql://host:port/database`: for messages, without user and password. */
  readonly shown: string;
}
