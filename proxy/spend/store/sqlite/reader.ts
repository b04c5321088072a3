// An SQLite store read from outside. Write-ahead logging lets it be read while a proxy writes; a copy of the file works
// as well. Blocks its thread, so never within a proxy.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SpendRecord } from '../../record/record.ts';
import type { KeptSum, SpendArchive } from '../reader.ts';
import { IDS_AT_ONCE, keptSumOf, pagedRows } from '../sql/reader-rows.ts';
import type { Position } from '../segments.ts';
import { SQLITE_SPELLING } from '../sql/dialect.ts';
import { dailySumsSql, daysSql, doublesSql, knownSql } from '../sql/reader-sql.ts';
import { activityOf, activitySql, type Sql } from '../sql/spend-sql.ts';
import { SQLITE_SCHEMA } from './migrations.ts';
import { StoreUnavailable } from '../store.ts';
import type { Activity, ActivityFilter, Facet, SpendFilter } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

const BUSY_WAIT_MS = 10_000;

export class SqliteArchive implements SpendArchive {
  readonly shown: string;
  readonly #file: string;
  #db: DatabaseSync | null = null;

  constructor(file: string) {
    this.#file = file;
    this.shown = `the SQLite file ${file}`;
  }

  async activity(
    filter: ActivityFilter,
    groupBy: readonly (Facet | 'day')[],
    limit: number,
  ): Promise<readonly Activity[]> {
    const rows = this.#all(activitySql(filter, groupBy, limit, SQLITE_SPELLING), true);
    return rows.map((row) => activityOf(row, groupBy));
  }

  rows(filter: SpendFilter): AsyncIterable<SpendRecord> {
    return pagedRows(filter, SQLITE_SPELLING, async (sql) => this.#all(sql));
  }

  async positions(): Promise<ReadonlyMap<string, Position>> {
    const rows = this.#all({ text: 'SELECT journal_id, segment, offset FROM cursor', values: [] });
    return new Map(
      rows.map((row) => [
        String(row['journal_id']),
        { segment: Number(row['segment']), offset: Number(row['offset']) },
      ]),
    );
  }

  async known(requestIds: readonly string[]): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (let i = 0; i < requestIds.length; i += IDS_AT_ONCE) {
      const rows = this.#all(knownSql(requestIds.slice(i, i + IDS_AT_ONCE), SQLITE_SPELLING));
      for (const row of rows) known.add(String(row['request_id']));
    }
    return known;
  }

  async doubles(limit: number): Promise<readonly string[]> {
    return this.#all(doublesSql(limit, SQLITE_SPELLING)).map((row) => String(row['request_id']));
  }

  async days(filter: Pick<ActivityFilter, 'startDay' | 'endDay'>): Promise<readonly string[]> {
    return this.#all(daysSql(filter, SQLITE_SPELLING)).map((row) => String(row['day']));
  }

  async keptSums(day: string): Promise<readonly KeptSum[]> {
    return this.#all(dailySumsSql(day, SQLITE_SPELLING), true).map(keptSumOf);
  }

  async close(): Promise<void> {
    this.#db?.close();
    this.#db = null;
  }

  #all({ text, values }: Sql, bigints = false): Row[] {
    try {
      this.#db ??= this.#open();
      const statement = this.#db.prepare(text);
      statement.setReadBigInts(bigints);
      return statement.all(...values);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      throw this.#unavailable(
        `cannot be read (${(error as Error).message}) - see that it and its directory may be read`,
      );
    }
  }

  #open(): DatabaseSync {
    if (!existsSync(this.#file))
      throw this.#unavailable('does not exist - name the data directory of the proxy with --data-dir');
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
