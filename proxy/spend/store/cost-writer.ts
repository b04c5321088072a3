// Replacing what rows cost, from outside and also while a proxy writes: rows and their daily sums in one transaction
// per batch. The only writer beside the shipper; it changes costs and nothing else. Must not migrate.
import type { SpendRecord } from '../record/record.ts';

/** A row as it was read and as it shall be: they differ in their cost alone. */
export interface Recosted {
  readonly before: SpendRecord;
  readonly after: SpendRecord;
}

/** Most rows of one batch: some 100 ms, for which a proxy's shipper waits. */
export const RECOST_ROWS = 500;

export interface CostWriter {
  /**
   * Replaces the costs of at most `RECOST_ROWS` rows. A row that was removed or priced anew since it was read stays as
   * it is.
   * @returns how many rows were changed
   * @throws StoreUnavailable; nothing of the batch was changed then
   */
  write(batch: readonly Recosted[]): Promise<number>;
  /** Idempotent. */
  close(): Promise<void>;
}
