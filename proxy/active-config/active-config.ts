// One configuration, ready to serve: snapshot, connection pools, header lists, metric handles, prepared listings. Its
// constructor may fail; putting it into service is one assignment, which cannot. A request captures it once and sees one
// configuration from its first byte to its last.
import type { Catalogue } from '../../config/catalogue.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import type { CallerDirectory } from '../access/callers.ts';
import { AddressList } from '../access/client-address.ts';
import type { Mount } from '../base/mount.ts';
import type { Clock } from '../base/clock.ts';
import type { CallIds } from '../base/ids.ts';
import type { Estimator } from '../spend/estimate/estimator.ts';
import type { Ledger } from '../spend/ledger.ts';
import type { GatewayFacts } from './gateway-facts.ts';
import type { RecentResponses } from './recent-responses.ts';
import type { IdempotencyCache } from './idempotency-cache.ts';
import type { Log } from '../observability/logger.ts';
import type { LoopLag } from '../observability/loop-lag.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { SpanExport } from '../observability/span-export.ts';
import type { Traces } from '../observability/traces.ts';
import type { Admission } from '../routing/admission.ts';
import type { Deadlines } from '../relay/deadlines.ts';
import type { DetachedStreams } from '../relay/detached-streams.ts';
import type { Routable } from '../routing/routable.ts';
import type { HealthRegistry } from '../routing/deployment-health.ts';
import type { RetryBudget } from '../routing/retry-budget.ts';
import { seedOf } from '../routing/session-affinity.ts';
import type { Pool } from '../upstream/pool.ts';
import type { ClusterPeers } from './cluster-peers.ts';
import type { Pools } from '../upstream/pools.ts';
import {
  responseHeaderNames,
  deploymentResponseHeaders,
  type ResponseHeaderNames,
} from '../headers/response-header-names.ts';
import { ANY_SERVER } from '../../config/resolve/gateways/others.ts';
import type { SteeringRule } from '../../config/resolve/gateways/steering.ts';
import { HeaderRules } from '../headers/header-rules.ts';
import { deploymentHeaders, type DeploymentHeaders } from '../headers/upstream-headers.ts';
import { listingsOf, type Listings } from './listings.ts';
import type { DeploymentMetrics } from '../observability/deployment-metrics.ts';

export const VERSION = '0.1.0';

/** What outlives a configuration: one per process, never swapped. */
export interface Services {
  readonly clock: Clock;
  readonly ids: CallIds;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The other workers, for what concerns the whole proxy. */
  readonly peers: ClusterPeers;
  /** Handles for requests that ended before a deployment was selected. */
  readonly unrouted: DeploymentMetrics;
  readonly deadlines: Deadlines;
  /** Responses that are read to their end after the client has left. */
  readonly detachedStreams: DetachedStreams;
  readonly pools: Pools;
  /** The health of all deployments, across configurations. */
  readonly health: HealthRegistry;
  readonly retryBudget: RetryBudget;
  /** Which calls go upstream and which wait, where limits are set. */
  readonly admission: Admission;
  readonly loopLag: LoopLag;
  /** Calls by their idempotency keys. */
  readonly idempotency: IdempotencyCache;
  /** Whose the stored responses of the last calls are. */
  readonly recentResponses: RecentResponses;
  /** What the gateways say of their models. */
  readonly gatewayFacts: GatewayFacts;
  /** Counts tokens where the upstream states no usage. */
  readonly estimator: Estimator;
  /** null: tracing is off. */
  readonly traces: Traces | null;
  /** null: no collector is configured. */
  readonly spans: SpanExport | null;
  /** Prices of models that are served by wildcards. */
  readonly catalogue: Catalogue;
  /** Uniform in [0, 1): balances load within a group. */
  readonly random: () => number;
  /** Keys that the platform has issued; null without the platform. */
  readonly callers: CallerDirectory | null;
  readonly mount: Mount | null;
}

/** A deployment with everything that can be prepared before a request comes. */
export interface LiveDeployment extends Routable {
  readonly config: Deployment;
  readonly pool: Pool;
  readonly headers: DeploymentHeaders;
  /** Response headers that depend on the deployment alone, flat. */
  readonly responseHeaders: readonly string[];
  readonly metrics: DeploymentMetrics;
}

/** Names of the members a body may carry that the proxy acts on; see `pipeline/parse-request.ts`. */
interface WantedMembers {
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
 * Go could serve another model than the one that was selected and recorded.
 */
export const MODEL_TWINS: ReadonlySet<string> = new Set(
  caseVariants('model').filter((name) => name !== 'model'),
);

function caseVariants(word: string): string[] {
  if (word === '') return [''];
  const first = word.charAt(0);
  return caseVariants(word.slice(1)).flatMap((tail) => [
    first.toLowerCase() + tail,
    first.toUpperCase() + tail,
  ]);
}

const READ_MEMBERS = [
  'model',
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'n',
  'service_tier',
  'previous_response_id',
];

/**
 * Says once per rule that a client's header was held back: who relied on it learns of the setting. What any proxy in front
 * adds to every request (`x-forwarded-for`) is not worth a line.
 */
function warnOnce(
  { log, callers }: Services,
  { headers, deployments }: Snapshot,
): (rule: SteeringRule) => void {
  // Headers of a key's profile go whether or not those of clients are forwarded.
  const forwards =
    headers.forwardAll || callers !== null || deployments.some((one) => one.forwardClientHeaders);
  const told = new Set<string>();
  return ({ kind, pattern }) => {
    if (!forwards || kind === ANY_SERVER || told.has(pattern)) return;
    told.add(pattern);
    const about = { headers: pattern, steers: kind, setting: 'general_settings.allow_headers' };
    log.warn(about, 'a client sent a header that steers what stands behind; it is not forwarded');
  };
}

/** One configuration in service. */
export class ActiveConfig {
  readonly snapshot: Snapshot;
  readonly services: Services;
  readonly rules: HeaderRules;
  readonly deployments: ReadonlyMap<string, LiveDeployment>;
  readonly groups: ReadonlyMap<string, readonly LiveDeployment[]>;
  readonly wanted: WantedMembers;
  readonly headerNames: ResponseHeaderNames;
  readonly listings: Listings;
  /** null = every address may call. */
  readonly allowedAddresses: AddressList | null;
  /** null = nobody's X-Forwarded-For is believed. */
  readonly trustedProxies: AddressList | null;
  #users = 0;
  #retired = false;

  /** Everything that can fail happens here. Takes references to pools and health; `retire` gives them back. */
  constructor(snapshot: Snapshot, services: Services, registry: readonly string[]) {
    const { dialect } = snapshot;
    this.snapshot = snapshot;
    this.headerNames = responseHeaderNames(dialect);
    this.services = services;
    const { headers, tagHeaders, userHeader } = snapshot;
    const heldBack = warnOnce(services, snapshot);
    const traced = services.traces !== null;
    this.rules = new HeaderRules(dialect, headers, tagHeaders, userHeader, traced, heldBack);
    const metrics = new Map<string, DeploymentMetrics>();
    const metricsOf = (model: string): DeploymentMetrics => {
      const known = metrics.get(model) ?? services.metrics.forModel(model);
      metrics.set(model, known);
      return known;
    };
    this.deployments = new Map(
      snapshot.deployments.map((deployment) => [
        deployment.id,
        this.#liveDeployment(deployment, metricsOf(deployment.group)),
      ]),
    );
    this.groups = new Map(
      [...snapshot.groups].map(([name, deployments]) => [
        name,
        deployments.map((deployment) => this.deployment(deployment)),
      ]),
    );
    this.wanted = {
      names: new Set([...READ_MEMBERS, ...CONTROL_MEMBERS, ...UPSTREAM_MEMBERS, ...MODEL_TWINS]),
      prefixes: [`${dialect.brand}_`],
    };
    this.listings = listingsOf(snapshot, registry);
    const { allowedAddresses, trustedProxies } = snapshot.access;
    this.allowedAddresses = allowedAddresses === null ? null : new AddressList(allowedAddresses);
    this.trustedProxies = trustedProxies.length === 0 ? null : new AddressList(trustedProxies);
  }

  /** The live deployment of a `model_list` entry of this snapshot. */
  deployment({ id }: Deployment): LiveDeployment {
    const found = this.deployments.get(id);
    if (found === undefined) throw new Error(`the deployment ${id} is not of this configuration`);
    return found;
  }

  enter(): void {
    this.#users += 1;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#retired && this.#users === 0) this.#release();
  }

  /** Another configuration serves now; pools and health are released when the last request here has ended. */
  retire(): void {
    this.#retired = true;
    if (this.#users === 0) this.#release();
  }

  #liveDeployment(deployment: Deployment, metrics: DeploymentMetrics): LiveDeployment {
    return {
      config: deployment,
      seed: seedOf(deployment.id),
      weight: deployment.weight,
      order: deployment.order,
      limit: deployment.maxParallel,
      health: this.services.health.acquire(deployment.id),
      pool: this.services.pools.acquire(deployment),
      headers: deploymentHeaders(deployment, `throughline/${VERSION}`),
      responseHeaders: deploymentResponseHeaders(this.headerNames, deployment, VERSION),
      metrics,
    };
  }

  #release(): void {
    for (const { config } of this.deployments.values()) {
      this.services.pools.release(config);
      this.services.health.release(config.id);
    }
  }
}
