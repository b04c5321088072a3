// Questions of whoever reads a store from outside, as SQL that SQLite and PostgreSQL both understand. Pure; every value
// is bound.
import { Binds, DAILY_LIST, dailyConditions, rowConditions, whereOf, type Sql } from './spend-sql.ts';
import type { SqlDialect } from './dialect.ts';
import { AXES_SQL } from './rollup.ts';
import type { ActivityFilter, SpendFilter } from '../store.ts';

/** A place between two rows in the order of time. */
export interface After {
  readonly startMs: number;
  readonly requestId: string;
}

/** The next rows in the order of time, oldest first: as cheap after a million of them as at the beginning. */
export function nextRowsSql(
  filter: SpendFilter,
  after: After | null,
  limit: number,
  dialect: SqlDialect,
): Sql {
  const binds = new Binds(dialect);
  const conditions = rowConditions(filter, dialect, binds);
  if (after !== null) {
    const since = `start_ms >= ${binds.add(after.startMs)}`;
    const beyond = `start_ms > ${binds.add(after.startMs)} OR request_id > ${binds.add(after.requestId)}`;
    conditions.push(`${since} AND (${beyond})`);
  }
  return {
    text:
      `SELECT * FROM ${dialect.spend}${whereOf(conditions)} ` +
      `ORDER BY start_ms, request_id LIMIT ${binds.add(limit)}`,
    values: binds.values,
  };
}

/** Which of these ids are rows: `request_id` of each. */
export function knownSql(requestIds: readonly string[], dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const asked = binds.among('request_id', requestIds);
  return { text: `SELECT request_id FROM ${dialect.spend} WHERE ${asked}`, values: binds.values };
}

/** Ids that more than one row has, some of them. */
export function doublesSql(limit: number, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  return {
    text:
      `SELECT request_id FROM ${dialect.spend} GROUP BY request_id HAVING COUNT(*) > 1 ` +
      `ORDER BY request_id LIMIT ${binds.add(limit)}`,
    values: binds.values,
  };
}

/** Days that have sums, in their order. */
export function daysSql(filter: Pick<ActivityFilter, 'startDay' | 'endDay'>, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const where = whereOf(dailyConditions(filter, '', binds));
  return {
    text: `SELECT DISTINCT day FROM ${dialect.daily}${where} ORDER BY day`,
    values: binds.values,
  };
}

/** All sums of one day as they are kept. */
export function dailySumsSql(day: string, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  return {
    text: `SELECT ${DAILY_LIST} FROM ${dialect.daily} WHERE day = ${binds.add(day)} AND axis IN ${AXES_SQL}`,
    values: binds.values,
  };
}
