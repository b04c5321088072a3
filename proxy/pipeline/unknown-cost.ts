// What a call counts for whose end leaves open what it cost: a share of what it had reserved of its budgets, so that nobody spends
// without a budget by leaving early or by an upstream that hangs up, and no budget is exceeded. A call without budgets has
// reserved nothing: its cost stays unknown. Pure.
import type { CallCost } from '../access/budgets/reservation.ts';
import type { Attempt, SpendRecord } from '../spend/record/record.ts';

const LEFT =
  'an estimate: the client left before the upstream had answered, so the call counts for what its prompt had reserved of its budgets';
const UNANSWERED =
  'an estimate: the upstream took the request and gave no answer, so the call counts for what its prompt had reserved of its budgets';
const UNCOUNTED =
  'an estimate: nobody has counted the tokens of the answer, so the call counts for all that it had reserved of its budgets for one answer';

/** The record with what it counts for, where its cost is not known. */
export function withReservedCost(record: SpendRecord, reserved: CallCost | null): SpendRecord {
  if (reserved === null || record.spendPico !== null) return record;
  const { pico, inputPico } = reserved.answer;
  if (record.responseBytes > 0) return { ...record, spendPico: Number(pico), costReason: UNCOUNTED };
  const costReason = record.endReason === 'client_gone' ? LEFT : UNANSWERED;
  return { ...record, spendPico: Number(inputPico()), costReason };
}

/** The attempts beside the last one: each of unknown cost counts for the prompt, as far as what the call has reserved pays for it. */
export function withReservedCosts(
  attempts: readonly Attempt[],
  lastPico: number | null,
  reserved: CallCost | null,
): readonly Attempt[] {
  if (reserved === null || attempts.every(({ spendPico }) => spendPico !== null)) return attempts;
  const known = attempts.reduce((pico, { spendPico }) => pico + (spendPico ?? 0), lastPico ?? 0);
  let left = Math.max(0, Number(reserved.whole.pico) - known);
  const promptPico = Number(reserved.answer.inputPico());
  return attempts.map((attempt) => {
    if (attempt.spendPico !== null) return attempt;
    const spendPico = Math.min(promptPico, left);
    left -= spendPico;
    return { ...attempt, spendPico };
  });
}
