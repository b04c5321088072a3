// Reports the settled record of a call to metrics, traces and the access log. Runs once for each record, after the journal
// has it.
import type { Chaos } from '../chaos/faults.ts';
import type { Fault } from '../errors/fault.ts';
import type { AccessLine } from '../observability/access-log.ts';
import { failureOf, type Failure } from '../observability/failure.ts';
import type { Exchange } from './exchange.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { SpendRecord } from '../spend/record/record.ts';

/** What is reported beside the record. */
export interface Observed {
  /** Where the call went last; null when it went nowhere. */
  readonly selected: SelectedDeployment | null;
  /** The proxy's own overhead, ms; null when there was no response to measure it by. */
  readonly overheadMs: number | null;
  /** The model that the response names. */
  readonly responseModel: string | null;
  /** In which the upstream answered; null when none did. */
  readonly protocol: string | null;
  readonly fault: Fault | null;
}

/** @param chaos the fault that the call asked for; null: none */
export function observeCall(
  { active }: Exchange,
  record: SpendRecord,
  { selected, overheadMs, responseModel, protocol, fault }: Observed,
  chaos: Chaos | null,
): void {
  const { services } = active;
  const failure = failureOf(record, selected?.deployment.config.group.includes('*') === true);
  // What was asked for says nothing about a deployment, and wakes nobody.
  if (chaos !== null) services.metrics.chaosCalled(chaos.name);
  else (selected?.deployment.metrics ?? services.unrouted).observe(record, overheadMs ?? -1, failure);
  services.spans?.ended(record, responseModel);
  const line = lineOf(record, protocol, failure, chaos);
  if (fault?.code === 'internal_error') services.log.error({ ...line, err: fault.cause }, 'request');
  else services.log.access(line, chaos === null ? (failure?.level ?? 30) : 30);
}

/** The members stand here in the order of the log. */
function lineOf(
  record: SpendRecord,
  protocol: string | null,
  failure: Failure | null,
  chaos: Chaos | null,
): AccessLine {
  return {
    call_id: record.requestId,
    call_type: record.callType,
    model: record.modelGroup,
    model_id: record.modelId,
    upstream: record.apiBase,
    protocol,
    status: record.httpStatus,
    end: record.endReason,
    ms: record.endMs - record.startMs,
    first_byte_ms: record.firstByteMs === null ? null : record.firstByteMs - record.startMs,
    session: record.sessionId,
    key: keyOf(record),
    team: record.teamId,
    tokens: record.tokens.total,
    attempts: record.attempts,
    upstream_call_id: record.upstreamCallId,
    fault: failure?.side ?? null,
    error: failure?.reason ?? null,
    why: failure?.why ?? null,
    chaos: chaos?.text,
    trace_id: record.trace?.traceId,
  };
}

function keyOf({ keyName, apiKeyHash }: SpendRecord): string | null {
  return keyName ?? (apiKeyHash === '' ? null : apiKeyHash.slice(0, 12));
}
