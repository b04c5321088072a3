// Prometheus metrics. Label values come from the configuration (model_name, never a name that a client made up), so
// cardinality is bounded; children are looked up once per route and kept.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { SpendRecord } from '../record/record.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OVERHEAD_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25];

/** What the ledger tells about itself; read when metrics are scraped. */
export interface LedgerFigures {
  readonly writable: boolean;
  readonly rowsAtRisk: number;
  readonly rowsLost: number;
  readonly storeReachable: boolean;
  readonly open: number;
  readonly pendingShip: number;
  readonly written: number;
  readonly shipped: number;
  readonly recovered: number;
  readonly damaged: number;
}

/** The handles that one model entry's requests write to. */
export interface RouteMetrics {
  readonly observe: (record: SpendRecord, overheadMs: number) => void;
}

/** All metrics of one process. */
/** What the platform wing counts. */
export interface PlatformFigures {
  /** Answers by their status. */
  readonly answers: ReadonlyMap<string, number>;
  /** Sandboxes by their status. */
  readonly sandboxes: ReadonlyMap<string, number>;
  /** Keys of conversations. */
  readonly keys: number;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'throughline_requests_total',
    help: 'Requests that passed authentication, by how they ended.',
    labelNames: ['model', 'call_type', 'status', 'end_reason'],
    registers: [this.#registry],
  });
  readonly #rejected = new Counter({
    name: 'throughline_rejected_total',
    help: 'Requests that were refused without a spend record: at authentication, before it, or on a route that is no LLM call.',
    labelNames: ['code'],
    registers: [this.#registry],
  });
  readonly #duration = new Histogram({
    name: 'throughline_request_duration_seconds',
    help: 'From the head of the request to the last byte of the answer.',
    labelNames: ['model'],
    buckets: SECONDS,
    registers: [this.#registry],
  });
  readonly #firstByte = new Histogram({
    name: 'throughline_first_byte_seconds',
    help: 'From the head of the request to the first byte of the body of the answer.',
    labelNames: ['model'],
    buckets: SECONDS,
    registers: [this.#registry],
  });
  readonly #overhead = new Histogram({
    name: 'throughline_overhead_seconds',
    help: 'Time spent in the proxy itself, the upstream and the client left out.',
    labelNames: ['model'],
    buckets: OVERHEAD_SECONDS,
    registers: [this.#registry],
  });
  readonly #tokens = new Counter({
    name: 'throughline_tokens_total',
    help: 'Tokens as the upstream counted them.',
    labelNames: ['model', 'kind'],
    registers: [this.#registry],
  });
  readonly #spend = new Counter({
    name: 'throughline_spend_usd_total',
    help: 'Cost of answered requests, US dollars; requests of unknown price are in throughline_unpriced_total.',
    labelNames: ['model'],
    registers: [this.#registry],
  });
  readonly #unpriced = new Counter({
    name: 'throughline_unpriced_total',
    help: 'Successful requests whose cost is not known.',
    labelNames: ['model'],
    registers: [this.#registry],
  });
  readonly #reloads = new Counter({
    name: 'throughline_config_reloads_total',
    help: 'Configuration changes tried, by result (applied, unchanged, refused).',
    labelNames: ['result'],
    registers: [this.#registry],
  });
  readonly #configOk = new Gauge({
    name: 'throughline_config_last_reload_successful',
    help: '1 when the files on disk are what is served, 0 when the last change was refused.',
    registers: [this.#registry],
  });
  readonly #configVersion = new Gauge({
    name: 'throughline_config_info',
    help: 'The configuration that is served.',
    labelNames: ['version'],
    registers: [this.#registry],
  });

  /** @param figures read at every scrape. */
  constructor(figures: () => LedgerFigures, inFlight: () => number, version: string) {
    this.#gauge('throughline_in_flight', 'Requests being served.', inFlight);
    this.#gauge('throughline_journal_writable', '1 while spend records reach the journal.', () =>
      figures().writable ? 1 : 0,
    );
    this.#gauge(
      'throughline_spend_rows_at_risk',
      'Records held in memory alone.',
      () => figures().rowsAtRisk,
    );
    this.#counter(
      'throughline_spend_rows_lost_total',
      'Records given up for want of memory in an outage; stays 0.',
      () => figures().rowsLost,
    );
    this.#gauge('throughline_store_reachable', '1 while the store takes rows over.', () =>
      figures().storeReachable ? 1 : 0,
    );
    this.#gauge(
      'throughline_spend_rows_open',
      'Requests begun in the journal and not settled.',
      () => figures().open,
    );
    this.#gauge(
      'throughline_journal_backlog_bytes',
      'Written to the journal, not yet in the store.',
      () => figures().pendingShip,
    );
    this.#counter(
      'throughline_spend_rows_written_total',
      'Settled records written since the start.',
      () => figures().written,
    );
    this.#counter(
      'throughline_spend_rows_shipped_total',
      'Records taken into the store since the start.',
      () => figures().shipped,
    );
    this.#counter(
      'throughline_spend_rows_recovered_total',
      'Interrupted requests found at the start.',
      () => figures().recovered,
    );
    this.#counter(
      'throughline_journal_damaged_lines_total',
      'Unreadable journal lines set aside at the start.',
      () => figures().damaged,
    );
    this.#gauge('throughline_resident_memory_bytes', 'Resident set size.', () => process.memoryUsage.rss());
    this.#counter(
      'throughline_cpu_seconds_total',
      'User and system time of all threads since the start.',
      () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1e6;
      },
    );
    new Gauge({
      name: 'throughline_build_info',
      help: 'Version of the proxy and of Node.',
      labelNames: ['version', 'node'],
      registers: [this.#registry],
    }).set({ version, node: process.versions.node }, 1);
  }

  /** Figures of the platform wing, read at every scrape; without a wing there are no such metrics. */
  platform(read: () => PlatformFigures): void {
    this.#byLabel(
      'throughline_platform_requests_total',
      'Calls of the platform interface, by the status of the answer.',
      () => read().answers,
    );
    new Gauge({
      name: 'throughline_platform_sandboxes',
      help: 'Sandboxes by status.',
      labelNames: ['status'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [status, count] of read().sandboxes) this.set({ status }, count);
      },
    });
    this.#gauge('throughline_platform_keys', 'Keys of conversations that are taken.', () => read().keys);
  }

  #byLabel(name: string, help: string, read: () => ReadonlyMap<string, number>): void {
    new Counter({
      name,
      help,
      labelNames: ['status'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [status, count] of read()) this.inc({ status }, count);
      },
    });
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** A count that is kept elsewhere. */
  #counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** Bound handles for one `model_name`. */
  forModel(model: string): RouteMetrics {
    const duration = this.#duration.labels(model);
    const firstByte = this.#firstByte.labels(model);
    const overhead = this.#overhead.labels(model);
    const prompt = this.#tokens.labels(model, 'prompt');
    const completion = this.#tokens.labels(model, 'completion');
    const cached = this.#tokens.labels(model, 'cache_read');
    const spend = this.#spend.labels(model);
    const unpriced = this.#unpriced.labels(model);
    const requests = new Map<string, Counter.Internal>();
    return {
      observe: (record, overheadMs) => {
        const key = `${record.callType} ${record.endReason}`;
        let child = requests.get(key);
        if (child === undefined) {
          child = this.#requests.labels(model, record.callType, record.status, record.endReason);
          requests.set(key, child);
        }
        child.inc();
        duration.observe((record.endMs - record.startMs) / 1000);
        if (record.firstByteMs !== null) firstByte.observe((record.firstByteMs - record.startMs) / 1000);
        if (overheadMs >= 0) overhead.observe(overheadMs / 1000);
        if (record.tokens.prompt !== null) prompt.inc(record.tokens.prompt);
        if (record.tokens.completion !== null) completion.inc(record.tokens.completion);
        if (record.tokens.cacheRead !== null) cached.inc(record.tokens.cacheRead);
        if (record.spendPico !== null) spend.inc(record.spendPico / 1e12);
        else if (record.status === 'success') unpriced.inc();
      },
    };
  }

  /** A request that got no record: its fault code. */
  rejected(code: string): void {
    this.#rejected.inc({ code });
  }

  /** The outcome of one attempt to change the configuration. */
  reloaded(result: 'applied' | 'unchanged' | 'refused', version: string): void {
    this.#reloads.inc({ result });
    this.#configOk.set(result === 'refused' ? 0 : 1);
    this.serving(version);
  }

  /** The configuration that is served now, by whichever door it came. */
  serving(version: string): void {
    this.#configVersion.reset();
    this.#configVersion.set({ version }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text of `/metrics`. */
  scrape(): Promise<string> {
    return this.#registry.metrics();
  }
}
