// Gives each call its trace context: the caller's trace, or a new one. This is all that tracing adds to a request's own
// path. Never fails a request and sends nothing: spans are made from the finished record.
import type { OtelSettings } from '../../config/otel-settings.ts';
import { RandomHex } from '../base/random-hex.ts';
import { readTraceparent, type TraceContext } from '../headers/trace-context.ts';

const RANDOM_DIGITS = 13; // 52 bits, an exact double; the last digits are the random ones (trace-context-2 section 3.2.2.3)

/** One per process, while tracing is on. */
export class Traces {
  /** Whether the trace context goes upstream. */
  readonly propagates: boolean;
  readonly #sampler: OtelSettings['sampler'];
  readonly #ids = new RandomHex();

  constructor({ propagates, sampler }: Pick<OtelSettings, 'propagates' | 'sampler'>) {
    this.propagates = propagates;
    this.#sampler = sampler;
  }

  /** @param traceparent as the caller sent it; null = not sent */
  begin(traceparent: string | null): TraceContext {
    const parent = readTraceparent(traceparent);
    const traceId = parent?.traceId ?? this.#ids.next(16);
    const { ratio, followsCaller } = this.#sampler;
    const sampled =
      parent !== null && followsCaller ? parent.sampled : ratio === 1 || positionOf(traceId) < ratio;
    return { traceId, spanId: this.#ids.next(8), parentId: parent?.spanId ?? null, sampled };
  }
}

/** In [0, 1), the same for every proxy that sees the trace: all of them keep it, or none. */
function positionOf(traceId: string): number {
  return parseInt(traceId.slice(-RANDOM_DIGITS), 16) / 16 ** RANDOM_DIGITS;
}
