// The thread that exports spans: records in, OTLP over HTTP out, by OpenTelemetry's SDK. It alone loads the SDK, and it
// is started only where tracing is on. Says of every span what became of it; drops none itself, the bound is before it.
import { parentPort, workerData } from 'node:worker_threads';
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import type { HrTime } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { RandomHex } from '../base/random-hex.ts';
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

/** Records of sampled calls, or the end. */
export type SpanQuestion = readonly SpanSource[] | 'close';

/** What became of so many spans; `error` = they are lost. `ready`: the SDK is loaded; `closed`: nothing is left. */
export type SpanReply = 'ready' | 'closed' | { readonly spans: number; readonly error: string | null };

const settings = workerData as SpanWorkerData;
const resource = resourceFromAttributes(settings.resource);
const ids = new RandomHex();
const otlp = new OTLPTraceExporter({
  url: settings.url,
  headers: { ...settings.headers },
  timeoutMillis: settings.timeoutMs,
});
const tell = (reply: SpanReply): void => parentPort?.postMessage(reply);

/** The exporter, telling how it went. */
const told: SpanExporter = {
  export: (spans, done) => {
    otlp.export(spans, (result) => {
      tell({ spans: spans.length, error: result.error === undefined ? null : textOf(result.error) });
      done(result);
    });
  },
  shutdown: () => otlp.shutdown(),
};
const processor = new BatchSpanProcessor({
  exporter: told,
  maxQueueSize: settings.mostSpans,
  maxExportBatchSize: Math.min(512, settings.mostSpans),
  scheduledDelayMillis: settings.delayMs,
  exportTimeoutMillis: settings.timeoutMs * 2, // the exporter's own clock tells first; this one only says `Timeout`
});

/** With the status, but without what the collector says in its body: nobody knows what that is. */
function textOf({ message, code, name }: Error & { readonly code?: string | number }): string {
  if (typeof code === 'number') return `it answers ${code} ${message}`.trim();
  return message === '' ? (code ?? name) : message; // of a name with several addresses Node says the code alone
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

parentPort?.on('message', (question: SpanQuestion) => {
  if (question === 'close') {
    void processor
      .shutdown()
      .catch(() => undefined) // what failed was told by the exporter
      .then(() => tell('closed'));
    return;
  }
  for (const source of question)
    for (const span of spansOf(source)) processor.onEnd(readable(span, source.trace.traceId));
});
tell('ready');
