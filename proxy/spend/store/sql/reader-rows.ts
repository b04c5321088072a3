// What both archives make of rows of their databases. Pure but for the question that fetches a page.
import type { SpendRecord } from '../../record/record.ts';
import type { KeptSum } from '../reader.ts';
import { SUM_COLUMNS } from './rollup.ts';
import { recordOf } from './spend-columns.ts';
import { nextRowsSql, type After } from './reader-sql.ts';
import { wholeOf, type Spelling, type Sql } from './spend-sql.ts';
import type { SpendFilter } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Rows of one question: 4 MB at most in all but odd cases. */
const PAGE_ROWS = 2_000;
/** Ids of one question; SQLite takes 32,766 values. */
export const IDS_AT_ONCE = 500;

/** Rows page after page, each beginning where the last one ended. */
export async function* pagedRows(
  filter: SpendFilter,
  spelling: Spelling,
  fetch: (sql: Sql) => Promise<readonly Row[]>,
): AsyncGenerator<SpendRecord> {
  let after: After | null = null;
  for (;;) {
    const page: readonly Row[] = await fetch(nextRowsSql(filter, after, PAGE_ROWS, spelling));
    for (const row of page) {
      const record = recordOf(row);
      after = record;
      yield record;
    }
    if (page.length < PAGE_ROWS) return;
  }
}

/** A row of the table of daily sums. */
export function keptSumOf(row: Row): KeptSum {
  return {
    axis: String(row['axis']),
    id: String(row['id']),
    sums: SUM_COLUMNS.map((column) => wholeOf(row[column])),
  };
}
