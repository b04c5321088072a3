// Reports the settled record of a call to metrics, traces and the access log. Runs once for each record, after the journal
// has it.
import type { Fault } from '../errors/fault.ts';
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
  readonly fault: Fault | null;
}

export function observeCall({ active }: Exchange, record: SpendRecord, observed: Observed): void {
  const { services } = active;
  const { selected, overheadMs, responseModel, fault } = observed;
  (selected?.deployment.metrics ?? services.unrouted).observe(record, overheadMs ?? -1);
  services.spans?.ended(record, responseModel);
  const line = {
    ...(record.attempts > 1 ? { attempts: record.attempts } : {}),
    ...(record.trace === undefined ? {} : { trace_id: record.trace.traceId }),
    call_id: record.requestId,
    call_type: record.callType,
    model: record.modelGroup,
    upstream: record.apiBase,
    status: record.httpStatus,
    end: record.endReason,
    ms: record.endMs - record.startMs,
    first_byte_ms: record.firstByteMs === null ? null : record.firstByteMs - record.startMs,
    session: record.sessionId,
    tokens: record.tokens.total,
    error: record.errorCode,
  };
  if (fault?.code === 'internal_error') services.log.error({ ...line, err: fault.cause }, 'request');
  else if (fault !== null && fault.source !== 'client')
    services.log.warn({ ...line, why: fault.message }, 'request');
  else services.log.access(line);
}
