// What was spent since a moment, by scope, as SQL that SQLite and PostgreSQL both understand, and its results as values. Pure.
// Rows until the next UTC midnight and daily sums from there on, so that a month costs as little as a day; columns that
// no daily sums are kept by are added up from the rows.
import type { SqlDialect } from './dialect.ts';
import { EARLIER, PICO_PER_USD, type Axis } from './rollup.ts';
import { indexed, sessionKey } from './spend-columns.ts';
import { Binds, picoOf, wholeOf, type Sql } from './spend-sql.ts';
import { LONGEST_CALL_MS } from '../under-way.ts';
import { dayOf } from '../utc-dates.ts';
import type { SpentColumn, SpentQuery, SpentSum } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

const DAY_MS = 86_400_000;

/** A column in the rows, and in the daily sums of which axis; null = no such sums are kept for as long as they are needed. */
const COLUMNS: Readonly<
  Record<SpentColumn, { readonly row: string; readonly daily: string | null; readonly axis: Axis }>
> = {
  apiKeyHash: { row: 'api_key', daily: 'api_key', axis: '' },
  team: { row: 'team_id', daily: 'team_id', axis: '' },
  organization: { row: 'organization_id', daily: 'entity', axis: 'organization' },
  user: { row: 'user_id', daily: 'user_id', axis: '' },
  endUser: { row: 'end_user', daily: 'end_user', axis: '' },
  modelGroup: { row: 'model_group', daily: 'model_group', axis: '' },
  provider: { row: 'provider', daily: 'provider', axis: '' },
  tag: { row: 'one.value', daily: 'entity', axis: 'tag' },
  deployment: { row: 'model_id', daily: null, axis: '' },
  profile: { row: 'profile', daily: null, axis: '' },
  session: { row: 'session_key', daily: null, axis: '' },
};

/** At most three statements, whose results `spentSumsOf` joins. */
export function spentSqls(query: SpentQuery, dialect: SqlDialect): readonly Sql[] {
  const { by, sinceMs, untilMs } = query;
  const columns = by.map((column) => COLUMNS[column]);
  const names = columns.flatMap(({ daily }) => daily ?? []);
  const wanted = { ...query, ids: query.ids?.map((id) => storedId(by[0], id)) ?? null };
  if (untilMs !== undefined) return [rowsSql(wanted, untilMs, dialect)];
  const before = query.underWay === true ? [underWaySql(wanted, dialect)] : [];
  if (names.length < columns.length) return [...before, rowsSql(wanted, null, dialect)];
  const midnightMs = Math.ceil(sinceMs / DAY_MS) * DAY_MS;
  const edge = sinceMs === midnightMs ? [] : [rowsSql(wanted, midnightMs, dialect)];
  const axis = columns.find((column) => column.axis !== '')?.axis ?? '';
  return [...before, ...edge, dailySql(axis, names, { ...wanted, sinceMs: midnightMs }, dialect)];
}

/** An id as its column holds it. */
function storedId(column: SpentColumn | undefined, id: string): string {
  if (column === 'session') return sessionKey(id);
  return column === 'endUser' ? (indexed(id) ?? '') : id;
}

/**
 * Of rows that `wasUnderWay` (under-way.ts) at the start of the query. No index has their end: SQLite looks 1,000,000 rows of that day
 * through in 0.9 s, in the store's thread. Only budgets whose count was set anew ask it, when their sums are read.
 */
function underWaySql({ sinceMs, ...query }: SpentQuery, dialect: SqlDialect): Sql {
  return rowsSql({ ...query, sinceMs: sinceMs - LONGEST_CALL_MS }, sinceMs, dialect, (binds) => [
    `end_ms >= ${binds.add(sinceMs)}`,
    "end_reason <> 'interrupted'",
  ]);
}

function rowsSql(
  { by, ids, sinceMs, earlier }: SpentQuery,
  endMs: number | null,
  dialect: SqlDialect,
  further: (binds: Binds) => readonly string[] = () => [],
): Sql {
  const binds = new Binds(dialect);
  const columns = by.map((column) => COLUMNS[column].row);
  const conditions = [`start_ms >= ${binds.add(sinceMs)}`];
  if (endMs !== null) conditions.push(`start_ms < ${binds.add(endMs)}`);
  conditions.push(...further(binds));
  if (by.includes('organization')) conditions.push(`organization_id <> ''`);
  if (earlier === true) conditions.push('organization_id IS NULL');
  if (ids !== null) conditions.push(binds.among(columns[0] ?? '', ids));
  const from = by.includes('tag') ? `${dialect.spend}, ${dialect.tags}` : dialect.spend;
  const values = columns.map((column, i) => `COALESCE(${column}, '') AS v${i}`);
  const sums = [`SUM(spend_pico / ${PICO_PER_USD}) AS usd`, `SUM(spend_pico % ${PICO_PER_USD}) AS pico`];
  return {
    text: `SELECT ${[...values, ...sums].join(', ')} FROM ${from} WHERE ${conditions.join(' AND ')}${grouped(columns)}`,
    values: binds.values,
  };
}

function dailySql(
  axis: Axis,
  columns: readonly string[],
  { ids, sinceMs, earlier }: SpentQuery,
  dialect: SqlDialect,
): Sql {
  const binds = new Binds(dialect);
  // A literal: SQLite uses an index of some rows only where it can read the condition.
  const conditions = [`axis = '${earlier === true ? EARLIER : axis}'`, `day >= ${binds.add(dayOf(sinceMs))}`];
  if (ids !== null) conditions.push(binds.among(columns[0] ?? '', ids));
  const values = columns.map((column, i) => `${column} AS v${i}`);
  const sums = ['SUM(spend_usd) AS usd', 'SUM(spend_pico) AS pico'];
  const from = `${dialect.daily}${ids === null ? '' : dialect.dailyIndex(axis, columns[0] ?? '')}`;
  return {
    text: `SELECT ${[...values, ...sums].join(', ')} FROM ${from} WHERE ${conditions.join(' AND ')}${grouped(columns)}`,
    values: binds.values,
  };
}

const grouped = (columns: readonly string[]): string =>
  columns.length === 0 ? '' : ` GROUP BY ${columns.join(', ')}`;

/** Results of `spentSqls`, each group once. */
export function spentSumsOf({ by }: SpentQuery, results: readonly Iterable<Row>[]): SpentSum[] {
  const sums = new Map<string, { readonly values: readonly string[]; pico: bigint }>();
  for (const rows of results) {
    for (const row of rows) {
      const values = by.map((_, i) => String(row[`v${i}`]));
      const name = JSON.stringify(values);
      const sum = sums.get(name) ?? { values, pico: 0n };
      sum.pico += picoOf(wholeOf(row['usd']), wholeOf(row['pico']));
      sums.set(name, sum);
    }
  }
  return [...sums.values()];
}
