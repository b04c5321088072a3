// Tables of others in PostgreSQL, over a connection of whoever opens this: the store's writing one while the proxy runs,
// one of its own for a command that works on the data of a stopped server.
import type { Client } from 'pg';
import type { DatabaseSettings } from '../../../../config/snapshot.ts';
import type { GuestRow, GuestStatement, GuestTables } from '../extension-tables.ts';
import { Link } from './connection.ts';
import { migrateChain } from './migrations.ts';
import { databaseData } from './settings.ts';

const STATEMENT_MS = 60_000;

/** Guests over a connection. @param use runs a task when those before it have ended */
export function guestsOver(
  schema: string,
  use: <R>(task: (client: Client) => Promise<R>) => Promise<R>,
): GuestTables {
  return {
    migrateGuest: ({ versionTable, steps }) =>
      use((client) => migrateChain(client, schema, { versionTable, steps })),
    transact: (statements) => use((client) => transact(client, statements)),
  };
}

/** Guests over one connection of their own, made with the first question. */
export function openGuests(database: DatabaseSettings): GuestTables & { close(): Promise<void> } {
  const link = new Link<Client>({
    database: databaseData(database),
    timeoutMs: STATEMENT_MS,
    prepare: (client) => Promise.resolve(client),
  });
  const guests = guestsOver(database.schema, (task) => link.use(task));
  return { ...guests, close: () => link.close() };
}

/** A thrown error gives the connection up, and with it the transaction. */
async function transact(
  client: Client,
  statements: readonly GuestStatement[],
): Promise<readonly (readonly GuestRow[])[] | null> {
  const isOne = statements.length === 1; // a transaction by itself: two round trips less
  const rows: (readonly GuestRow[])[] = [];
  if (!isOne) await client.query('BEGIN');
  for (const { text, values, changesOne } of statements) {
    const result = await client.query<GuestRow>(text, [...values]);
    if (changesOne === true && result.rowCount !== 1) {
      if (!isOne) await client.query('ROLLBACK');
      return null;
    }
    rows.push(result.rows);
  }
  if (!isOne) await client.query('COMMIT');
  return rows;
}
