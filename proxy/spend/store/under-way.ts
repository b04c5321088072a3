// Which calls were under way at a moment: budgets ask it of a record, and the stores of their rows (`sql/spent-since.ts`).
import type { SpendRecord } from '../record/record.ts';

/** Rows of so long before are looked through for calls that were under way at a moment. */
export const LONGEST_CALL_MS = 86_400_000;

/**
 * Whether a call had begun before a moment and ended later. Of one that lost its process nobody knows how long it went on: it
 * belongs to when it began.
 */
export const wasUnderWay = (
  { startMs, endMs, endReason }: Pick<SpendRecord, 'startMs' | 'endMs' | 'endReason'>,
  atMs: number,
): boolean =>
  startMs < atMs && startMs >= atMs - LONGEST_CALL_MS && endMs >= atMs && endReason !== 'interrupted';
