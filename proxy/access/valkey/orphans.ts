// What becomes of reservations whose server is gone: what the spend store says of their calls is what they cost.
import type { RecordedCall } from '../counters.ts';
import { partsOf } from './amounts.ts';
import { operation, type PendingOperations } from './pending-operations.ts';
import { COUNTER_MS } from './scripts.ts';
import type { GoneServer } from './valkey-link.ts';

export interface KnownRecords {
  /** What the spend store says of these requests; those without a record are left out. */
  readonly recordsOf?: (requestIds: readonly string[]) => Promise<readonly RecordedCall[]>;
  /**
   * Journals that this process writes or has taken over, its own first: `recordsOf` knows every call that began in them before.
   * Others have no name in Valkey by which a later process could tell.
   */
  readonly journals?: () => readonly string[];
}

/**
 * A call without a record never began, where its journal is known here as a whole. Else it stays reserved: its journal may come back,
 * until unused counters are forgotten.
 */
export async function settleOrphans(
  requestIds: readonly string[],
  { name, silentMs }: GoneServer,
  pending: PendingOperations,
  { recordsOf, journals }: KnownRecords,
): Promise<void> {
  const isKnown = journals?.().includes(name.slice(0, name.lastIndexOf('/'))) === true; // before its records are asked for
  const records = await recordsOf?.(requestIds).catch(() => null);
  if (records === undefined || records === null) return; // asked again with the next sign of life
  for (const { requestId, pico, tokens } of records)
    pending.add(operation('S', requestId, tokens ?? -1, ...partsOf(pico)));
  if (!isKnown && silentMs < COUNTER_MS) return;
  const recorded = new Set(records.map(({ requestId }) => requestId));
  for (const requestId of requestIds) if (!recorded.has(requestId)) pending.add(operation('x', requestId));
}
