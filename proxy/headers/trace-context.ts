// Trace context as it travels in headers: https://www.w3.org/TR/trace-context-1/. Pure. What is malformed counts as not
// sent, as the specification wants it: no call fails for its trace.

/** The trace context of a call: its span and its parent. */
export interface TraceContext {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** Our span, 16 lower-case hex digits: what goes upstream as the parent. */
  readonly spanId: string;
  /** The caller's span; null = the trace begins here. */
  readonly parentId: string | null;
  /** Spans of this trace are kept; the flag goes upstream too. */
  readonly sampled: boolean;
}

/** What a `traceparent` says of the caller. */
interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

// A later version may have more fields behind a dash; version ff is forbidden (section 3.2.2.1).
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 0x01;
/** 512 have to be passed on (section 3.3.1.5); what is far longer comes from no tracer. */
const STATE_CHARS = 2048;
const PRINTABLE = /^[\t\x20-\x7e]+$/;

/** Reads a `traceparent`; null when there is none, or two, or it is malformed. */
export function readTraceparent(value: string | null): TraceParent | null {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(value ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId, sampled: (parseInt(flags ?? '', 16) & SAMPLED) !== 0 };
}

/**
 * The headers that carry the trace on, flat.
 * @param tracestate as the caller sent it; it belongs to the caller's `traceparent` and goes with it or not at all
 */
export function traceHeaders(trace: TraceContext, tracestate: string | null): string[] {
  const list = ['traceparent', `00-${trace.traceId}-${trace.spanId}-${trace.sampled ? '01' : '00'}`];
  const carried = trace.parentId !== null && tracestate !== null && tracestate.length <= STATE_CHARS;
  if (carried && PRINTABLE.test(tracestate)) list.push('tracestate', tracestate);
  return list;
}
