// Spend rows in SQLite: taking over the journal, and the questions of the spend API. Runs in the worker only.
// Every value is bound; no text of a caller ever becomes part of a statement.
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { parseLine } from '../record/line.ts';
import type { SpendRecord } from '../record/record.ts';
import { isBefore, listSegments, readLines, segmentPath, setAside } from './segments.ts';
import type { Position } from './segments.ts';
import { COLUMN_NAMES, cellsOf, recordOf, sessionKey } from './spend-columns.ts';
import type {
  DaySpend,
  SessionTotals,
  Shipped,
  SpendFilter,
  SpendPage,
  SpendPaging,
  SpendReader,
} from './store.ts';

type Found = Awaited<ReturnType<SpendReader['findByUpstreamId']>>;

/** The journal a store takes over. */
export interface JournalPlace {
  readonly dir: string;
  /** Random id of the directory's contents: another journal in the same directory has another one. */
  readonly id: string;
}

/** Spend statements over one open database. */
export class SqliteSpend {
  readonly #db: DatabaseSync;
  readonly #journal: JournalPlace;
  readonly #insert: StatementSync;
  readonly #moveCursor: StatementSync;
  #cursor: Position;

  constructor(db: DatabaseSync, journal: JournalPlace) {
    this.#db = db;
    this.#journal = journal;
    const marks = COLUMN_NAMES.map(() => '?').join(', ');
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO spend (${COLUMN_NAMES.join(', ')}) VALUES (${marks})`, // a replayed line is no second row
    );
    this.#moveCursor = db.prepare(
      'INSERT OR REPLACE INTO cursor (journal_id, segment, offset) VALUES (?, ?, ?)',
    );
    const row = db.prepare('SELECT segment, offset FROM cursor WHERE journal_id = ?').get(journal.id);
    this.#cursor = { segment: Number(row?.['segment'] ?? 0), offset: Number(row?.['offset'] ?? 0) };
  }

  /** Takes over one chunk of what lies before `to`: rows and position in one transaction. */
  shipChunk(to: Position): Shipped & { readonly done: boolean } {
    const from = this.#firstSegmentFrom(this.#cursor, to);
    if (!isBefore(from, to)) return { position: from, rows: 0, damaged: 0, done: true };
    const last = from.segment === to.segment;
    const records: SpendRecord[] = [];
    const damaged: Buffer[] = [];
    const read = readLines(
      segmentPath(this.#journal.dir, from.segment),
      from.offset,
      last ? to.offset : Infinity,
      (bytes) => {
        const line = parseLine(bytes);
        if (line?.kind === 'B') return;
        const record = line === null ? null : (JSON.parse(line.json) as SpendRecord);
        if (typeof record?.requestId === 'string') records.push(record);
        else damaged.push(Buffer.from(bytes));
      },
      1,
    );
    const leave = read.atEnd && !last;
    if (leave && read.tail.length > 0) damaged.push(read.tail);
    if (damaged.length > 0) setAside(this.#journal.dir, damaged);
    const position = leave
      ? { segment: from.segment + 1, offset: 0 }
      : { segment: from.segment, offset: read.offset };
    const rows = this.#commit(records, position);
    return { position, rows, damaged: damaged.length, done: last && read.atEnd };
  }

  // A segment may be missing at the front: all of it was shipped, then deleted, or the store is new.
  #firstSegmentFrom(cursor: Position, to: Position): Position {
    if (cursor.segment >= to.segment) return cursor;
    const segment = listSegments(this.#journal.dir).find((number) => number >= cursor.segment);
    return segment === undefined || segment === cursor.segment ? cursor : { segment, offset: 0 };
  }

  #commit(records: readonly SpendRecord[], position: Position): number {
    let rows = 0;
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      for (const record of records) rows += Number(this.#insert.run(...cellsOf(record)).changes);
      this.#moveCursor.run(this.#journal.id, position.segment, position.offset);
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
    this.#cursor = position;
    return rows;
  }

  query(filter: SpendFilter, paging: SpendPaging): SpendPage {
    const { where, values } = conditions(filter);
    const count = this.#db.prepare(`SELECT COUNT(*) AS n FROM spend ${where}`).get(...values);
    const direction = paging.order === 'newest' ? 'DESC' : 'ASC';
    const rows = this.#db
      .prepare(
        `SELECT * FROM spend ${where} ORDER BY start_ms ${direction}, request_id ${direction} LIMIT ? OFFSET ?`,
      )
      .all(...values, paging.pageSize, (paging.page - 1) * paging.pageSize);
    return { rows: rows.map(recordOf), total: Number(count?.['n'] ?? 0) };
  }

  summarize(filter: SpendFilter): DaySpend[] {
    const { where, values } = conditions(filter);
    const statement = this.#db.prepare(
      `SELECT date(start_ms / 1000, 'unixepoch') AS day, model, end_user, api_key, COUNT(*) AS requests,
         SUM(spend_pico) AS pico FROM spend ${where} GROUP BY day, model, end_user, api_key ORDER BY day`,
    );
    statement.setReadBigInts(true);
    const days = new Map<string, DaySum>();
    for (const row of statement.iterate(...values)) {
      const day = String(row['day']);
      const sum = days.get(day) ?? new DaySum(day);
      days.set(day, sum);
      sum.add(row);
    }
    return Array.from(days.values(), (sum) => sum.result());
  }

  totals(sessionIds: readonly string[]): (SessionTotals | null)[] {
    const keys = sessionIds.map(sessionKey);
    // Of a group with MAX() SQLite takes the other plain columns from the row of the maximum (lang_select, 2.5).
    const statement = this.#db.prepare(
      `SELECT session_key, MAX(start_ms), model_group, total_tokens, upstream_id, COUNT(*) AS calls,
         SUM(spend_pico) AS pico, SUM(prompt_tokens) AS prompt, SUM(completion_tokens) AS completion,
         SUM(cache_read_tokens) AS cache_read, SUM(cache_write_tokens) AS cache_write,
         SUM(reasoning_tokens) AS reasoning
       FROM spend WHERE session_key IN (${keys.map(() => '?').join(', ')}) GROUP BY session_key`,
    );
    statement.setReadBigInts(true);
    const found = new Map(statement.all(...keys).map((row) => [row['session_key'], totalsOf(row)]));
    return keys.map((key) => found.get(key) ?? null);
  }

  findByUpstreamId(upstreamId: string): Found {
    const row = this.#db
      .prepare(
        'SELECT model_id, model_group, model FROM spend WHERE upstream_id = ? ORDER BY start_ms DESC LIMIT 1',
      )
      .get(upstreamId);
    if (row === undefined) return null;
    return {
      modelId: row['model_id'] as string | null,
      modelGroup: String(row['model_group'] ?? ''),
      model: String(row['model'] ?? ''),
    };
  }
}

function totalsOf(row: Readonly<Record<string, SQLOutputValue>>): SessionTotals {
  const count = (name: string): number => Number(row[name] ?? 0);
  return {
    calls: count('calls'),
    spendPico: (row['pico'] as bigint | null) ?? 0n,
    promptTokens: count('prompt'),
    completionTokens: count('completion'),
    cacheReadTokens: count('cache_read'),
    cacheWriteTokens: count('cache_write'),
    reasoningTokens: count('reasoning'),
    last: {
      modelGroup: String(row['model_group'] ?? ''),
      tokens: count('total_tokens'),
      upstreamId: row['upstream_id'] as string | null,
    },
  };
}

class DaySum {
  readonly #day: string;
  readonly #byModel = new Map<string, bigint>();
  readonly #byEndUser = new Map<string, bigint>();
  readonly #byApiKey = new Map<string, bigint>();
  #requests = 0;
  #pico = 0n;

  constructor(day: string) {
    this.#day = day;
  }

  add(row: Readonly<Record<string, SQLOutputValue>>): void {
    const pico = (row['pico'] as bigint | null) ?? 0n;
    this.#requests += Number(row['requests']);
    this.#pico += pico;
    for (const [sums, name] of [
      [this.#byModel, row['model']],
      [this.#byEndUser, row['end_user']],
      [this.#byApiKey, row['api_key']],
    ] as const) {
      const key = typeof name === 'string' ? name : '';
      sums.set(key, (sums.get(key) ?? 0n) + pico);
    }
  }

  result(): DaySpend {
    return {
      day: this.#day,
      requests: this.#requests,
      spendPico: this.#pico,
      byModel: Object.fromEntries(this.#byModel),
      byEndUser: Object.fromEntries(this.#byEndUser),
      byApiKey: Object.fromEntries(this.#byApiKey),
    };
  }
}

function conditions(filter: SpendFilter): { readonly where: string; readonly values: SQLInputValue[] } {
  const session = filter.sessionId === undefined ? undefined : sessionKey(filter.sessionId);
  const all: readonly (readonly [sql: string, value: SQLInputValue | undefined])[] = [
    ['request_id = ?', filter.requestId],
    ['api_key = ?', filter.apiKeyHash],
    ['session_key = ?', session],
    ['end_user = ?', filter.endUser],
    [`'' = ?`, filter.user],
    ['model = ?', filter.model],
    ['model_group = ?', filter.modelGroup],
    ['status = ?', filter.status],
    ['start_ms >= ?', filter.startMs],
    ['start_ms < ?', filter.endMs],
    ['spend_pico >= ?', filter.minSpendPico],
    ['spend_pico <= ?', filter.maxSpendPico],
    ['EXISTS (SELECT 1 FROM json_each(spend.tags) WHERE value = ?)', filter.tag],
    ['call_type = ?', filter.callType],
  ];
  const stated = all.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    where: stated.length === 0 ? '' : `WHERE ${stated.map(({ sql }) => sql).join(' AND ')}`,
    values: stated.map(({ value }) => value),
  };
}
