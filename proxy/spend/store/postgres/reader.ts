// A PostgreSQL store read from outside, over one connection and in one read-only transaction.
import type { Client } from 'pg';
import type { DatabaseSettings } from '../../../../config/snapshot.ts';
import type { SpendRecord } from '../../record/record.ts';
import type { KeptSum, SpendArchive } from '../reader.ts';
import { IDS_AT_ONCE, keptSumOf, pagedRows } from '../sql/reader-rows.ts';
import { Link } from './connection.ts';
import { POSTGRES_SCHEMA, quoted, versionOf } from './migrations.ts';
import { databaseData } from './settings.ts';
import type { Position } from '../segments.ts';
import { postgresSpelling } from '../sql/dialect.ts';
import { dailySumsSql, daysSql, doublesSql, knownSql } from '../sql/reader-sql.ts';
import { activityOf, activitySql } from '../sql/spend-sql.ts';
import type { Spelling, Sql } from '../sql/spend-sql.ts';
import { StoreUnavailable } from '../store.ts';
import type { Activity, ActivityFilter, Facet, SpendFilter } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

const STATEMENT_MS = 600_000; // ids of a year of rows are grouped in some ten seconds

export class PostgresArchive implements SpendArchive {
  readonly shown: string;
  readonly #schema: string;
  readonly #spelling: Spelling;
  readonly #link: Link<Client>;

  constructor(database: DatabaseSettings) {
    const { shown, schema } = database;
    this.shown = `the database ${shown}`;
    this.#schema = quoted(schema);
    this.#spelling = postgresSpelling(this.#schema);
    this.#link = new Link({
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

  async activity(
    filter: ActivityFilter,
    groupBy: readonly (Facet | 'day')[],
    limit: number,
  ): Promise<readonly Activity[]> {
    const rows = await this.#all(activitySql(filter, groupBy, limit, this.#spelling));
    return rows.map((row) => activityOf(row, groupBy));
  }

  rows(filter: SpendFilter): AsyncIterable<SpendRecord> {
    return pagedRows(filter, this.#spelling, (sql) => this.#all(sql));
  }

  async positions(): Promise<ReadonlyMap<string, Position>> {
    const text = `SELECT journal_id, segment, byte_offset FROM ${this.#schema}.journals`;
    const rows = await this.#all({ text, values: [] });
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
      const rows = await this.#all(knownSql(requestIds.slice(i, i + IDS_AT_ONCE), this.#spelling));
      for (const row of rows) known.add(String(row['request_id']));
    }
    return known;
  }

  async doubles(limit: number): Promise<readonly string[]> {
    const rows = await this.#all(doublesSql(limit, this.#spelling));
    return rows.map((row) => String(row['request_id']));
  }

  async days(filter: Pick<ActivityFilter, 'startDay' | 'endDay'>): Promise<readonly string[]> {
    return (await this.#all(daysSql(filter, this.#spelling))).map((row) => String(row['day']));
  }

  async keptSums(day: string): Promise<readonly KeptSum[]> {
    return (await this.#all(dailySumsSql(day, this.#spelling))).map(keptSumOf);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #all({ text, values }: Sql): Promise<Row[]> {
    return this.#link.use(async (client) => (await client.query<Row>(text, values)).rows);
  }
}
