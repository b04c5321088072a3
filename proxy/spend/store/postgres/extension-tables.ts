// Tables of others in PostgreSQL, over one connection, and what other sessions NOTIFY about them.
import type { Client } from 'pg';
import type { DatabaseSettings } from '../../../../config/database-settings.ts';
import type {
  ExtensionRow,
  ExtensionSchema,
  ExtensionStatement,
  ExtensionTables,
} from '../extension-tables.ts';
import { BEGIN, PgConnection } from './connection.ts';
import { migrateChain } from './migrations.ts';
import { databaseData, type DatabaseData } from './settings.ts';
import { DatabaseSilence } from './silence.ts';

const STATEMENT_MS = 60_000;

/** Connects with the first call. */
export class ExtensionConnection implements ExtensionTables {
  readonly #schema: string;
  readonly #quickMs: number;
  readonly #connection: PgConnection<Client>;
  readonly #listeners = new Map<string, () => void>();

  constructor(database: DatabaseData, silence = DatabaseSilence.of(database)) {
    this.#schema = database.schema;
    this.#quickMs = Math.min(database.connectTimeoutMs, STATEMENT_MS);
    this.#connection = new PgConnection({
      database,
      silence,
      timeoutMs: STATEMENT_MS,
      prepare: async (client) => {
        client.on('notification', ({ channel }) => this.#listeners.get(channel)?.());
        await this.#listenOn(client, [...this.#listeners.keys()]);
        return client;
      },
    });
  }

  migrateExtension({ versionTable, steps }: ExtensionSchema): Promise<void> {
    return this.#connection.use((client) => migrateChain(client, this.#schema, { versionTable, steps }));
  }

  transact(
    statements: readonly ExtensionStatement[],
    isQuick = false,
  ): ReturnType<ExtensionTables['transact']> {
    const withinMs = isQuick ? this.#quickMs : STATEMENT_MS;
    return this.#connection.use((client) => transact(client, statements, withinMs));
  }

  listen(channel: string, act: () => void): Promise<boolean> {
    this.#listeners.set(channel, act);
    return this.#connection.use((client) => this.#listenOn(client, [channel]));
  }

  /** Ends the connection under whatever runs on it. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /**
   * A pooler gives out process numbers of its own, and may take LISTEN for one session and what follows for another:
   * https://www.pgbouncer.org/features.html
   */
  async #listenOn(client: Client, channels: readonly string[]): Promise<boolean> {
    if (channels.length === 0) return false;
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    if (rows[0]?.pid !== Reflect.get(client, 'processID')) return false; // not in the driver's types
    try {
      for (const channel of channels) await client.query(`LISTEN "${channel}"`);
      return true;
    } catch (error) {
      if ((error as { readonly code?: string }).code === undefined) throw error; // not the server's answer
      return false;
    }
  }
}

/** For a command that works on the data of a stopped server. */
export function openExtensionTables(
  database: DatabaseSettings,
): ExtensionTables & { close(): Promise<void> } {
  return new ExtensionConnection(databaseData(database));
}

/** A thrown error gives the connection up, and with it the transaction. */
async function transact(
  client: Client,
  statements: readonly ExtensionStatement[],
  withinMs: number,
): Promise<readonly (readonly ExtensionRow[])[] | null> {
  const isOne = statements.length === 1; // a transaction by itself: two round trips less
  const rows: (readonly ExtensionRow[])[] = [];
  if (!isOne) await client.query(BEGIN);
  for (const { text, values, changesOne } of statements) {
    const query = { text, values: [...values], query_timeout: withinMs }; // the last is not in the driver's types
    const result = await client.query<ExtensionRow>(query);
    if (changesOne === true && result.rowCount !== 1) {
      if (!isOne) await client.query('ROLLBACK');
      return null;
    }
    rows.push(result.rows);
  }
  if (!isOne) await client.query('COMMIT');
  return rows;
}
