// One call as a ledger records it, ours or a gateway's: the fields by which two ledgers are compared. Pure.
import type { Attempt, SpendRecord } from '../record/record.ts';
import { sessionKey } from '../store/sql/spend-columns.ts';

/** Amounts are pico-dollars; null = the ledger does not know. */
export interface LedgerEntry {
  /** How the ledger itself names the call. */
  readonly id: string;
  /** Ids of the call itself; equal ones on both sides are the same call. */
  readonly callIds: readonly string[];
  /** Ids of the answer; a gateway may have given one twice. */
  readonly answerIds: readonly string[];
  /** '' = none; UUIDs without dashes. */
  readonly session: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  /** The gateway's name of the model. */
  readonly model: string;
  readonly tags: readonly string[];
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly spendPico: bigint | null;
}

/** Whether an entry has no cost: refused and failed calls may stand in one ledger alone. */
export function isWithoutCost({ spendPico, promptTokens, completionTokens }: LedgerEntry): boolean {
  return (spendPico ?? 0n) === 0n && (promptTokens ?? 0) + (completionTokens ?? 0) === 0;
}

/**
 * What the gateway should know of one of our rows: nothing of a call that was refused here, each attempt of one that
 * took several.
 * @param apiBase only what was sent there; null = wherever
 */
export function entriesOf(record: SpendRecord, apiBase: string | null): LedgerEntry[] {
  if (record.endReason === 'refused') return [];
  const { attemptLog, spendPico } = record;
  const replaced = attemptLog.slice(0, -1);
  const known = replaced.reduce((sum, one) => sum + (one.spendPico ?? 0), 0);
  const { tokens = record.tokens } = attemptLog.at(-1) ?? {}; // the row has those of all that wrote the answer
  const last: LedgerEntry = {
    id: record.requestId,
    callIds: [record.upstreamCallId, record.requestId].filter((id) => id !== null),
    answerIds: [record.upstreamId].filter((id) => id !== null),
    session: sessionKey(record.sessionId),
    startMs: attemptLog.at(-1)?.startMs ?? record.startMs,
    model: record.model,
    tags: record.tags,
    promptTokens: tokens.prompt,
    completionTokens: tokens.completion,
    spendPico: spendPico === null ? null : BigInt(spendPico - known),
  };
  const sentTo = (base: string | null): boolean => apiBase === null || base === apiBase;
  return [
    ...replaced.flatMap((attempt, i) => (sentTo(attempt.apiBase) ? [attemptEntry(attempt, i, last)] : [])),
    ...(sentTo(record.apiBase) ? [last] : []),
  ];
}

/** Attempts have no ids of their own, so they are found by session and time. */
function attemptEntry(attempt: Attempt, i: number, last: LedgerEntry): LedgerEntry {
  const { usage, spendPico, tokens, upstreamId } = attempt;
  return {
    ...last,
    id: `${last.id} attempt ${i + 1}`,
    callIds: [],
    answerIds: upstreamId === undefined ? [] : [upstreamId],
    startMs: attempt.startMs,
    model: attempt.model,
    promptTokens: tokens?.prompt ?? countOf(usage, 'prompt_tokens', 'input_tokens'),
    completionTokens: tokens?.completion ?? countOf(usage, 'completion_tokens', 'output_tokens'),
    spendPico: spendPico === null ? null : BigInt(spendPico),
  };
}

function countOf(
  usage: Readonly<Record<string, unknown>> | null,
  ...names: readonly string[]
): number | null {
  const value = names.map((name) => usage?.[name]).find((one) => typeof one === 'number');
  return Number.isSafeInteger(value) ? (value as number) : null;
}
