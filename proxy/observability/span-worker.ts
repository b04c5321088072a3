// The thread that exports spans: records in, OTLP over HTTP out, by OpenTelemetry's SDK. It alone loads the SDK, and it
// is started only where tracing is on. Reports for every span whether it was exported; drops none itself, the queue is bounded before it.
import { workerData } from 'node:worker_threads';
import { SpanKind, SpanStatusCode, TraceFlags, type HrTime } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { RandomHex } from '../base/random-hex.ts';
import { postEvent, serveCalls } from '../base/worker-rpc.ts';
import { spansOf, type SpanData, type SpanSource } from './spans.ts';

/** What the thread is started with. Secrets are revealed: they stand in the headers of the exporter. */
export interface SpanWorkerData {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly delayMs: number;
  readonly mostSpans: number;
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: { readonly name: string; readonly version: string };
}

export interface SpanCalls {
  /** Resolves when the SDK is loaded. */
  ready(): Promise<void>;
  /** Takes records of sampled calls; events report how their export went. */
  take(sources: readonly SpanSource[]): Promise<void>;
}

/** How the export of so many spans ended; `error`: they are lost. */
export interface SpansSent {
  readonly spans: number;
  readonly error: string | null;
}

const settings = workerData as SpanWorkerData;
const resource = resourceFromAttributes(settings.resource);
const ids = new RandomHex();
const otlp = new OTLPTraceExporter({
  url: settings.url,
  headers: { ...settings.headers },
  timeoutMillis: settings.timeoutMs,
});

/** The exporter, which also reports each result to the main thread. */
const reportingExporter: SpanExporter = {
  export: (spans, done) => {
    otlp.export(spans, (result) => {
      const error = result.error === undefined ? null : textOf(result.error);
      postEvent({ spans: spans.length, error } satisfies SpansSent);
      done(result);
    });
  },
  shutdown: () => otlp.shutdown(),
};
const processor = new BatchSpanProcessor({
  exporter: reportingExporter,
  maxQueueSize: settings.mostSpans,
  maxExportBatchSize: Math.min(512, settings.mostSpans),
  scheduledDelayMillis: settings.delayMs,
  exportTimeoutMillis: settings.timeoutMs * 2, // the exporter's own timeout fires first and says more
});

/** With the status, but without the collector's response body, which may hold anything. */
function textOf({ message, code, name }: Error & { readonly code?: string | number }): string {
  if (typeof code === 'number') return `it answers ${code} ${message}`.trim();
  return message === '' ? (code ?? name) : message; // for a name with several addresses Node gives the code alone
}

function readable(data: SpanData, traceId: string): ReadableSpan {
  const context = (spanId: string) => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
  const own = context(data.spanId ?? ids.next(8));
  const { parentId, parentIsRemote: isRemote } = data;
  const durationMs = Math.max(0, data.endMs - data.startMs);
  return {
    name: data.name,
    // The conventions' kind of a call to a model, which is what the proxy makes of a call that it gets.
    kind: SpanKind.CLIENT,
    spanContext: () => own,
    ...(parentId === null ? {} : { parentSpanContext: { ...context(parentId), isRemote } }),
    startTime: hrTime(data.startMs),
    endTime: hrTime(data.startMs + durationMs),
    duration: hrTime(durationMs),
    status:
      data.error === null
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: data.error },
    attributes: data.attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: settings.scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const hrTime = (ms: number): HrTime => [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000];

serveCalls<SpanCalls>({
  methods: () => ({
    ready: () => undefined,
    take: (sources) => {
      for (const source of sources)
        for (const span of spansOf(source)) processor.onEnd(readable(span, source.trace.traceId));
    },
  }),
  onClose: () => processor.shutdown(), // failures were reported by the exporter
});
