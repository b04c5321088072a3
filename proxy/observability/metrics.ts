// Prometheus metrics. Label values come from the configuration (model_name, never a name that a client made up), so
// cardinality is bounded; children are looked up once per route and kept.
import { Counter, Gauge, Registry, type Metric } from 'prom-client';
import type { SpendRecord } from '../spend/record/record.ts';
import { countRefusedConnections } from './connection-metrics.ts';
import type { DeploymentMetrics, EntryFigure, LoadFigures } from './deployment-metrics.ts';
import { LEDGER_METRICS, type LedgerFigures } from './ledger-metrics.ts';
import { addPlatformMetrics, type PlatformFigures } from './platform-metrics.ts';
import { ModelHistogram, Tally } from './tally.ts';
import { addTraceMetrics, type TraceFigures } from './trace-metrics.ts';
import type { Figures } from './worker-figures.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OVERHEAD_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25];

const COST_SOURCES = ['entry', 'upstream_header', 'catalogue'] as const;

/** All metrics of one process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = this.#tallied(
    'throughline_requests_total',
    'Requests that passed authentication, by how they ended.',
    ['model', 'call_type', 'status', 'end_reason'],
  );
  readonly #rejected = new Counter({
    name: 'throughline_rejected_total',
    help: 'Requests that were refused without a spend record: at authentication, before it, or on a route that is no LLM call.',
    labelNames: ['code'],
    registers: [this.#registry],
  });
  /** A connection was closed as it came. */
  readonly connectionRefused = countRefusedConnections(this.#registry);
  readonly #duration = this.#histogram(
    'throughline_request_duration_seconds',
    'From the head of the request to the last byte of the answer.',
    SECONDS,
  );
  readonly #firstByte = this.#histogram(
    'throughline_first_byte_seconds',
    'From the head of the request to the first byte of the body of the answer.',
    SECONDS,
  );
  readonly #overhead = this.#histogram(
    'throughline_overhead_seconds',
    'Time spent in the proxy itself, the upstream and the client left out.',
    OVERHEAD_SECONDS,
  );
  readonly #tokens = this.#tallied(
    'throughline_tokens_total',
    'Tokens as the upstream counted them; estimates where it did not.',
    ['model', 'kind'],
  );
  readonly #spend = this.#tallied(
    'throughline_spend_usd_total',
    'Cost of answered requests, US dollars; requests of unknown price are in throughline_unpriced_total.',
    ['model'],
  );
  readonly #unpriced = this.#tallied(
    'throughline_unpriced_total',
    'Successful requests whose cost is not known.',
    ['model'],
  );
  readonly #estimated = this.#tallied(
    'throughline_usage_estimated_total',
    'Requests whose tokens were counted here, because the upstream did not state them.',
    ['model'],
  );
  readonly #costDiffers = this.#tallied(
    'throughline_cost_differs_total',
    'Requests for which this source states a cost that is more than 1 % off the recorded one.',
    ['model', 'source'],
  );
  readonly #costDifference = this.#tallied(
    'throughline_cost_difference_usd_total',
    'Sum of the distances between the recorded cost and the cost by this source, US dollars.',
    ['model', 'source'],
  );
  readonly #retries = this.#tallied(
    'throughline_retries_total',
    'Attempts on a name after a failed one, by the kind of failure.',
    ['model', 'failure'],
  );
  readonly #fallbacks = this.#tallied(
    'throughline_fallbacks_total',
    'Attempts on another name after a failed one.',
    ['model', 'to'],
  );
  readonly #denied = this.#tallied(
    'throughline_retries_denied_total',
    'Retries and fallbacks that the retry budget did not allow.',
    ['model'],
  );
  readonly #cooldowns = this.#tallied('throughline_cooldowns_total', 'How often an entry began to rest.', [
    'model',
  ]);
  readonly #queued = this.#tallied(
    'throughline_queued_total',
    'Calls that waited for others to end because of max_parallel_requests.',
    ['model'],
  );
  readonly #refused = this.#tallied(
    'throughline_overloaded_total',
    'Calls that were turned away for want of room, by the reason.',
    ['model', 'why'],
  );
  readonly #readOn = this.#tallied(
    'throughline_read_on_total',
    'Answers that were read on for their usage after their clients had left, by how that ended.',
    ['model', 'end'],
  );
  readonly #hedges = this.#tallied(
    'throughline_hedges_total',
    'Second attempts beside a slow one (hedge_after), by who answered: won = the second, lost = the first.',
    ['model', 'end'],
  );
  readonly #continued = this.#tallied(
    'throughline_continued_streams_total',
    'Attempts to continue a stream that broke off (assistant_prefill), by what came of them.',
    ['model', 'end'],
  );
  readonly #reloads = new Counter({
    name: 'throughline_config_reloads_total',
    help: 'Configuration changes tried, by result (applied, unchanged, refused).',
    labelNames: ['result'],
    registers: [this.#registry],
  });
  readonly #configOk = new Gauge({
    name: 'throughline_config_last_reload_successful',
    help: '1 when the files on disk are what is served, 0 when the last change was refused.',
    aggregator: 'min',
    registers: [this.#registry],
  });
  readonly #configVersion = new Gauge({
    name: 'throughline_config_info',
    help: 'The configuration that is served.',
    aggregator: 'max',
    labelNames: ['version'],
    registers: [this.#registry],
  });

  /** @param figures read at every scrape. */
  constructor(figures: () => LedgerFigures, inFlight: () => number, version: string) {
    this.#gauge('throughline_in_flight', 'Requests being served.', inFlight);
    for (const [kind, name, help, read] of LEDGER_METRICS) {
      if (kind === 'counter') this.#counter(name, help, () => read(figures()));
      else this.#gauge(name, help, () => read(figures()), kind === 'state' ? 'min' : 'sum');
    }
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
      aggregator: 'max',
      labelNames: ['version', 'node'],
      registers: [this.#registry],
    }).set({ version, node: process.versions.node }, 1);
  }

  /** Figures of the platform wing, read at every scrape; without a wing there are no such metrics. */
  platform(read: () => PlatformFigures): void {
    addPlatformMetrics(this.#registry, read);
  }

  /** Figures of the export of spans, read at every scrape; without tracing there are no such metrics. */
  spans(read: () => TraceFigures): void {
    addTraceMetrics(this.#registry, read);
  }

  /** @param aggregator how the gauges of several workers become one */
  #gauge(name: string, help: string, read: () => number, aggregator: 'sum' | 'min' | 'max' = 'sum'): void {
    new Gauge({
      name,
      help,
      aggregator,
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

  /** A counter that is added up in tallies; returns the tally for given label values. */
  #tallied(name: string, help: string, labelNames: readonly string[]): (...values: string[]) => Tally {
    const tallies = new Map<string, { readonly labels: Record<string, string>; readonly tally: Tally }>();
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels, tally } of tallies.values()) if (tally.value > 0) this.inc(labels, tally.value);
      },
    });
    return (...values) => {
      const key = JSON.stringify(values);
      const known = tallies.get(key);
      if (known !== undefined) return known.tally;
      const tally = new Tally();
      const labels = Object.fromEntries(labelNames.map((label, i) => [label, values[i] ?? '']));
      tallies.set(key, { labels, tally });
      return tally;
    };
  }

  #histogram(name: string, help: string, bounds: readonly number[]): ModelHistogram {
    const histogram = new ModelHistogram(name, help, bounds);
    // The registry asks a metric for its name and its `get` alone; its type names prom-client's own classes.
    this.#registry.registerMetric(histogram as unknown as Metric);
    return histogram;
  }

  /** Handles for one `model_name`. */
  forModel(model: string): DeploymentMetrics {
    const duration = this.#duration.of(model);
    const firstByte = this.#firstByte.of(model);
    const overhead = this.#overhead.of(model);
    const prompt = this.#tokens(model, 'prompt');
    const completion = this.#tokens(model, 'completion');
    const cached = this.#tokens(model, 'cache_read');
    const written = this.#tokens(model, 'cache_write');
    const reasoning = this.#tokens(model, 'reasoning');
    const estimated = this.#estimated(model);
    const spend = this.#spend(model);
    const unpriced = this.#unpriced(model);
    const requests = new Map<string, Tally>();
    return {
      retried: (failure) => this.#retries(model, failure).add(1),
      denied: () => this.#denied(model).add(1),
      rested: () => this.#cooldowns(model).add(1),
      queued: () => this.#queued(model).add(1),
      refused: (why) => this.#refused(model, why).add(1),
      hedged: (end) => this.#hedges(model, end).add(1),
      continued: (end) => this.#continued(model, end).add(1),
      readOn: (end) => this.#readOn(model, end).add(1),
      observe: (record, overheadMs) => {
        const key = `${record.callType} ${record.endReason}`;
        let ended = requests.get(key);
        if (ended === undefined) {
          ended = this.#requests(model, record.callType, record.status, record.endReason);
          requests.set(key, ended);
        }
        ended.add(1);
        duration.observe((record.endMs - record.startMs) / 1000);
        if (record.firstByteMs !== null) firstByte.observe((record.firstByteMs - record.startMs) / 1000);
        if (overheadMs >= 0) overhead.observe(overheadMs / 1000);
        if (record.tokens.prompt !== null) prompt.add(record.tokens.prompt);
        if (record.tokens.completion !== null) completion.add(record.tokens.completion);
        if (record.tokens.cacheRead !== null) cached.add(record.tokens.cacheRead);
        if (record.tokens.cacheWrite !== null) written.add(record.tokens.cacheWrite);
        if (record.tokens.reasoning !== null) reasoning.add(record.tokens.reasoning);
        if (record.usageSource === 'estimate') estimated.add(1);
        if (record.spendPico !== null) spend.add(record.spendPico / 1e12);
        else if (record.status === 'success') unpriced.add(1);
        this.#compare(model, record);
      },
    };
  }

  /** How far the sources of a cost are apart. Tallies are made when they are first needed: most models have one source. */
  #compare(model: string, { costs, costSource, spendPico }: SpendRecord): void {
    if (spendPico === null || costSource === 'none') return;
    const recorded = costs[costSource]; // of this answer: `spendPico` may hold the cost of replaced attempts too
    if (recorded === undefined) return;
    for (const source of COST_SOURCES) {
      const pico = costs[source];
      if (pico === undefined || source === costSource) continue;
      const distance = Math.abs(pico - recorded);
      this.#costDifference(model, source).add(distance / 1e12);
      if (distance * 100 > recorded) this.#costDiffers(model, source).add(1);
    }
  }

  /** A failed attempt on one name was followed by one on another; both are of the configuration. */
  fellBack(model: string, to: string): void {
    this.#fallbacks(model, to).add(1);
  }

  /** Shows which entries do not serve at the time of a scrape. Call it once. */
  watchEntries(read: () => Iterable<EntryFigure>): void {
    new Gauge({
      name: 'throughline_entry_state',
      help: 'Entries that do not serve: 1 = one call tries it, 2 = it rests, 3 = a background check found it ill.',
      labelNames: ['model', 'model_id'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { model, modelId, state } of read()) this.set({ model, model_id: modelId }, state);
      },
    });
  }

  /** Shows how near the process is to its limits. Call it once. */
  watchLoad({ admission, loopLag, idempotency }: LoadFigures): void {
    this.#gauge(
      'throughline_idempotency_calls',
      'Calls known by an idempotency key.',
      () => idempotency.size,
    );
    this.#gauge('throughline_idempotency_bytes', 'Memory that they take.', () => idempotency.bytes);
    this.#gauge('throughline_queued', 'Calls that wait for others to end.', () => admission.waiting);
    this.#gauge(
      'throughline_event_loop_lag_seconds',
      'Longest delay of the event loop within the last 15 s.',
      () => loopLag.worstMs / 1000,
      'max',
    );
  }

  /** A request that got no record: its fault code. */
  rejected(code: string): void {
    this.#rejected.inc({ code });
  }

  /** The outcome of one attempt to change the configuration, made by this process. */
  reloaded(result: 'applied' | 'unchanged' | 'refused'): void {
    this.#reloads.inc({ result });
    this.lastReload(result);
  }

  /** The outcome of the last attempt, whoever made it. */
  lastReload(result: 'applied' | 'unchanged' | 'refused'): void {
    this.#configOk.set(result === 'refused' ? 0 : 1);
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

  /** The same as values that can be sent to another process and added up (`worker-figures.ts`). */
  figures(): Promise<Figures> {
    return this.#registry.getMetricsAsJSON();
  }
}
