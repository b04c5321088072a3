// A call as the runaway brake has let it pass, or stopped it: what its row, its response and the end of it are told.
import type { Fault } from '../errors/fault.ts';
import type { SpendRecord } from '../spend/record/record.ts';

export interface BrakedCall {
  /** Warnings of its row. */
  readonly notes: readonly string[];
  /** Of its response, flat. */
  readonly headers: readonly string[];
  /** The pause before it. */
  readonly waitedMs: number;
  /** The call may not go on; null = it may. */
  readonly stop: Fault | null;
  /** Its record is settled. */
  ended(record: SpendRecord): void;
}
