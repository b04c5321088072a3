// What the spend store says of calls whose process has ended, for whoever holds what they reserved.
import type { RecordedCall } from '../access/counters.ts';
import type { Ledger } from '../spend/ledger.ts';

/** Those without a record are left out. @throws StoreUnavailable */
export async function recordsOf(
  { reader }: Pick<Ledger, 'reader'>,
  requestIds: readonly string[],
): Promise<readonly RecordedCall[]> {
  const records: RecordedCall[] = [];
  for (const requestId of requestIds) {
    const { rows } = await reader.query(
      { requestId },
      { page: 1, pageSize: 1, order: 'newest', counts: false },
    );
    for (const { spendPico, tokens } of rows)
      records.push({ requestId, pico: BigInt(spendPico ?? 0), tokens: tokens.total });
  }
  return records;
}
