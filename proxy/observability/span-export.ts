// Exports spans from the main thread's side: records of sampled calls go to a worker thread in batches, and it reports how
// many spans were exported or lost. The queue is bounded; what does not fit, or does not arrive, is dropped and counted.
// A request never waits here and never fails here.
import type { OtelSettings } from '../../config/otel-settings.ts';
import { workerFile, WorkerRpc } from '../base/worker-rpc.ts';
import { within } from '../base/within.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { Log } from './logger.ts';
import { spanCount, spanSource, type SpanSource } from './spans.ts';
import type { SpanCalls, SpansSent, SpanWorkerData } from './span-worker.ts';

/** Read when metrics are scraped. */
interface SpanFigures {
  readonly exported: number;
  readonly dropped: number;
  /** Sent to the thread, and not known to be exported or lost. */
  readonly waiting: number;
}

const BATCH = 64; // a message of its own for each record took 2.9 us, a 64th of one 1.8
const BATCH_MS = 100;
/** What an operator runs when the SDK is missing; the versions are those that are tested. */
const INSTALL =
  'npm install @opentelemetry/api@1 @opentelemetry/resources@3 @opentelemetry/sdk-trace@3 ' +
  '@opentelemetry/exporter-trace-otlp-proto@0.301';

/**
 * Starts the exporter's thread and loads the SDK.
 * @throws Error that says what to install when the SDK is missing
 */
export async function openSpanExport(settings: OtelSettings, log: Log, version: string): Promise<SpanExport> {
  const spans = new SpanExport(settings, log, version);
  await spans.ready();
  return spans;
}

/** One per process, while tracing is on. */
export class SpanExport {
  readonly #settings: OtelSettings;
  readonly #log: Log;
  readonly #worker: WorkerRpc<SpanCalls, SpansSent>;
  #batch: SpanSource[] = [];
  #timer: NodeJS.Timeout | null = null;
  #exported = 0;
  #dropped = 0;
  #waiting = 0;
  #isFailing = false;
  #isClosed = false;

  constructor(settings: OtelSettings, log: Log, version: string) {
    this.#settings = settings;
    this.#log = log;
    this.#worker = this.#workerOf(version);
  }

  get figures(): SpanFigures {
    return { exported: this.#exported, dropped: this.#dropped, waiting: this.#waiting };
  }

  /** @throws Error that says what to install */
  async ready(): Promise<void> {
    await this.#worker.calls.ready().catch((error: Error) => {
      this.#isClosed = true;
      const missing = /Cannot find (?:package|module) '([^']+)'/.exec(error.message)?.[1];
      if (missing === undefined) throw error;
      throw new Error(`tracing is configured, and the package ${missing} is not installed - ${INSTALL}`);
    });
  }

  /** Takes the record of a call that has ended, if its trace is sampled. Never throws. */
  ended(record: SpendRecord, responseModel: string | null): void {
    const { trace } = record;
    if (trace === undefined || !trace.sampled || this.#isClosed) return;
    const count = spanCount(record);
    if (this.#waiting + count > this.#settings.queueSpans) {
      this.#lost(count, `${this.#settings.queueSpans} spans wait already`);
      return;
    }
    this.#waiting += count;
    this.#batch.push(spanSource(record, trace, responseModel));
    if (this.#batch.length >= BATCH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS).unref();
  }

  /** Exports what it can within `deadlineMs`; the rest counts as dropped. Idempotent. */
  async close(deadlineMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    await within(deadlineMs, this.#worker.close(), () => undefined);
    if (this.#waiting > 0) this.#lost(this.#waiting, `they were not taken within ${deadlineMs} ms`);
    this.#waiting = 0;
    await this.#worker.terminate();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#batch.length === 0) return;
    this.#worker.calls.take(this.#batch).catch(() => undefined); // a thread that dies is handled by #died
    this.#batch = [];
  }

  #workerOf(version: string): WorkerRpc<SpanCalls, SpansSent> {
    const { endpoint, headers, timeoutMs, delayMs, queueSpans, resource, compression } = this.#settings;
    return new WorkerRpc({
      file: workerFile('./span-worker', import.meta.url),
      name: 'throughline-spans',
      data: (): SpanWorkerData => ({
        url: endpoint,
        headers: Object.fromEntries(headers.map(([name, value]) => [name, value.reveal()])),
        timeoutMs,
        delayMs,
        mostSpans: queueSpans,
        resource: Object.fromEntries(resource),
        scope: { name: 'throughline', version },
      }),
      env: { OTEL_EXPORTER_OTLP_COMPRESSION: compression }, // the exporter takes it from there alone
      toError: ({ name, message }) =>
        new Error(name === 'WorkerLost' ? `its thread was lost: ${message}` : message),
      onEvent: (sent) => this.#sent(sent),
      onLost: (error) => this.#died(error),
    });
  }

  #sent({ spans, error }: SpansSent): void {
    this.#waiting -= spans;
    if (error === null) this.#succeeded(spans);
    else this.#lost(spans, error);
  }

  #succeeded(spans: number): void {
    this.#exported += spans;
    if (this.#isFailing) this.#log.info({ dropped: this.#dropped }, 'spans are exported again');
    this.#isFailing = false;
  }

  /** What the thread held is lost; the next batch gets a new one. */
  #died(error: Error): void {
    if (this.#isClosed) return; // `close` counts what is left
    const lost = this.#waiting - this.#batch.reduce((sum, source) => sum + spanCount(source), 0);
    this.#waiting -= lost;
    if (lost > 0) this.#lost(lost, error.message);
  }

  /** Logs the first loss only, until spans are exported again: a collector may be away for days. */
  #lost(spans: number, why: string): void {
    this.#dropped += spans;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn(
      { collector: this.#settings.endpoint, why },
      'spans are dropped: the collector does not take them; see throughline_trace_spans_dropped_total',
    );
  }
}
