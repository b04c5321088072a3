// How SQL differs between the databases, for every question about spend. Each backend has one.

import type { Axis } from './rollup.ts';

/** What SQLite and PostgreSQL do not share. */
export interface SqlDialect {
  /** Before the number of a bound value: `?` or `$`. */
  readonly placeholder: '?' | '$';
  readonly spend: string;
  readonly daily: string;
  /** Behind `daily` in FROM: the index to read it by, where it is asked for some values of a column of an axis. */
  readonly dailyIndex: (axis: Axis, column: string) => string;
  /** A query: how far each journal was taken over, as `journal_id`, `segment`, `byte_offset`. */
  readonly positions: string;
  /** A condition: the JSON list in the column `tags` holds the text bound at `placeholder`. */
  readonly hasTag: (placeholder: string) => string;
  /** What stands beside the table of rows in FROM: a row `one` with the text `value` for each of a row's tags. */
  readonly tags: string;
  /** An expression: the UTC day of the column `start_ms` as `YYYY-MM-DD`. */
  readonly day: string;
  /** A condition: the column is one of the texts of the JSON list bound at `placeholder`. */
  readonly isAmong: (column: string, placeholder: string) => string;
  /** The value bound at `placeholder`, for a column of JSON. */
  readonly json: (placeholder: string) => string;
  /** A text as the database takes it. */
  readonly storable: (text: string) => string;
}
