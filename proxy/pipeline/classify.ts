// Classifies the end of an attempt: does it count against the upstream, and may another attempt succeed? The status
// decides; the error text is read only where the status alone does not tell. Pure.
import type { Fault } from '../errors/fault.ts';
import type { Failure, FailureKind } from '../routing/failover-plan.ts';
import { parseRetryAfter } from '../routing/backoff.ts';
import type { Outcome } from '../relay/outcome.ts';
import { errorIn, reasonOf, statedStatus, type UpstreamError } from '../protocols/upstream-error.ts';

/** How an attempt ended: with a response, or before there was one. */
export type Ended =
  | { readonly outcome: Outcome; readonly fault?: undefined }
  | { readonly fault: Fault; readonly outcome?: undefined };

export interface Classification {
  /** `failed` counts against the deployment; `unknown`: the client left, or the proxy was stopped. */
  readonly upstream: 'served' | 'failed' | 'unknown';
  /** Set when another attempt may succeed and nothing was sent to the client. */
  readonly failure: Failure | null;
}

const SERVED: Classification = { upstream: 'served', failure: null };
const FAILED: Classification = { upstream: 'failed', failure: null };
const UNKNOWN: Classification = { upstream: 'unknown', failure: null };

function classified(
  upstream: Classification['upstream'],
  kind: FailureKind,
  retryAfterMs: number | null = null,
): Classification {
  return { upstream, failure: { kind, retryAfterMs } };
}

/** @param nowMs epoch milliseconds, for a `Retry-After` that is a date */
export function classify({ outcome, fault }: Ended, nowMs: number): Classification {
  if (outcome === undefined) return ofFault(fault);
  if (outcome.end === 'client_gone' || outcome.end === 'stopped' || outcome.end === 'refused') return UNKNOWN;
  const found = ofOutcome(outcome, nowMs);
  return outcome.unsent === null ? { ...found, failure: null } : found;
}

function ofFault(fault: Fault): Classification {
  switch (fault.code) {
    case 'upstream_unreachable':
    case 'connect_timeout':
      return classified('failed', 'unreached');
    case 'overloaded':
      return classified('unknown', 'unreached'); // nothing left to make a socket of; other attempts may have theirs already
    case 'first_byte_timeout':
    case 'first_token_timeout':
    case 'idle_timeout':
      return classified('failed', 'timeout');
    case 'client_timeout':
      return classified('unknown', 'timeout'); // the client's patience says nothing about the upstream
    case 'upstream_broken':
    case 'stream_broken':
    case 'stream_truncated':
      return classified('failed', 'server');
    case 'total_timeout':
      return FAILED; // no time is left for another attempt
    default:
      return UNKNOWN;
  }
}

function ofOutcome({ end, status, unsent, retryAfter, fault }: Outcome, nowMs: number): Classification {
  if (end === 'complete') return SERVED;
  // Without a fault it is a document that ended in the middle.
  if (end !== 'upstream_error') return fault === null ? classified('failed', 'server') : ofFault(fault);
  const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
  const error = unsent === null ? null : errorIn(unsent);
  return status !== null && status >= 400
    ? ofStatus(status, retryAfterMs, error)
    : ofEvent(error, retryAfterMs);
}

function ofStatus(status: number, retryAfterMs: number | null, error: UpstreamError | null): Classification {
  if (status === 429) return classified('failed', 'rate_limit', retryAfterMs);
  if (status === 408 || status === 504) return classified('failed', 'timeout', retryAfterMs);
  if (status === 409 || status === 425) return classified('served', 'server', retryAfterMs);
  if (status === 501 || status === 505) return SERVED; // a retry cannot change that
  if (status >= 500) return classified('failed', 'server', retryAfterMs);
  if (status === 401) return FAILED; // our key, not the client's; the same key would be refused again
  return status === 400 || status === 413 || status === 422 ? ofRefusal(error) : SERVED;
}

/** An error event before any token. What it states stands in for the status, which is already 200. */
function ofEvent(error: UpstreamError | null, retryAfterMs: number | null): Classification {
  const status = error === null ? null : statedStatus(error);
  return status === null
    ? classified('failed', 'server', retryAfterMs)
    : ofStatus(status, retryAfterMs, error);
}

/** The upstream rejects the request itself: only a fallback for exactly that reason can help. */
function ofRefusal(error: UpstreamError | null): Classification {
  const reason = error === null ? null : reasonOf(error);
  return reason === null ? SERVED : classified('served', reason);
}
