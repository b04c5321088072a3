// A PostgreSQL store read from outside, over one connection and in one read-only transaction.
import type { Client } from 'pg';
import type { DatabaseSettings } from '../../../../config/database-settings.ts';
import type { SqlDialect } from '../sql/dialect.ts';
import type { Sql } from '../sql/spend-sql.ts';
import { SqlReader, type ReadTransaction } from '../sql/sql-reader.ts';
import { StoreUnavailable } from '../store.ts';
import { PgConnection } from './connection.ts';
import { postgresDialect } from './dialect.ts';
import { POSTGRES_SCHEMA, quoted, versionOf } from './migrations.ts';
import { databaseData } from './settings.ts';

type Row = Readonly<Record<string, unknown>>;

const STATEMENT_MS = 600_000; // ids of a year of rows are grouped in some ten seconds

export const readerOf = (database: DatabaseSettings): SqlReader => new SqlReader(new PostgresRead(database));

/** Connected by the first query. */
class PostgresRead implements ReadTransaction {
  readonly shown: string;
  readonly dialect: SqlDialect;
  readonly #connection: PgConnection<Client>;

  constructor(database: DatabaseSettings) {
    const { shown, schema } = database;
    this.shown = `the database ${shown}`;
    this.dialect = postgresDialect(quoted(schema));
    this.#connection = new PgConnection({
      database: databaseData(database),
      timeoutMs: STATEMENT_MS,
      prepare: async (client) => {
        const version = await versionOf(client, schema);
        if (version !== POSTGRES_SCHEMA) {
          throw new StoreUnavailable(
            'unavailable',
            `the schema ${schema} of ${shown} has version ${version}, this version of Throughline reads ` +
              `${POSTGRES_SCHEMA} - use the version that serves it, or serve it with this one first`,
          );
        }
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
        return client;
      },
    });
  }

  all({ text, values }: Sql): Promise<readonly Row[]> {
    return this.#connection.use(async (client) => (await client.query<Row>(text, values)).rows);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
