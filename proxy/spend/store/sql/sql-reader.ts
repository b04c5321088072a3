// A store read from outside by SQL that SQLite and PostgreSQL both understand. A backend adds how one statement is run.
import type { SpendRecord } from '../../record/record.ts';
import type { KeptSum, StoreReader } from '../reader.ts';
import type { Position } from '../segments.ts';
import type { Activity, ActivityFilter, Facet, SpendFilter, SpentQuery, SpentSum } from '../store.ts';
import type { SqlDialect } from './dialect.ts';
import { dailySumsSql, daysSql, doublesSql, knownSql, nextRowsSql, type After } from './reader-queries.ts';
import { spentSqls, spentSumsOf } from './spent-since.ts';
import { SUM_COLUMNS } from './rollup.ts';
import { recordOf } from './spend-columns.ts';
import { activityOf, activitySql, wholeOf, type Sql } from './spend-sql.ts';

type Row = Readonly<Record<string, unknown>>;

/** Rows of one query: 4 MB at most in all but odd cases. */
const PAGE_ROWS = 2_000;
/** Ids of one query; SQLite takes 32,766 values. */
const IDS_AT_ONCE = 500;

/** One read-only transaction. Every call may reject with `StoreUnavailable`. */
export interface ReadTransaction {
  /** What is read, for people. */
  readonly shown: string;
  readonly dialect: SqlDialect;
  /** @param sums the rows hold sums, which may exceed 2^53 */
  all(sql: Sql, sums?: boolean): Promise<readonly Row[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

export class SqlReader implements StoreReader {
  readonly shown: string;
  readonly #transaction: ReadTransaction;
  readonly #dialect: SqlDialect;

  constructor(transaction: ReadTransaction) {
    this.shown = transaction.shown;
    this.#transaction = transaction;
    this.#dialect = transaction.dialect;
  }

  async activity(
    filter: ActivityFilter,
    groupBy: readonly (Facet | 'day')[],
    limit: number,
  ): Promise<readonly Activity[]> {
    const rows = await this.#transaction.all(activitySql(filter, groupBy, limit, this.#dialect), true);
    return rows.map((row) => activityOf(row, groupBy));
  }

  /** A page after the other, each beginning where the last one ended. */
  async *rows(filter: SpendFilter): AsyncGenerator<SpendRecord> {
    let after: After | null = null;
    for (;;) {
      const sql = nextRowsSql(filter, after, PAGE_ROWS, this.#dialect);
      const page: readonly Row[] = await this.#transaction.all(sql);
      for (const row of page) {
        const record = recordOf(row);
        after = record;
        yield record;
      }
      if (page.length < PAGE_ROWS) return;
    }
  }

  async positions(): Promise<ReadonlyMap<string, Position>> {
    const rows = await this.#transaction.all({ text: this.#dialect.positions, values: [] });
    return new Map(
      rows.map((row) => [
        String(row['journal_id']),
        { segment: Number(row['segment']), offset: Number(row['byte_offset']) },
      ]),
    );
  }

  async known(requestIds: readonly string[]): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (let i = 0; i < requestIds.length; i += IDS_AT_ONCE) {
      const sql = knownSql(requestIds.slice(i, i + IDS_AT_ONCE), this.#dialect);
      for (const row of await this.#transaction.all(sql)) known.add(String(row['request_id']));
    }
    return known;
  }

  async doubles(limit: number): Promise<readonly string[]> {
    const rows = await this.#transaction.all(doublesSql(limit, this.#dialect));
    return rows.map((row) => String(row['request_id']));
  }

  async days(filter: Pick<ActivityFilter, 'startDay' | 'endDay'>): Promise<readonly string[]> {
    const rows = await this.#transaction.all(daysSql(filter, this.#dialect));
    return rows.map((row) => String(row['day']));
  }

  async keptSums(day: string): Promise<readonly KeptSum[]> {
    const rows = await this.#transaction.all(dailySumsSql(day, this.#dialect), true);
    return rows.map((row) => ({
      axis: String(row['axis']),
      id: String(row['id']),
      sums: SUM_COLUMNS.map((column) => wholeOf(row[column])),
    }));
  }

  async spentSince(queries: readonly SpentQuery[]): Promise<readonly (readonly SpentSum[])[]> {
    const all: SpentSum[][] = [];
    for (const query of queries) {
      const results: (readonly Row[])[] = [];
      for (const sql of spentSqls(query, this.#dialect)) results.push(await this.#transaction.all(sql, true));
      all.push(spentSumsOf(query, results));
    }
    return all;
  }

  close(): Promise<void> {
    return this.#transaction.close();
  }
}
