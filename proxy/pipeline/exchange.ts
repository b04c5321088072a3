// The handles of one request: request and response, clock readings, the active configuration captured once. It never
// changes: each step takes values and returns new ones.
import type { DownstreamRequest } from '../downstream/downstream-request.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { clientAddressOf } from '../access/client-address.ts';
import { readHeaders, type RequestHeaders } from '../headers/request-headers.ts';
import type { TraceContext } from '../headers/trace-context.ts';

/** One request of a client and all that its steps share. What they find out is passed on as values, never put here. */
export interface Exchange {
  readonly req: DownstreamRequest;
  readonly res: DownstreamResponse;
  readonly active: ActiveConfig;
  /** Our call id. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly headers: RequestHeaders;
  /** Of the caller, as a trusted proxy states it, else of the connection; null = not known. */
  readonly clientAddress: string | null;
  /** null: tracing is off. */
  readonly trace: TraceContext | null;
  /** Path as sent, without the query. */
  readonly path: string;
  /** Query as sent, without the question mark; '' when there is none. */
  readonly query: string;
}

/** Opens an exchange on the configuration that serves now. */
export function openExchange(
  req: DownstreamRequest,
  res: DownstreamResponse,
  active: ActiveConfig,
): Exchange {
  const { clock, ids, traces } = active.services;
  const startMs = clock.now();
  const url = req.target;
  const queryAt = url.indexOf('?');
  const headers = readHeaders(active.rules, req.headers);
  return {
    req,
    res,
    active,
    id: ids.next(startMs),
    startMs,
    startedAt: clock.mono(),
    headers,
    clientAddress:
      active.trustedProxies === null
        ? req.clientAddress
        : clientAddressOf(req.clientAddress, req.headers, active.trustedProxies),
    trace: traces === null ? null : traces.begin(headers.traceparent),
    path: queryAt < 0 ? url : url.slice(0, queryAt),
    query: queryAt < 0 ? '' : url.slice(queryAt + 1),
  };
}

/**
 * The epoch milliseconds of a moment of this exchange: its start and the time since, so that nothing of it ends before it
 * began when the wall clock is set meanwhile. @param at monotonic ms
 */
export function timeOf({ startMs, startedAt }: Exchange, at: number): number {
  return startMs + Math.max(0, Math.floor(at - startedAt));
}

/** Likewise, of this moment. */
export function nowOf(x: Exchange): number {
  return timeOf(x, x.active.services.clock.mono());
}
