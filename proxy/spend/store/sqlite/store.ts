// The store over one open SQLite database: taking over the journal, the queries of the spend API, the removal of old
// months. Runs in the worker only.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { Secret } from '../../../../config/secret.ts';
import type { Implementation } from '../../../base/worker-rpc.ts';
import type { StoreCalls } from '../backend.ts';
import { readChunk, shipChunks, type JournalPlace, type ShippedChunk } from '../journal-chunk.ts';
import type { ThreadHeap } from '../thread-heap.ts';
import { monthOf, startOfMonth } from '../utc-dates.ts';
import { Rollup } from '../sql/rollup.ts';
import type { Position } from '../segments.ts';
import { COLUMN_NAMES, cellsOf, recordOf } from '../sql/spend-columns.ts';
import { daysOf } from '../sql/day-spend.ts';
import {
  activityOf,
  activitySql,
  arrivedByNumberSql,
  countSql,
  madeBy,
  madeBySql,
  pageSql,
  placeNumber,
  summarySql,
  totalOf,
  type Sql,
} from '../sql/spend-sql.ts';
import { SQLITE_DIALECT } from './dialect.ts';
import { SqliteModels } from './models.ts';
import { addingDaily } from './migrations.ts';
import { spentSqls, spentSumsOf } from '../sql/spent-since.ts';
import { totalsOf, totalsSql } from '../sql/session-totals.ts';
import type {
  Activity,
  ActivityFilter,
  Arrived,
  DaySpend,
  Facet,
  MadeBy,
  Pruned,
  SessionTotals,
  Shipped,
  SpendFilter,
  SpendPage,
  SpendPaging,
  SpentQuery,
  SpentSum,
  StoredModel,
} from '../store.ts';

const PRUNED_ROWS = 2_000; // some 30 ms, after which shipping and questions have their turn

/** One open database; a call that throws may leave it unusable. */
export class SqliteStore implements Implementation<StoreCalls> {
  readonly #db: DatabaseSync;
  readonly #journal: JournalPlace;
  readonly #models: SqliteModels;
  readonly #heap: ThreadHeap;
  readonly #insert: StatementSync;
  readonly #addDaily: StatementSync;
  readonly #moveCursor: StatementSync;
  #cursor: Position;

  constructor(db: DatabaseSync, journal: JournalPlace, saltKey: Secret | null, heap: ThreadHeap) {
    this.#db = db;
    this.#journal = journal;
    this.#models = new SqliteModels(db, saltKey);
    this.#heap = heap;
    const placeholders = COLUMN_NAMES.map(() => '?').join(', ');
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO spend (${COLUMN_NAMES.join(', ')}) VALUES (${placeholders})`, // a replayed line is no second row
    );
    this.#addDaily = addingDaily(db);
    this.#moveCursor = db.prepare(
      'INSERT OR REPLACE INTO cursor (journal_id, segment, offset, writer) VALUES (?, ?, ?, ?)',
    );
    const row = db.prepare('SELECT segment, offset FROM cursor WHERE journal_id = ?').get(journal.id);
    this.#cursor = { segment: Number(row?.['segment'] ?? 0), offset: Number(row?.['offset'] ?? 0) };
  }

  // In chunks with a pause after each, so that a query need not wait for the end of a long backlog.
  ship(to: Position): Promise<Shipped> {
    return shipChunks(async () => {
      const chunk = this.#shipChunk(to);
      if (!chunk.done) await setImmediate();
      return chunk;
    }, this.#heap);
  }

  /** Takes over one chunk of what lies before `to`: rows, their sums and the position in one transaction. */
  #shipChunk(to: Position): ShippedChunk {
    const cursor = this.#cursor;
    if (cursor.segment === to.segment && cursor.offset === to.offset)
      return { position: cursor, damaged: 0, done: true, rows: 0 };
    const { dir, id, writer } = this.#journal;
    let rows = 0;
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const rollup = new Rollup();
      const chunk = readChunk(dir, cursor, to, (record) => {
        if (Number(this.#insert.run(...cellsOf(record)).changes) === 0) return;
        rollup.add(record);
        rows += 1;
      });
      for (const sum of rollup.rows()) this.#addDaily.run(...sum);
      this.#moveCursor.run(id, chunk.position.segment, chunk.position.offset, writer);
      this.#db.exec('COMMIT');
      this.#cursor = chunk.position;
      return { ...chunk, rows };
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  query(filter: SpendFilter, paging: SpendPaging): SpendPage {
    const page = pageSql(filter, paging, SQLITE_DIALECT);
    const rows = this.#db.prepare(page.text).all(...page.values);
    return { rows: rows.map(recordOf), total: totalOf(paging, rows.length) ?? this.#count(filter) };
  }

  // Numbers of rows grow in the order of the commits, and one server has all the rows of its file.
  arrived(filter: SpendFilter, place: string | null, most: number): Arrived {
    const end = Number(this.#db.prepare('SELECT MAX(rowid) AS n FROM spend').get()?.['n'] ?? 0);
    const from = place === null ? end : placeNumber(place);
    if (from === null || from > end) return { rows: [], place: String(end), missed: true };
    if (from === end) return { rows: [], place: String(end), missed: false };
    const sql = arrivedByNumberSql(filter, { from, end, limit: most + 1 }, SQLITE_DIALECT);
    const rows = this.#db.prepare(sql.text).all(...sql.values);
    const missed = rows.length > most;
    return { rows: missed ? [] : rows.map(recordOf), place: String(end), missed };
  }

  #count(filter: SpendFilter): number {
    const { text, values } = countSql(filter, SQLITE_DIALECT);
    return Number(this.#db.prepare(text).get(...values)?.['n'] ?? 0);
  }

  summarize(filter: SpendFilter): DaySpend[] {
    return daysOf(this.#sums(summarySql(filter, SQLITE_DIALECT)));
  }

  activity(filter: ActivityFilter, groupBy: readonly (Facet | 'day')[], limit: number): Activity[] {
    const rows = this.#sums(activitySql(filter, groupBy, limit, SQLITE_DIALECT));
    return Array.from(rows, (row) => activityOf(row, groupBy));
  }

  #sums({ text, values }: Sql): Iterable<Readonly<Record<string, unknown>>> {
    const statement = this.#db.prepare(text);
    statement.setReadBigInts(true);
    return statement.iterate(...values);
  }

  totals(sessionIds: readonly string[]): (SessionTotals | null)[] {
    return totalsOf(sessionIds, this.#sums(totalsSql(sessionIds, SQLITE_DIALECT)));
  }

  findByUpstreamId(upstreamId: string): MadeBy | null {
    const { text, values } = madeBySql(upstreamId, SQLITE_DIALECT);
    const row = this.#db.prepare(text).get(...values);
    return row === undefined ? null : madeBy(row);
  }

  spentSince(queries: readonly SpentQuery[]): SpentSum[][] {
    return queries.map((query) =>
      spentSumsOf(
        query,
        spentSqls(query, SQLITE_DIALECT).map((sql) => this.#sums(sql)),
      ),
    );
  }

  listModels(): StoredModel[] {
    return this.#models.list();
  }

  putModel(id: string, entry: StoredModel['entry']): void {
    this.#models.put(id, entry, Date.now());
  }

  deleteModel(id: string): boolean {
    return this.#models.delete(id);
  }

  modelsMark(): null {
    return null;
  }

  prune(beforeMs: number): Pruned {
    const month = monthOf(beforeMs);
    const limit = startOfMonth(month);
    const { changes } = this.#db
      .prepare(
        'DELETE FROM spend WHERE rowid IN (SELECT rowid FROM spend WHERE start_ms < ? ORDER BY start_ms LIMIT ?)',
      )
      .run(limit, PRUNED_ROWS);
    const sums = this.#db
      .prepare(
        `DELETE FROM spend_daily WHERE axis = 'session' AND (day, id) IN
         (SELECT day, id FROM spend_daily WHERE axis = 'session' AND day < ? LIMIT ?)`,
      )
      .run(`${month}-01`, PRUNED_ROWS);
    const rows = Number(changes);
    return { rows, done: rows < PRUNED_ROWS && Number(sums.changes) < PRUNED_ROWS };
  }
}
