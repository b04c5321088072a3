// Live = one configuration, ready to serve: snapshot, pools, header lists, metric handles, prepared answers. Made by
// `prepare` (which may fail), put in place by one assignment (which cannot). A request captures it once and sees
// one configuration from its first byte to its last.
import type { Catalogue } from '../config/catalogue.ts';
import type { Route, Snapshot } from '../config/snapshot.ts';
import type { CallerDirectory } from './callers.ts';
import type { Wing } from './wing.ts';
import type { Clock } from './base/clock.ts';
import type { CallIds } from './base/ids.ts';
import type { Estimator } from './spend/estimate/estimator.ts';
import type { Ledger } from './spend/ledger.ts';
import type { IdempotencyCache } from './http/idempotency-cache.ts';
import type { Log } from './observe/logger.ts';
import type { LoopLag } from './observe/loop-lag.ts';
import type { Metrics, RouteMetrics } from './observe/metrics.ts';
import type { SpanExport } from './observe/span-export.ts';
import type { Traces } from './observe/traces.ts';
import type { Admission } from './routing/admission.ts';
import type { Deadlines } from './upstream/deadlines.ts';
import type { Departures } from './upstream/departures.ts';
import type { Candidate } from './routing/candidate.ts';
import type { EntryStates } from './routing/entry-state.ts';
import type { RetryBudget } from './routing/retry-budget.ts';
import { seedOf } from './routing/session-affinity.ts';
import type { Pool } from './upstream/pool.ts';
import type { Siblings } from './siblings.ts';
import type { Pools } from './upstream/pools.ts';
import { answerHeaderNames, deploymentHeaders, type AnswerHeaderNames } from './headers/answer-headers.ts';
import { HeaderRules } from './headers/header-rules.ts';
import { entryHeaders, type EntryHeaders } from './headers/upstream-headers.ts';
import { modelInfoBytes, modelListBytes } from './model-list.ts';

export const VERSION = '0.1.0';

/** What outlives a configuration: one per process, never swapped. */
export interface House {
  readonly clock: Clock;
  readonly ids: CallIds;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The other workers; what is asked of the whole proxy is asked here. */
  readonly siblings: Siblings;
  /** Handles for requests that ended before a model entry was found. */
  readonly unrouted: RouteMetrics;
  readonly deadlines: Deadlines;
  /** Answers that are read on without their clients. */
  readonly departures: Departures;
  readonly pools: Pools;
  /** What is known of the entries, over all configurations. */
  readonly entries: EntryStates;
  readonly budget: RetryBudget;
  /** Who goes upstream and who waits, where limits are set. */
  readonly admission: Admission;
  readonly lag: LoopLag;
  /** Calls that are known by an idempotency key. */
  readonly idempotency: IdempotencyCache;
  /** Counts tokens that an upstream did not. */
  readonly estimator: Estimator;
  /** null: tracing is off. */
  readonly traces: Traces | null;
  /** null: there is nowhere to send spans to. */
  readonly spans: SpanExport | null;
  /** Prices of models that come in by wildcards. */
  readonly catalogue: Catalogue;
  /** Uniform in [0, 1): shares a group's requests out. */
  readonly random: () => number;
  /** Keys that the wing has issued; null without a wing. */
  readonly callers: CallerDirectory | null;
  readonly wing: Wing | null;
}

/** A route with all that can be made before a request comes. */
export interface Target extends Candidate {
  readonly route: Route;
  readonly pool: Pool;
  readonly headers: EntryHeaders;
  /** Response headers that depend on the route alone, flat. */
  readonly responseHeaders: readonly string[];
  readonly metrics: RouteMetrics;
}

/** Names of the members a body may carry that the proxy acts on; see `request/parse-request.ts`. */
export interface WantedMembers {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

/** Members that say where a call goes or with whose credentials: refused, whatever their value. */
export const UPSTREAM_MEMBERS: ReadonlySet<string> = new Set([
  'api_base',
  'api_key',
  'api_version',
  'base_url',
  'custom_llm_provider',
  'user_config',
  'model_list',
  'azure_ad_token',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'vertex_credentials',
]);

/** The dialect's control members: read or ignored here, never shown to a compat-type upstream. */
export const CONTROL_MEMBERS: ReadonlySet<string> = new Set([
  'metadata',
  'tags',
  'guardrails',
  'cache',
  'caching',
  'ttl',
  'num_retries',
  'max_retries',
  'fallbacks',
  'context_window_fallbacks',
  'context_window_fallback_dict',
  'disable_fallbacks',
  'base_model',
  'mock_response',
  'mock_tool_calls',
  'mock_timeout',
  'no-log',
  'model_info',
  'proxy_server_request',
  'secret_fields',
  'rpm',
  'tpm',
  'region_name',
  'extra_headers',
  'spend_logs_metadata',
]);

/**
 * Spellings of `model` that differ in case only. Go's JSON decoder takes them for `model`, so an upstream written in
 * Go could serve another model than the one that was routed and recorded.
 */
export const MODEL_TWINS: ReadonlySet<string> = new Set(
  caseVariants('model').filter((name) => name !== 'model'),
);

function caseVariants(word: string): string[] {
  if (word === '') return [''];
  const [first = '', rest] = [word[0], word.slice(1)];
  return caseVariants(rest).flatMap((tail) => [first.toLowerCase() + tail, first.toUpperCase() + tail]);
}

const READ_MEMBERS = ['model', 'stream', 'stream_options', 'user', 'safety_identifier', 'n', 'service_tier'];

/** One configuration in service. */
export class Live {
  readonly snapshot: Snapshot;
  readonly house: House;
  readonly rules: HeaderRules;
  readonly targets: ReadonlyMap<string, Target>;
  readonly groups: ReadonlyMap<string, readonly Target[]>;
  readonly wanted: WantedMembers;
  readonly answerNames: AnswerHeaderNames;
  /** All of them: an upstream's header of such a name is renamed. */
  readonly ownNames: ReadonlySet<string>;
  /** Names of the catalogue, for wildcard listings. */
  readonly registry: readonly string[];
  /** The body of `GET /v1/models`. */
  readonly modelList: Buffer;
  /** The body of `GET /model/info`. */
  readonly modelInfo: Buffer;
  #users = 0;
  #retired = false;

  /** Everything that can fail happens here. Takes shares in the pools; `retire` gives them back. */
  constructor(snapshot: Snapshot, house: House, registry: readonly string[]) {
    const { dialect } = snapshot;
    this.snapshot = snapshot;
    this.answerNames = answerHeaderNames(dialect);
    this.house = house;
    const { headers, tagHeaders, userHeader } = snapshot;
    this.rules = new HeaderRules(dialect, headers, tagHeaders, userHeader, house.traces !== null);
    const metrics = new Map<string, RouteMetrics>();
    const metricsOf = (model: string): RouteMetrics => {
      const known = metrics.get(model) ?? house.metrics.forModel(model);
      metrics.set(model, known);
      return known;
    };
    this.targets = new Map(
      snapshot.routes.map((route) => [route.id, this.#target(route, metricsOf(route.group))]),
    );
    this.groups = new Map(
      [...snapshot.groups].map(([name, routes]) => [name, routes.map((route) => this.target(route))]),
    );
    this.wanted = {
      names: new Set([...READ_MEMBERS, ...CONTROL_MEMBERS, ...UPSTREAM_MEMBERS, ...MODEL_TWINS]),
      prefixes: [`${dialect.brand}_`],
    };
    this.ownNames = new Set(Object.values(this.answerNames));
    this.registry = registry;
    this.modelList = modelListBytes(snapshot, registry);
    this.modelInfo = modelInfoBytes(snapshot.routes);
  }

  /** The target of a route of this snapshot. */
  target(route: Route): Target {
    return this.targets.get(route.id) as Target;
  }

  enter(): void {
    this.#users += 1;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#retired && this.#users === 0) this.#release();
  }

  /** Another configuration serves now; the pools go when the last request here has ended. */
  retire(): void {
    this.#retired = true;
    if (this.#users === 0) this.#release();
  }

  #target(route: Route, metrics: RouteMetrics): Target {
    return {
      route,
      seed: seedOf(route.id),
      weight: route.weight,
      order: route.order,
      limit: route.maxParallel,
      state: this.house.entries.acquire(route.id),
      pool: this.house.pools.acquire(route),
      headers: entryHeaders(route, `throughline/${VERSION}`),
      responseHeaders: deploymentHeaders(this.answerNames, route, VERSION),
      metrics,
    };
  }

  #release(): void {
    for (const { route } of this.targets.values()) {
      this.house.pools.release(route);
      this.house.entries.release(route.id);
    }
  }
}
