// The configured database as plain data for the worker, and there as what the driver wants. Reads the certificate
// files at each connection, because they are renewed under a running process. Prints nothing: it holds the password.
import type { ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';
import { watchedBytes } from '../../../../config/read.ts';
import type { DatabaseSettings } from '../../../../config/database-settings.ts';

/** `DatabaseSettings` as a structured clone can carry it to the worker. */
export type DatabaseData = Omit<DatabaseSettings, 'password'> & { readonly password: string | null };

/** Reveals the password, for the worker alone. */
export function databaseData(settings: DatabaseSettings): DatabaseData {
  return { ...settings, password: settings.password?.reveal() ?? null };
}

/** What a client of the driver is made with. @throws Error when a certificate file cannot be read */
export function clientConfig(data: DatabaseData, encrypted: boolean, timeoutMs: number): ClientConfig {
  return {
    host: data.host,
    port: data.port,
    database: data.database,
    user: data.user,
    // A function, because the driver looks for PGPASSWORD and ~/.pgpass when it is given none.
    password: () => data.password ?? '',
    ...(data.options === null ? {} : { options: data.options }),
    ssl: encrypted ? tlsOptions(data) : false,
    application_name: 'throughline',
    connectionTimeoutMillis: data.connectTimeoutMs,
    query_timeout: timeoutMs, // on this side: proxies between us and the server refuse it as a startup parameter
    keepAlive: true,
  };
}

function tlsOptions({ tls, caFile, certFile, keyFile }: DatabaseData): ConnectionOptions {
  const read = (path: string | null): { pem: Buffer } | null =>
    path === null ? null : { pem: watchedBytes(path) };
  const [ca, cert, key] = [read(caFile), read(certFile), read(keyFile)];
  // As in libpq: `require` with a root certificate verifies like `verify-ca`.
  const verified = tls === 'verify-ca' || tls === 'verify-full' || (tls === 'require' && ca !== null);
  return {
    rejectUnauthorized: verified,
    ...(tls === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ...(ca === null ? {} : { ca: ca.pem }),
    ...(cert === null ? {} : { cert: cert.pem }),
    ...(key === null ? {} : { key: key.pem }),
  };
}
