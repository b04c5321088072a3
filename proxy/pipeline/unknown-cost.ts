// What a call counts for whose end leaves open what it cost: a share of what it had reserved of its budgets, so that nobody spends
// without a budget by leaving early or by an upstream that hangs up, and no budget is exceeded. A call without budgets has
// reserved nothing: its cost stays unknown. Pure.
import type { Attempt, SpendRecord } from '../spend/record/record.ts';

/** What a call has reserved of its budgets; pico-dollars. */
export interface ReservedPico {
  readonly pico: number;
  /** Of it, what one answer may cost: all of it, unless another deployment may go on with the answer. */
  readonly answerPico: number;
  /** Of it, what the prompt may cost. */
  readonly promptPico: () => number;
}

const LEFT =
  'an estimate: the client left before the upstream had answered, so the call counts for what its prompt had reserved of its budgets';
const UNANSWERED =
  'an estimate: the upstream took the request and gave no answer, so the call counts for what its prompt had reserved of its budgets';
const UNCOUNTED =
  'an estimate: nobody has counted the tokens of the answer, so the call counts for all that it had reserved of its budgets for one answer';

/** The record with what it counts for, where its cost is not known. */
export function withReservedCost(record: SpendRecord, reserved: ReservedPico | null): SpendRecord {
  if (reserved === null || record.spendPico !== null) return record;
  if (record.responseBytes > 0) return { ...record, spendPico: reserved.answerPico, costReason: UNCOUNTED };
  const costReason = record.endReason === 'client_gone' ? LEFT : UNANSWERED;
  return { ...record, spendPico: reserved.promptPico(), costReason };
}

/** The attempts beside the last one: each of unknown cost counts for the prompt, as far as what the call has reserved pays for it. */
export function withReservedCosts(
  attempts: readonly Attempt[],
  lastPico: number | null,
  reserved: ReservedPico | null,
): readonly Attempt[] {
  if (reserved === null || attempts.every(({ spendPico }) => spendPico !== null)) return attempts;
  const known = attempts.reduce((pico, { spendPico }) => pico + (spendPico ?? 0), lastPico ?? 0);
  let left = Math.max(0, reserved.pico - known);
  const promptPico = reserved.promptPico();
  return attempts.map((attempt) => {
    if (attempt.spendPico !== null) return attempt;
    const spendPico = Math.min(promptPico, left);
    left -= spendPico;
    return { ...attempt, spendPico };
  });
}
