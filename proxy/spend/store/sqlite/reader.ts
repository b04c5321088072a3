// An SQLite store read from outside. Write-ahead logging lets it be read while a proxy writes; a copy of the file works
// as well. Blocks its thread, so never within a proxy.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { asError } from '../../../base/as-error.ts';
import type { Sql } from '../sql/spend-sql.ts';
import { SqlReader, type ReadTransaction } from '../sql/sql-reader.ts';
import { StoreUnavailable } from '../store.ts';
import { isDamage } from './damage.ts';
import { SQLITE_DIALECT } from './dialect.ts';
import { SQLITE_SCHEMA } from './migrations.ts';

type Row = Readonly<Record<string, unknown>>;

const BUSY_WAIT_MS = 10_000;

export const readerOf = (file: string): SqlReader => new SqlReader(new SqliteRead(file));

/** Opened by the first query. */
class SqliteRead implements ReadTransaction {
  readonly shown: string;
  readonly dialect = SQLITE_DIALECT;
  readonly #file: string;
  #db: DatabaseSync | null = null;

  constructor(file: string) {
    this.#file = file;
    this.shown = `the SQLite file ${file}`;
  }

  async all({ text, values }: Sql, sums = false): Promise<readonly Row[]> {
    try {
      this.#db ??= this.#open();
      const statement = this.#db.prepare(text);
      statement.setReadBigInts(sums);
      return statement.all(...values);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      if (isDamage(error))
        throw new StoreUnavailable(
          'damaged',
          `${this.shown} is damaged (${asError(error).message}) - see "A damaged database" in docs/operating.md`,
        );
      throw this.#unavailable(
        `cannot be read (${asError(error).message}) - see that it and its directory may be read`,
      );
    }
  }

  async close(): Promise<void> {
    this.#db?.close();
    this.#db = null;
  }

  #open(): DatabaseSync {
    if (!existsSync(this.#file))
      throw this.#unavailable(
        'does not exist - name the data directory of the proxy with --data-dir, or its PostgreSQL with --database-url',
      );
    const db = new DatabaseSync(this.#file, { readOnly: true, timeout: BUSY_WAIT_MS });
    try {
      const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
      if (version !== SQLITE_SCHEMA) {
        throw this.#unavailable(
          `has schema ${version}, this version of Throughline reads ${SQLITE_SCHEMA} - ` +
            'use the version that serves it, or serve it with this one first',
        );
      }
      db.exec('BEGIN');
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  }

  #unavailable(what: string): StoreUnavailable {
    return new StoreUnavailable('unavailable', `${this.shown} ${what}`);
  }
}
