// Prometheus metrics. Label values come from the configuration (model_name, never a name that a client made up), so
// cardinality is bounded; children are looked up once per model group and kept.
import { Counter, Gauge, Registry } from 'prom-client';
import { COST_SOURCES, dollarsOf } from '../spend/record/cost.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { addAlertMetrics } from './alert-metrics.ts';
import { addAttemptMetrics } from './attempt-metrics.ts';
import { addBrakeMetrics } from './brake-metrics.ts';
import { addConfigMetrics, type ReloadResult } from './config-metrics.ts';
import { countChaos, countDroppedParameters, countRefusedConnections } from './connection-metrics.ts';
import type { DeploymentMetrics, DeploymentFigure, LoadFigures } from './deployment-metrics.ts';
import { addDiscoveryMetrics, type DiscoveryFigure } from './discovery-metrics.ts';
import { addGatewayMetrics } from './gateway-metrics.ts';
import { DialectMetrics } from './dialect-metrics.ts';
import { LabelNames, type LabelWishes, type NamedValues } from './label-names.ts';
import { hostOf, LabelValues, OTHER } from './label-values.ts';
import type { CallCounts } from './recent-calls.ts';
import { LEDGER_METRICS, type LedgerFigures } from './ledger-metrics.ts';
import { addRealtimeMetrics } from './realtime-metrics.ts';
import { talliedCounter, type LabelledHistogram, type Tally } from './tally.ts';
import { addTeamMetrics } from './team-metrics.ts';
import { addProcessMetrics, scrapedCounter, scrapedGauge } from './scraped-metrics.ts';
import { msPerToken, OVERHEAD_SECONDS, registeredHistogram, SECONDS, TOKEN_SECONDS } from './time-buckets.ts';
import { countTranslations } from './translation-metrics.ts';
import type { Figures } from './worker-figures.ts';

/** All metrics of one process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = {
    ended: this.#tallied('throughline_requests_total', 'Authenticated requests, by how they ended.', [
      'model',
      'call_type',
      'status',
      'end_reason',
    ]),
    rejected: new Counter({
      name: 'throughline_rejected_total',
      help: 'Requests refused without a spend record: before or at authentication, or on a path that is no LLM endpoint.',
      labelNames: ['code'],
      registers: [this.#registry],
    }),
    refused: this.#tallied(
      'throughline_overloaded_total',
      'Calls refused with 503 because a limit was reached, by the limit.',
      ['model', 'why'],
    ),
    queued: this.#tallied(
      'throughline_queued_total',
      'Calls that waited for others to end because of max_parallel_requests.',
      ['model'],
    ),
  };
  /** A connection was closed as it came. */
  readonly connectionRefused = countRefusedConnections(this.#registry);
  readonly brake = addBrakeMetrics(this.#registry);
  readonly realtime = addRealtimeMetrics(this.#registry);
  readonly alerts = addAlertMetrics(this.#registry);
  /** A call asked for a fault by name. */
  readonly chaosCalled = countChaos(this.#registry);
  /** A query parameter of a client did not go upstream. */
  readonly queryParameterDropped = countDroppedParameters(this.#registry);
  /** An attempt goes to an upstream that speaks another protocol. */
  readonly translated = countTranslations(this.#registry);
  readonly #times = {
    duration: this.#histogram(
      'throughline_request_duration_seconds',
      'From the head of the request to the last byte of the response.',
      SECONDS,
    ),
    firstByte: this.#histogram(
      'throughline_first_byte_seconds',
      'From the head of the request to the first byte of the body of the response.',
      SECONDS,
    ),
    overhead: this.#histogram(
      'throughline_overhead_seconds',
      'Time spent in the proxy itself, without upstream and client.',
      OVERHEAD_SECONDS,
    ),
    perToken: this.#histogram(
      'throughline_time_per_output_token_seconds',
      'Of streams that were complete: time from the first byte to the last one, by output token after the first.',
      TOKEN_SECONDS,
    ),
  };
  readonly #labelValues = new LabelValues();
  /** Of a process that is the whole proxy. */
  readonly #labelNames = new LabelNames();
  #refused = 0;
  readonly #gateways = addGatewayMetrics(this.#registry, this.#labelValues);
  readonly teams = addTeamMetrics(this.#registry, this.#labelValues);
  readonly #usage = {
    tokens: this.#tallied(
      'throughline_tokens_total',
      'Tokens as the upstream counted them; estimates where it did not.',
      ['model', 'kind'],
    ),
    estimated: this.#tallied(
      'throughline_usage_estimated_total',
      'Requests whose tokens were counted here, because the upstream did not state them.',
      ['model'],
    ),
  };
  readonly #costs = {
    spend: this.#tallied(
      'throughline_spend_usd_total',
      'Cost of requests, US dollars; requests of unknown price are in throughline_unpriced_total.',
      ['model'],
    ),
    unpriced: this.#tallied('throughline_unpriced_total', 'Successful requests whose cost is not known.', [
      'model',
    ]),
    differs: this.#tallied(
      'throughline_cost_differs_total',
      'Requests for which this source states a cost that is more than 1 % off the recorded one.',
      ['model', 'source'],
    ),
    difference: this.#tallied(
      'throughline_cost_difference_usd_total',
      'Sum of the absolute differences between the recorded cost and the cost by this source, US dollars.',
      ['model', 'source'],
    ),
  };
  readonly #attempts = addAttemptMetrics(this.#registry);
  readonly #config = addConfigMetrics(this.#registry);
  #dialect: DialectMetrics | null = null;
  #countsDialect = false;

  /** @param figures read at every scrape. */
  constructor(figures: () => LedgerFigures, inFlight: () => number, version: string) {
    this.#requests.rejected.inc({ code: 'invalid_api_key' }, 0); // a counter that appears with its first burst shows none
    scrapedGauge(this.#registry, 'throughline_in_flight', 'Requests being served.', inFlight, 'sum');
    for (const [kind, name, help, read] of LEDGER_METRICS) {
      if (kind === 'counter') scrapedCounter(this.#registry, name, help, () => read(figures()));
      else scrapedGauge(this.#registry, name, help, () => read(figures()), kind === 'state' ? 'min' : 'sum');
    }
    addProcessMetrics(this.#registry);
    new Gauge({
      name: 'throughline_build_info',
      help: 'Version of the proxy and of Node.',
      aggregator: 'max',
      labelNames: ['version', 'node'],
      registers: [this.#registry],
    }).set({ version, node: process.versions.node }, 1);
  }

  /** Metrics of a part that a proxy may be without. @param read its figures, at every scrape */
  add<T>(metricsOf: (registry: Registry, read: T) => void, read: T): void {
    metricsOf(this.#registry, read);
  }

  #tallied(name: string, help: string, labelNames: readonly string[]): (...values: string[]) => Tally {
    return talliedCounter(this.#registry, name, help, labelNames);
  }

  #histogram(name: string, help: string, bounds: readonly number[]): LabelledHistogram {
    return registeredHistogram(this.#registry, name, help, 'model', bounds);
  }

  /** From now on the dialect's names are there as well; a counter that is there stays. @param brand null = they count no more */
  useDialect(brand: string | null): void {
    this.#countsDialect = brand !== null;
    if (brand !== null) this.#dialect ??= new DialectMetrics(this.#registry, this.#labelValues, brand);
  }

  /** What is counted of calls by model and gateway, since the start. */
  get callCounts(): Iterable<CallCounts> {
    return this.#gateways.counts();
  }

  /** Requests that were refused without a record, since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** How the metrics call the gateway at an address. */
  gatewayName(apiBase: string): string {
    return apiBase === '' ? '' : hostOf(apiBase);
  }

  /** The values of the labels `team` and `gateway`, of which a bounded number is named. */
  get labelValues(): Pick<LabelValues, 'use' | 'watchTeams'> {
    return this.#labelValues;
  }

  /** Which of these values this process asks names for; before `figures`. */
  labelWishes(): LabelWishes {
    return this.#labelValues.wishes();
  }

  /** Handles for one `model_name` at one gateway. @param apiBase '' = the call went nowhere */
  forModel(model: string, apiBase = ''): DeploymentMetrics {
    const where = this.#labelValues.gateway(apiBase);
    const perToken = this.#times.perToken.of(model);
    const duration = this.#times.duration.of(model, where);
    const firstByte = this.#times.firstByte.of(model, where);
    const overhead = this.#times.overhead.of(model, where);
    const gateway = this.#gateways.of(model, where, { duration, firstByte, overhead });
    const prompt = this.#usage.tokens(model, 'prompt');
    const completion = this.#usage.tokens(model, 'completion');
    const cached = this.#usage.tokens(model, 'cache_read');
    const written = this.#usage.tokens(model, 'cache_write');
    const reasoning = this.#usage.tokens(model, 'reasoning');
    const estimated = this.#usage.estimated(model);
    const spend = this.#costs.spend(model);
    const unpriced = this.#costs.unpriced(model);
    const requests = new Map<string, Tally>();
    return {
      ...this.#attempts.of(model),
      queued: () => this.#requests.queued(model).add(1),
      refused: (why) => this.#requests.refused(model, why).add(1),
      observe: (record, overheadMs, failure) => {
        const key = `${record.callType} ${record.endReason}`;
        let ended = requests.get(key);
        if (ended === undefined) {
          ended = this.#requests.ended(model, record.callType, record.status, record.endReason);
          requests.set(key, ended);
        }
        ended.add(1);
        duration.observe((record.endMs - record.startMs) / 1000);
        if (record.firstByteMs !== null) firstByte.observe((record.firstByteMs - record.startMs) / 1000);
        if (overheadMs >= 0) overhead.observe(overheadMs / 1000);
        const tokenMs = msPerToken(record);
        if (tokenMs !== null) perToken.observe(tokenMs / 1000);
        gateway.observe(record, failure);
        this.teams.observe(record);
        if (record.tokens.prompt !== null) prompt.add(record.tokens.prompt);
        if (record.tokens.completion !== null) completion.add(record.tokens.completion);
        if (record.tokens.cacheRead !== null) cached.add(record.tokens.cacheRead);
        if (record.tokens.cacheWrite !== null) written.add(record.tokens.cacheWrite);
        if (record.tokens.reasoning !== null) reasoning.add(record.tokens.reasoning);
        if (record.usageSource === 'estimate') estimated.add(1);
        if (record.spendPico !== null) spend.add(dollarsOf(record.spendPico));
        else if (record.status === 'success') unpriced.add(1);
        this.#compare(model, record);
        if (this.#countsDialect) this.#dialect?.observe(model, record, overheadMs);
      },
    };
  }

  /** Compares the sources of a cost. Tallies are made when first needed: most models have one source. */
  #compare(model: string, { costs, costSource, spendPico }: SpendRecord): void {
    if (spendPico === null || costSource === 'none') return;
    const recorded = costs[costSource]; // of this response: `spendPico` may hold the cost of replaced attempts too
    if (recorded === undefined) return;
    for (const source of COST_SOURCES) {
      const pico = costs[source];
      if (pico === undefined || source === costSource) continue;
      const distance = Math.abs(pico - recorded);
      this.#costs.difference(model, source).add(dollarsOf(distance));
      if (distance * 100 > recorded) this.#costs.differs(model, source).add(1);
    }
  }

  /** A fallback from one model group to another; both names are of the configuration. */
  fellBack(model: string, to: string): void {
    this.#attempts.fellBack(model, to);
  }

  /** Adds what gateways say that they serve, read at every scrape. Call it once. */
  watchDiscovery(read: () => Iterable<DiscoveryFigure>): void {
    const values = this.#labelValues;
    addDiscoveryMetrics(this.#registry, () =>
      Array.from(read(), (one) => {
        const host = hostOf(one.apiBase);
        return { ...one, host: values.shows('gateway', host) ? host : OTHER };
      }),
    );
  }

  /** Adds the state of each deployment, read at every scrape. Call it once. */
  watchDeployments(read: () => Iterable<DeploymentFigure>): void {
    this.#deploymentState(
      'throughline_deployment_state',
      'Deployments that do not serve: 1 = half open, a trial call decides; 2 = cooling down; 3 = a background check failed.',
      read,
    );
    this.#deploymentState('throughline_entry_state', 'Deprecated, use throughline_deployment_state.', read);
  }

  #deploymentState(name: string, help: string, read: () => Iterable<DeploymentFigure>): void {
    new Gauge({
      name,
      help,
      labelNames: ['model', 'model_id'],
      aggregator: 'max', // numbers of states, which mean nothing when they are added up
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { model, modelId, state } of read()) this.set({ model, model_id: modelId }, state);
      },
    });
  }

  /** Adds the load figures, read at every scrape. Call it once. */
  watchLoad({ admission, loopLag, idempotency, log }: LoadFigures): void {
    const registry = this.#registry;
    scrapedGauge(
      registry,
      'throughline_idempotency_calls',
      'Calls in the idempotency cache.',
      () => idempotency.size,
      'sum',
    );
    scrapedGauge(
      registry,
      'throughline_idempotency_bytes',
      'Memory of the idempotency cache.',
      () => idempotency.bytes,
      'sum',
    );
    scrapedGauge(
      registry,
      'throughline_queued',
      'Calls waiting in the admission queue.',
      () => admission.waiting,
      'sum',
    );
    scrapedGauge(
      registry,
      'throughline_event_loop_lag_seconds',
      'Longest delay of the event loop within the last 15 s.',
      () => loopLag.worstMs / 1000,
      'max',
    );
    scrapedCounter(
      registry,
      'throughline_log_lines_dropped_total',
      'Log lines that were dropped because stdout could not be written.',
      log.droppedLines,
    );
  }

  /** A request was refused without a record. @param code of the fault */
  rejected(code: string): void {
    this.#requests.rejected.inc({ code });
    this.#refused += 1;
  }

  /** The outcome of one attempt to change the configuration, made by this process. */
  reloaded(result: ReloadResult): void {
    this.#config.reloads.inc({ result });
    this.lastReload(result);
  }

  /** The outcome of the last attempt, whoever made it. */
  lastReload(result: ReloadResult): void {
    this.#config.lastOk.set(result === 'refused' ? 0 : 1);
  }

  /** The configuration that is served now. */
  serving(version: string): void {
    this.#config.version.reset();
    this.#config.version.set({ version }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text of `/metrics` of a process that is the whole proxy. */
  scrape(): Promise<string> {
    this.#labelNames.decide([this.#labelValues.wishes()]);
    this.#labelValues.name(this.#labelNames.named);
    return this.#registry.metrics();
  }

  /** The same as values that can be sent to another process and added up (`worker-figures.ts`). @param named in all of them */
  figures(named: NamedValues): Promise<Figures> {
    this.#labelValues.name(named);
    return this.#registry.getMetricsAsJSON();
  }
}
