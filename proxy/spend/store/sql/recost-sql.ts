// Replacing costs, as SQL that SQLite and PostgreSQL both understand. Pure; every value is bound.
import type { SpendRecord } from '../../record/record.ts';
import { PICO_PER_USD } from './rollup.ts';
import { cellsOf, COLUMN_NAMES } from './spend-columns.ts';
import { Binds, whereOf, type Spelling, type Sql } from './spend-sql.ts';

/** Columns of a row's cost; nothing else of a row is ever changed. */
const COST_COLUMNS = ['spend_pico', 'cost_source', 'cost_reason', 'costs', 'price_version', 'attempt_log'];

/** A row's cost replaced, unless somebody else did so since `before` was read: at most one row. */
export function recostSql(before: SpendRecord, after: SpendRecord, spelling: Spelling): Sql {
  const binds = new Binds(spelling);
  const cells = cellsOf(after);
  const cast = (column: string): string =>
    spelling.mark === '$' && JSON_COLUMNS.has(column) ? '::json' : '';
  const set = COST_COLUMNS.map((column) => {
    const cell = cells[COLUMN_NAMES.indexOf(column)] ?? null;
    return cell === null ? `${column} = NULL` : `${column} = ${binds.add(cell)}${cast(column)}`;
  });
  const conditions = [
    `request_id = ${binds.add(before.requestId)}`,
    `start_ms = ${binds.add(before.startMs)}`,
    `COALESCE(spend_pico, -1) = ${binds.add(before.spendPico ?? -1)}`,
    `COALESCE(price_version, '') = ${binds.add(before.priceVersion ?? '')}`,
  ];
  return {
    text: `UPDATE ${spelling.spend} SET ${set.join(', ')}${whereOf(conditions)}`,
    values: binds.values,
  };
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(['costs', 'attempt_log']);

/** What one sum changes by when costs of its rows were replaced; `usd` and `pico` are of one number, `pico` below a dollar. */
export interface SumChange {
  readonly axis: string;
  readonly day: string;
  readonly id: string;
  readonly unpriced: number;
  readonly usd: number;
  readonly pico: number;
}

/** Adds to one sum. Additions commute, so a proxy may ship into the same sum meanwhile. */
export function addToSumSql({ axis, day, id, unpriced, usd, pico }: SumChange, spelling: Spelling): Sql {
  const binds = new Binds(spelling);
  // Whole numbers: a driver may bind a number as a double, and halves of it would be divided.
  const whole = (value: number): string => `CAST(${binds.add(value)} AS bigint)`;
  const carried = `(spend_pico + ${whole(pico)})`;
  const set = [
    `unpriced = unpriced + ${whole(unpriced)}`,
    `spend_usd = spend_usd + ${whole(usd)} + ${carried} / ${PICO_PER_USD}`,
    `spend_pico = ${carried} % ${PICO_PER_USD}`,
  ].join(', ');
  const which = `axis = ${binds.add(axis)} AND day = ${binds.add(day)} AND id = ${binds.add(id)}`;
  return { text: `UPDATE ${spelling.daily} SET ${set} WHERE ${which}`, values: binds.values };
}
