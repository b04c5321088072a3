// What an attempt's end says: about the upstream (does it count against it?), and about the request (may another attempt
// mend it?). Statuses are read from statuses; texts are looked at only where no status tells what was wrong. Pure.
import type { Fault } from '../errors/fault.ts';
import type { Failure, FailureKind } from '../routing/failover-plan.ts';
import { retryAfterMs } from '../routing/backoff.ts';
import type { Outcome } from '../relay/outcome.ts';
import { errorIn, reasonOf, type UpstreamError } from '../protocols/upstream-error.ts';

/** How an attempt ended: with an answer, or before there was one. */
export type Ended =
  | { readonly outcome: Outcome; readonly fault?: undefined }
  | { readonly fault: Fault; readonly outcome?: undefined };

export interface Classification {
  /** `failed` counts against the entry; `unknown`: the client left, or the proxy was stopped. */
  readonly upstream: 'served' | 'failed' | 'unknown';
  /** Set when another attempt may mend it, and nothing was sent to the client. */
  readonly failure: Failure | null;
}

const SERVED: Classification = { upstream: 'served', failure: null };
const FAILED: Classification = { upstream: 'failed', failure: null };
const UNKNOWN: Classification = { upstream: 'unknown', failure: null };

function classified(
  upstream: Classification['upstream'],
  kind: FailureKind,
  wishMs: number | null = null,
): Classification {
  return { upstream, failure: { kind, wishMs } };
}

/** @param nowMs epoch milliseconds, for a `Retry-After` that is a date */
export function classify({ outcome, fault }: Ended, nowMs: number): Classification {
  if (outcome === undefined) return ofFault(fault);
  if (outcome.end === 'client_gone' || outcome.end === 'stopped') return UNKNOWN;
  const found = ofAnswer(outcome, nowMs);
  return outcome.unsent === null ? { ...found, failure: null } : found;
}

function ofFault(fault: Fault): Classification {
  switch (fault.code) {
    case 'upstream_unreachable':
    case 'connect_timeout':
      return classified('failed', 'unreached');
    case 'first_byte_timeout':
    case 'first_token_timeout':
    case 'idle_timeout':
      return classified('failed', 'timeout');
    case 'upstream_broken':
    case 'stream_truncated':
      return classified('failed', 'server');
    case 'total_timeout':
      return FAILED; // no time is left for another attempt
    default:
      return UNKNOWN;
  }
}

function ofAnswer({ end, status, unsent, retryAfter }: Outcome, nowMs: number): Classification {
  if (end === 'complete') return SERVED;
  if (end !== 'upstream_error') return classified('failed', 'server'); // a document that ended in the middle
  const wishMs = retryAfterMs(retryAfter, nowMs);
  const error = unsent === null ? null : errorIn(unsent);
  return status !== null && status >= 400 ? ofStatus(status, wishMs, error) : ofEvent(error, wishMs);
}

function ofStatus(status: number, wishMs: number | null, error: UpstreamError | null): Classification {
  if (status === 429) return classified('failed', 'rate_limit', wishMs);
  if (status === 408 || status === 504) return classified('failed', 'timeout', wishMs);
  if (status === 409 || status === 425) return classified('served', 'server', wishMs);
  if (status === 501 || status === 505) return SERVED; // it will not have learnt it the next time
  if (status >= 500) return classified('failed', 'server', wishMs);
  if (status === 401) return FAILED; // our key, not the client's; the same key would be refused again
  return status === 400 || status === 413 || status === 422 ? ofRefusal(error) : SERVED;
}

/** An error event before any token. Its code stands for the status that could not be sent any more. */
function ofEvent(error: UpstreamError | null, wishMs: number | null): Classification {
  const status = Number(error?.code);
  if (status >= 400 && status < 600) return ofStatus(status, wishMs, error);
  switch (error?.type) {
    case 'invalid_request_error':
    case 'not_found_error':
    case 'permission_error':
    case 'request_too_large':
      return ofRefusal(error);
    case 'authentication_error':
      return FAILED;
    case 'rate_limit_error':
      return classified('failed', 'rate_limit', wishMs);
    default:
      return classified('failed', 'server', wishMs);
  }
}

/** A request that the upstream calls wrong: only a fallback that is made for that reason can mend it. */
function ofRefusal(error: UpstreamError | null): Classification {
  const reason = error === null ? null : reasonOf(error);
  return reason === null ? SERVED : classified('served', reason);
}
