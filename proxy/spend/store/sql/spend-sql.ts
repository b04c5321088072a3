// Queries about spend as SQL that SQLite and PostgreSQL both understand, and their results as values. Pure. Every
// value is bound; no text of a caller ever becomes part of a statement.
import type { SqlDialect } from './dialect.ts';
import { DAILY_COLUMNS, EARLIER, PICO_PER_USD, SUM_COLUMNS, type Axis } from './rollup.ts';
import { LAST_MS } from '../../record/known-times.ts';
import { dayOf } from '../utc-dates.ts';
import { indexed, sessionKey } from './spend-columns.ts';
import type { Activity, ActivityFilter, Facet, MadeBy, SpendFilter, SpendPaging } from '../store.ts';

type Value = string | number;
type Row = Readonly<Record<string, unknown>>;

/** A statement and what is bound to it, in order. */
export interface Sql {
  readonly text: string;
  readonly values: Value[];
}

const DAY_MS = 86_400_000;

const FACET_COLUMNS: Readonly<Record<Facet | 'day', string>> = {
  day: 'day',
  apiKeyHash: 'api_key',
  team: 'team_id',
  user: 'user_id',
  endUser: 'end_user',
  model: 'model',
  modelGroup: 'model_group',
  provider: 'provider',
  tag: 'entity',
  session: 'entity',
};

/** Numbers the values of one statement. */
export class Binds {
  readonly values: Value[] = [];
  readonly #dialect: SqlDialect;

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect;
  }

  add(value: Value): string {
    this.values.push(typeof value === 'string' ? this.#dialect.storable(value) : value);
    return `${this.#dialect.placeholder}${this.values.length}`;
  }

  /**
   * The condition that a column is one of these texts. They are bound as one value: bound one by one, Node looks for the name of
   * each among all of them, and a start that asks for the sums of 30,000 keys took 1.7 s here in place of 0.08.
   */
  among(column: string, texts: readonly string[]): string {
    const stored = texts.map((text) => this.#dialect.storable(text).toWellFormed());
    return this.#dialect.isAmong(column, this.add(JSON.stringify(stored)));
  }
}

/** ` WHERE ...`, or nothing when there is no condition. */
export function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
}

/** What a filter demands of rows. */
export function rowConditions(filter: SpendFilter, dialect: SqlDialect, binds: Binds): string[] {
  const { sessionId, endUser } = filter;
  const all: readonly (readonly [sql: (placeholder: string) => string, value: Value | undefined])[] = [
    [(placeholder) => `request_id = ${placeholder}`, filter.requestId],
    [(placeholder) => `api_key = ${placeholder}`, filter.apiKeyHash],
    [
      (placeholder) => `session_key = ${placeholder}`,
      sessionId === undefined ? undefined : sessionKey(sessionId),
    ],
    [
      (placeholder) => `end_user = ${placeholder}`,
      endUser === undefined ? undefined : (indexed(endUser) ?? ''),
    ],
    [(placeholder) => `COALESCE(user_id, '') = ${placeholder}`, filter.user],
    [(placeholder) => `COALESCE(team_id, '') = ${placeholder}`, filter.team],
    [(placeholder) => `model = ${placeholder}`, filter.model],
    [(placeholder) => `model_group = ${placeholder}`, filter.modelGroup],
    [(placeholder) => `status = ${placeholder}`, filter.status],
    [(placeholder) => `start_ms >= ${placeholder}`, filter.startMs],
    [(placeholder) => `start_ms < ${placeholder}`, filter.endMs],
    [(placeholder) => `spend_pico >= ${placeholder}`, filter.minSpendPico],
    [(placeholder) => `spend_pico <= ${placeholder}`, filter.maxSpendPico],
    [dialect.hasTag, filter.tag],
    [(placeholder) => `call_type = ${placeholder}`, filter.callType],
  ];
  const conditions = all.flatMap(([sql, value]) => (value === undefined ? [] : [sql(binds.add(value))]));
  if (filter.requestIds !== undefined) conditions.push(binds.among('request_id', filter.requestIds));
  return conditions;
}

/** How many rows match, where the page already shows it or no total is wanted; null: they have to be counted. */
export function totalOf({ page, pageSize, counts }: SpendPaging, rows: number): number | null {
  if (counts === false) return rows;
  const isLast = rows < pageSize && (rows > 0 || page === 1);
  return isLast ? (page - 1) * pageSize + rows : null;
}

/** How many rows match: one row with `n`. */
export function countSql(filter: SpendFilter, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const where = whereOf(rowConditions(filter, dialect, binds));
  return { text: `SELECT COUNT(*) AS n FROM ${dialect.spend}${where}`, values: binds.values };
}

/** One page of rows. */
export function pageSql(filter: SpendFilter, paging: SpendPaging, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const conditions = rowConditions(filter, dialect, binds);
  const [direction, beyond] = paging.order === 'newest' ? ['DESC', '<'] : ['ASC', '>'];
  if (paging.after !== undefined) {
    const { startMs, requestId } = paging.after;
    const later = `start_ms ${beyond} ${binds.add(startMs)} OR request_id ${beyond} ${binds.add(requestId)}`;
    conditions.push(`start_ms ${beyond}= ${binds.add(startMs)} AND (${later})`);
  }
  const where = whereOf(conditions);
  const limit = binds.add(paging.pageSize);
  const offset = binds.add((paging.page - 1) * paging.pageSize);
  return {
    text:
      `SELECT * FROM ${dialect.spend}${where} ` +
      `ORDER BY start_ms ${direction}, request_id ${direction} LIMIT ${limit} OFFSET ${offset}`,
    values: binds.values,
  };
}

/** The number that a place in the order of arrival is; null = no place. */
export function placeNumber(place: string): number | null {
  return /^\d{1,15}$/.test(place) ? Number(place) : null;
}

/** Rows behind one number of a row up to another, for a database that numbers them. */
export function arrivedByNumberSql(
  filter: SpendFilter,
  { from, end, limit }: { readonly from: number; readonly end: number; readonly limit: number },
  dialect: SqlDialect,
): Sql {
  const binds = new Binds(dialect);
  const conditions = rowConditions(filter, dialect, binds);
  conditions.push(`rowid > ${binds.add(from)}`, `rowid <= ${binds.add(end)}`);
  return {
    // NOT INDEXED leaves the numbers of rows: what is new is a handful of them, whatever else is asked for.
    text: `SELECT * FROM ${dialect.spend} NOT INDEXED${whereOf(conditions)} ORDER BY rowid LIMIT ${binds.add(limit)}`,
    values: binds.values,
  };
}

/** Rows of calls that began since a moment and hold a condition of the database's own, in the order of their ends. */
export function arrivedSinceSql(
  filter: SpendFilter,
  { startMs, limit }: { readonly startMs: number; readonly limit: number },
  isNew: (bind: (value: string) => string) => string,
  dialect: SqlDialect,
): Sql {
  const binds = new Binds(dialect);
  const conditions = rowConditions(filter, dialect, binds);
  conditions.push(
    `start_ms >= ${binds.add(startMs)}`,
    isNew((value) => binds.add(value)),
  );
  return {
    text: `SELECT * FROM ${dialect.spend}${whereOf(conditions)} ORDER BY end_ms, request_id LIMIT ${binds.add(limit)}`,
    values: binds.values,
  };
}

/** Sums by day, model, end user and key: from the daily sums where possible, else from the rows. */
export function summarySql(filter: SpendFilter, dialect: SqlDialect): Sql {
  const groups = 'day, model, end_user, api_key';
  const asked = dailyFilter(filter);
  if (asked !== null) {
    const binds = new Binds(dialect);
    const where = whereOf(dailyConditions(asked, axisOf(asked, []), binds));
    const sums = 'SUM(requests) AS requests, SUM(spend_usd) AS usd, SUM(spend_pico) AS pico';
    return {
      text: `SELECT ${groups}, ${sums} FROM ${dialect.daily}${where} GROUP BY ${groups} ORDER BY day`,
      values: binds.values,
    };
  }
  const binds = new Binds(dialect);
  const where = whereOf(rowConditions(filter, dialect, binds));
  const sums =
    `COUNT(*) AS requests, SUM(spend_pico / ${PICO_PER_USD}) AS usd, ` +
    `SUM(spend_pico % ${PICO_PER_USD}) AS pico`;
  return {
    text:
      `SELECT ${dialect.day} AS day, model, end_user, api_key, ${sums} FROM ${dialect.spend}${where} ` +
      `GROUP BY ${dialect.day}, model, end_user, api_key ORDER BY 1`,
    values: binds.values,
  };
}

/** The same query on the daily sums; null when they lack the columns. */
function dailyFilter(filter: SpendFilter): ActivityFilter | null {
  const { startMs, endMs, tag, sessionId, apiKeyHash, team, user, endUser, model, modelGroup, ...rows } =
    filter;
  const whole = (ms: number | undefined): boolean => ms === undefined || ms % DAY_MS === 0;
  if (Object.values(rows).some((value) => value !== undefined) || !whole(startMs) || !whole(endMs)) {
    return null;
  }
  if (tag !== undefined && sessionId !== undefined) return null;
  const one = (name: Facet, value: string | undefined): ActivityFilter =>
    value === undefined ? {} : { [name]: [value] };
  return {
    ...(startMs === undefined ? {} : { startDay: knownDayOf(startMs) }),
    ...(endMs === undefined ? {} : { endDay: knownDayOf(endMs - DAY_MS) }),
    ...one('tag', tag),
    ...one('session', sessionId),
    ...one('apiKeyHash', apiKeyHash),
    ...one('team', team),
    ...one('user', user),
    ...one('endUser', endUser),
    ...one('model', model),
    ...one('modelGroup', modelGroup),
  };
}

// Days beyond these have no four-digit year; rows have none such either.
function knownDayOf(ms: number): string {
  return dayOf(Math.min(Math.max(ms, 0), LAST_MS));
}

/** Groups of the daily sums, the dearest first. @throws RangeError for `tag` and `session` together */
export function activitySql(
  filter: ActivityFilter,
  groupBy: readonly (Facet | 'day')[],
  limit: number,
  dialect: SqlDialect,
): Sql {
  const binds = new Binds(dialect);
  const where = whereOf(dailyConditions(filter, axisOf(filter, groupBy), binds));
  const groups = [...new Set(groupBy.map((facet) => FACET_COLUMNS[facet]))];
  const sums = SUM_COLUMNS.map((column) => `SUM(${column}) AS ${column}`);
  const grouped = groups.length === 0 ? ' HAVING COUNT(*) > 0' : ` GROUP BY ${groups.join(', ')}`;
  const order = [
    `SUM(spend_usd) + SUM(spend_pico) / ${PICO_PER_USD} DESC`,
    'SUM(spend_pico) DESC',
    ...groups,
  ];
  return {
    text:
      `SELECT ${[...groups, ...sums].join(', ')} FROM ${dialect.daily}${where}${grouped} ` +
      `ORDER BY ${order.join(', ')} LIMIT ${binds.add(limit)}`,
    values: binds.values,
  };
}

/**
 * Which of the three kinds of sums a question is about.
 * @throws RangeError for tags and sessions together
 */
function axisOf(filter: ActivityFilter, groupBy: readonly (Facet | 'day')[]): Axis {
  const asks = (facet: 'tag' | 'session'): boolean => filter[facet] !== undefined || groupBy.includes(facet);
  if (asks('tag') && asks('session')) {
    throw new RangeError('no sums are kept by tag and session together - ask for one of the two');
  }
  if (asks('tag')) return 'tag';
  return asks('session') ? 'session' : '';
}

/** What a filter demands of daily sums. */
export function dailyConditions(filter: ActivityFilter, axis: Axis, binds: Binds): string[] {
  const { startDay, endDay, ...facets } = filter;
  const conditions = [`axis = ${binds.add(axis)}`];
  if (startDay !== undefined) conditions.push(`day >= ${binds.add(startDay)}`);
  if (endDay !== undefined) conditions.push(`day <= ${binds.add(endDay)}`);
  for (const [facet, wanted] of Object.entries(facets) as [Facet, readonly string[]][]) {
    const known = facet === 'session' ? wanted.map(sessionKey) : wanted;
    const stored = facet === 'endUser' ? known.map((value) => indexed(value) ?? '') : known;
    conditions.push(binds.among(FACET_COLUMNS[facet], stored));
  }
  return conditions;
}

/** A result row of `activitySql`. Sums may come as numbers, bigints or texts. */
export function activityOf(row: Row, groupBy: readonly (Facet | 'day')[]): Activity {
  const sum = (column: (typeof SUM_COLUMNS)[number]): bigint => wholeOf(row[column]);
  return {
    group: Object.fromEntries(groupBy.map((facet) => [facet, String(row[FACET_COLUMNS[facet]])])),
    sums: {
      requests: Number(sum('requests')),
      failures: Number(sum('failures')),
      unpriced: Number(sum('unpriced')),
      promptTokens: Number(sum('prompt_tokens')),
      completionTokens: Number(sum('completion_tokens')),
      totalTokens: Number(sum('total_tokens')),
      cacheReadTokens: Number(sum('cache_read_tokens')),
      cacheWriteTokens: Number(sum('cache_write_tokens')),
      reasoningTokens: Number(sum('reasoning_tokens')),
      spendPico: picoOf(sum('spend_usd'), sum('spend_pico')),
    },
  };
}

/** Pico-dollars of the two columns that hold them. */
export function picoOf(usd: bigint, pico: bigint): bigint {
  return usd * BigInt(PICO_PER_USD) + pico;
}

/** A sum as the database gives it: a number, a bigint or a text; a sum of nothing is NULL. */
export function wholeOf(sum: unknown): bigint {
  return typeof sum === 'bigint' || typeof sum === 'number' || typeof sum === 'string' ? BigInt(sum) : 0n;
}

/** The newest response with this upstream id: at most one row. */
export function madeBySql(upstreamId: string, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const id = binds.add(indexed(upstreamId) ?? '');
  return {
    text:
      `SELECT model_id, model_group, model, api_key, total_tokens FROM ${dialect.spend} ` +
      `WHERE upstream_id = ${id} AND call_type = 'aresponses' ORDER BY start_ms DESC LIMIT 1`,
    values: binds.values,
  };
}

/** A result row of `madeBySql`. */
export function madeBy(row: Row): MadeBy {
  return {
    modelId: row['model_id'] as string | null,
    modelGroup: (row['model_group'] as string | null) ?? '',
    model: (row['model'] as string | null) ?? '',
    apiKeyHash: (row['api_key'] as string | null) ?? '',
    tokens: Number(row['total_tokens'] ?? 0),
  };
}

/** What is added to sums that are there already, after `INSERT ... ON CONFLICT (axis, day, id) DO UPDATE SET`. */
export function additions(daily: string): string {
  const carried = `(${daily}.spend_pico + excluded.spend_pico)`;
  return SUM_COLUMNS.map((column) => {
    if (column === 'spend_pico') return `spend_pico = ${carried} % ${PICO_PER_USD}`;
    const carry = column === 'spend_usd' ? ` + ${carried} / ${PICO_PER_USD}` : '';
    return `${column} = ${daily}.${column} + excluded.${column}${carry}`;
  }).join(', ');
}

/** The columns of the daily sums, for an INSERT. */
export const DAILY_LIST = DAILY_COLUMNS.join(', ');
/** The same for a copy as sums of the axis `EARLIER`. */
export const EARLIER_LIST = DAILY_COLUMNS.map((column) => (column === 'axis' ? `'${EARLIER}'` : column)).join(
  ', ',
);
