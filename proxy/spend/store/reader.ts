// Reading a store from outside: an SQLite file or a PostgreSQL, also while a proxy writes to it. Everything is read in
// one transaction, as it was at the first question. Must never write: no row, no migration, no lock that a writer meets.
import type { SpendRecord } from '../record/record.ts';
import type { Position } from './segments.ts';
import type { ActivityFilter, SpendFilter, SpendReader, SpentQuery, SpentSum } from './store.ts';

/** One sum as it is kept beside the rows. */
export interface KeptSum {
  readonly axis: string;
  readonly id: string;
  /** The numbers that are added up, in the order of `SUM_COLUMNS`. */
  readonly sums: readonly bigint[];
}

/** Every call may reject with `StoreUnavailable`. */
export interface StoreReader {
  /** What is read, for people. */
  readonly shown: string;
  readonly activity: SpendReader['activity'];
  /** Rows in the order of time, oldest first, however many. */
  rows(filter: SpendFilter): AsyncIterable<SpendRecord>;
  /** How far each journal was taken over, by its id. */
  positions(): Promise<ReadonlyMap<string, Position>>;
  /** Which of these ids are rows. */
  known(requestIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Ids that more than one row has; at most `limit` of them. */
  doubles(limit: number): Promise<readonly string[]>;
  /** UTC days that have sums, in their order. */
  days(filter: Pick<ActivityFilter, 'startDay' | 'endDay'>): Promise<readonly string[]>;
  /** All sums of one day. */
  keptSums(day: string): Promise<readonly KeptSum[]>;
  /** What was spent since any moment: what budgets begin with. */
  spentSince(queries: readonly SpentQuery[]): Promise<readonly (readonly SpentSum[])[]>;
  /** Idempotent. */
  close(): Promise<void>;
}
