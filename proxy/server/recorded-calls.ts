// What the spend store says of calls whose process has ended, for whoever holds what they reserved.
import type { RecordedCall } from '../access/counters.ts';
import type { Ledger } from '../spend/ledger.ts';

/** Those without a record are left out. @throws StoreUnavailable */
export async function recordsOf(
  { reader }: Pick<Ledger, 'reader'>,
  requestIds: readonly string[],
): Promise<readonly RecordedCall[]> {
  // One question for all: each stands behind a flush of every process.
  const { rows } = await reader.query(
    { requestIds },
    { page: 1, pageSize: requestIds.length, order: 'newest', counts: false },
  );
  return rows.map(({ requestId, spendPico, tokens }) => ({
    requestId,
    pico: BigInt(spendPico ?? 0),
    tokens: tokens.total,
  }));
}
