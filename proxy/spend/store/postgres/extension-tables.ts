// Tables of others in PostgreSQL, over a connection of whoever opens this: the store's writing one while the proxy runs,
// one of its own for a command that works on the data of a stopped server.
import type { Client } from 'pg';
import type { DatabaseSettings } from '../../../../config/snapshot.ts';
import type { ExtensionRow, ExtensionStatement, ExtensionTables } from '../extension-tables.ts';
import { PgConnection } from './connection.ts';
import { migrateChain } from './migrations.ts';
import { databaseData } from './settings.ts';

const STATEMENT_MS = 60_000;

/** Over a connection that is there. @param use runs a task when those before it have ended */
export function extensionTablesOver(
  schema: string,
  use: <R>(task: (client: Client) => Promise<R>) => Promise<R>,
): ExtensionTables {
  return {
    migrateExtension: ({ versionTable, steps }) =>
      use((client) => migrateChain(client, schema, { versionTable, steps })),
    transact: (statements) => use((client) => transact(client, statements)),
  };
}

/** Over one connection of their own, made with the first call. */
export function openExtensionTables(
  database: DatabaseSettings,
): ExtensionTables & { close(): Promise<void> } {
  const connection = new PgConnection<Client>({
    database: databaseData(database),
    timeoutMs: STATEMENT_MS,
    prepare: (client) => Promise.resolve(client),
  });
  const extensionTables = extensionTablesOver(database.schema, (task) => connection.use(task));
  return { ...extensionTables, close: () => connection.close() };
}

/** A thrown error gives the connection up, and with it the transaction. */
async function transact(
  client: Client,
  statements: readonly ExtensionStatement[],
): Promise<readonly (readonly ExtensionRow[])[] | null> {
  const isOne = statements.length === 1; // a transaction by itself: two round trips less
  const rows: (readonly ExtensionRow[])[] = [];
  if (!isOne) await client.query('BEGIN');
  for (const { text, values, changesOne } of statements) {
    const result = await client.query<ExtensionRow>(text, [...values]);
    if (changesOne === true && result.rowCount !== 1) {
      if (!isOne) await client.query('ROLLBACK');
      return null;
    }
    rows.push(result.rows);
  }
  if (!isOne) await client.query('COMMIT');
  return rows;
}
