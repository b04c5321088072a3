// Replacing costs, as SQL that SQLite and PostgreSQL both understand, and what it does to the daily sums. Pure; every
// value is bound.
import type { SpendRecord } from '../../record/record.ts';
import type { Recosted } from '../cost-writer.ts';
import { PICO_PER_USD, Rollup, SUM_COLUMNS, type DailySum } from './rollup.ts';
import { cellsOf, COLUMN_NAMES } from './spend-columns.ts';
import type { SqlDialect } from './dialect.ts';
import { Binds, whereOf, type Sql } from './spend-sql.ts';

/** Columns of a row's cost; nothing else of a row is ever changed. */
const COST_COLUMNS = ['spend_pico', 'cost_source', 'cost_reason', 'costs', 'price_version', 'attempt_log'];

/** A row's cost replaced, unless another process did so since `before` was read: at most one row. */
export function recostSql(before: SpendRecord, after: SpendRecord, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const cells = cellsOf(after);
  const bound = (column: string, cell: string | number): string =>
    JSON_COLUMNS.has(column) ? dialect.json(binds.add(cell)) : binds.add(cell);
  const set = COST_COLUMNS.map((column) => {
    const cell = cells[COLUMN_NAMES.indexOf(column)] ?? null;
    return cell === null ? `${column} = NULL` : `${column} = ${bound(column, cell)}`;
  });
  const conditions = [
    `request_id = ${binds.add(before.requestId)}`,
    `start_ms = ${binds.add(before.startMs)}`,
    `COALESCE(spend_pico, -1) = ${binds.add(before.spendPico ?? -1)}`,
    `COALESCE(price_version, '') = ${binds.add(before.priceVersion ?? '')}`,
  ];
  return {
    text: `UPDATE ${dialect.spend} SET ${set.join(', ')}${whereOf(conditions)}`,
    values: binds.values,
  };
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(['costs', 'attempt_log']);

/** What one sum changes by when costs of its rows were replaced; `usd` and `pico` are of one number, `pico` below a dollar. */
interface SumChange {
  readonly axis: string;
  readonly day: string;
  readonly id: string;
  readonly unpriced: number;
  readonly usd: number;
  readonly pico: number;
}

/** Adds to one sum. Additions commute, so a proxy may ship into the same sum meanwhile. */
export function addToSumSql({ axis, day, id, unpriced, usd, pico }: SumChange, dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  // Whole numbers: a driver may bind a number as a double, and halves of it would be divided.
  const whole = (value: number): string => `CAST(${binds.add(value)} AS bigint)`;
  const carried = `(spend_pico + ${whole(pico)})`;
  const set = [
    `unpriced = unpriced + ${whole(unpriced)}`,
    `spend_usd = spend_usd + ${whole(usd)} + ${carried} / ${PICO_PER_USD}`,
    `spend_pico = ${carried} % ${PICO_PER_USD}`,
  ].join(', ');
  const which = `axis = ${binds.add(axis)} AND day = ${binds.add(day)} AND id = ${binds.add(id)}`;
  return { text: `UPDATE ${dialect.daily} SET ${set} WHERE ${which}`, values: binds.values };
}

/** What the sums of these rows change by, in the order in which all writers take sums. */
export function sumChanges(batch: readonly Recosted[]): SumChange[] {
  const [before, after] = [new Rollup(), new Rollup()];
  for (const one of batch) {
    before.add(one.before);
    after.add(one.after);
  }
  const was = before.rows();
  // Both have the same sums in the same order, because a cost is no facet.
  return after.rows().flatMap((sum, i) => {
    const change = changeOf(was[i] ?? sum, sum);
    return change.unpriced === 0 && change.usd === 0 && change.pico === 0 ? [] : [change];
  });
}

function changeOf(was: DailySum, is: DailySum): SumChange {
  const [axis, day, id] = is;
  const amount = (sum: DailySum, column: (typeof SUM_COLUMNS)[number]): bigint =>
    BigInt(sum[sum.length - SUM_COLUMNS.length + SUM_COLUMNS.indexOf(column)] ?? 0);
  const pico = (sum: DailySum): bigint =>
    amount(sum, 'spend_usd') * BigInt(PICO_PER_USD) + amount(sum, 'spend_pico');
  const apart = pico(is) - pico(was);
  const rest = ((apart % BigInt(PICO_PER_USD)) + BigInt(PICO_PER_USD)) % BigInt(PICO_PER_USD);
  return {
    axis: String(axis),
    day: String(day),
    id: String(id),
    unpriced: Number(amount(is, 'unpriced') - amount(was, 'unpriced')),
    usd: Number((apart - rest) / BigInt(PICO_PER_USD)),
    pico: Number(rest),
  };
}
