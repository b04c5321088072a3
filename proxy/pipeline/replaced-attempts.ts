// The attempts of a call beside the last one, as its record states them: replaced by another one, or continued by it. Pure.
import type { Attempt, SpendRecord } from '../spend/record/record.ts';
import { wholeCost } from '../spend/record/reprice.ts';
import { NO_TOKENS, sumOfTokens } from '../protocols/usage.ts';
import type { AttemptStart } from './attempt-log.ts';
import type { Ended } from './classify.ts';
import { nowOf, type Exchange } from './exchange.ts';
import { chargeOf, faultPico, asRecordedText, type AnsweredAttempt } from './spend-entries.ts';

/** The columns of an attempt that follow from its start. */
function attemptAt(
  { selected, sentMs }: AttemptStart,
  endMs: number,
): Omit<Attempt, 'status' | 'error' | 'usage' | 'spendPico'> {
  const { id, apiBase } = selected.deployment.config;
  return { modelId: id, model: selected.upstreamModel, apiBase, startMs: sentMs, durationMs: endMs - sentMs };
}

/** An attempt that was replaced by another one. @param error why, in one word */
export function replacedAttempt(
  x: Exchange,
  start: AttemptStart,
  ended: Ended,
  error: string,
  { endpoint, billable, protocol }: Pick<AnsweredAttempt, 'endpoint' | 'billable' | 'protocol'>,
): Attempt {
  const at = attemptAt(start, nowOf(x));
  if (ended.outcome === undefined) {
    const { fault } = ended;
    return { ...at, status: null, error: fault.code, usage: null, spendPico: faultPico(fault) };
  }
  const { outcome } = ended;
  const { used, cost } = chargeOf(x, {
    endpoint,
    billable,
    protocol,
    selected: start.selected,
    outcome,
    estimate: null,
  });
  return { ...at, status: outcome.status, error, usage: used.usage, spendPico: cost.spendPico };
}

/** An attempt whose stream the next one continued. */
export function partOf(x: Exchange, start: AttemptStart, answered: AnsweredAttempt): Attempt {
  const { outcome } = answered;
  const { used, cost } = chargeOf(x, answered);
  const upstreamId = asRecordedText(x, outcome.reading.id);
  return {
    ...attemptAt(start, nowOf(x)),
    status: outcome.status,
    error: outcome.fault?.code ?? outcome.end,
    usage: used.usage,
    spendPico: cost.spendPico,
    continued: true,
    ...(upstreamId === null ? {} : { upstreamId }),
    tokens: used.tokens,
    ...(used.estimatedBy === null ? {} : { estimatedBy: used.estimatedBy }),
  };
}

/**
 * The record with the attempts beside the last one, oldest first: what is known of their cost is part of what the request cost.
 * @param last null = the call ended before another one began
 */
export function withReplaced(
  record: SpendRecord,
  replaced: readonly Attempt[],
  last: AttemptStart | null,
): SpendRecord {
  const cost = wholeCost(record, replaced);
  if (last === null) return { ...record, ...cost, attempts: replaced.length, attemptLog: replaced };
  const failed = record.status === 'failure';
  const attempt: Attempt = {
    ...attemptAt(last, record.endMs),
    status: record.errorCode === null ? record.httpStatus : null,
    error: failed ? (record.errorCode ?? record.endReason) : null,
    usage: record.usage,
    spendPico: record.spendPico,
  };
  const whole = {
    ...record,
    ...cost,
    attempts: replaced.length + 1,
    attemptLog: [...replaced, attempt],
  };
  const parts = replaced.filter(({ continued }) => continued === true);
  return parts.length === 0 ? whole : withParts(whole, parts, attempt);
}

/** The record of a response that several attempts wrote: the tokens of all, and which attempt wrote each part. */
function withParts(record: SpendRecord, parts: readonly Attempt[], last: Attempt): SpendRecord {
  const estimatedBy =
    record.estimatedBy ?? parts.find((part) => part.estimatedBy !== undefined)?.estimatedBy ?? null;
  const ends = parts.map(
    ({ modelId, error }, i) =>
      `the stream of ${modelId} broke off (${error}); ${(parts[i + 1] ?? last).modelId} went on with it`,
  );
  const own = {
    tokens: record.tokens,
    ...(record.estimatedBy === null ? {} : { estimatedBy: record.estimatedBy }),
  };
  return {
    ...record,
    tokens: [...parts.map(({ tokens }) => tokens ?? NO_TOKENS), record.tokens].reduce(sumOfTokens),
    usageSource: estimatedBy === null ? record.usageSource : 'estimate',
    estimatedBy,
    warnings: [...record.warnings, ...ends],
    attemptLog: [...record.attemptLog.slice(0, -1), { ...last, ...own }],
  };
}
