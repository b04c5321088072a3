// One configuration, ready to serve: snapshot, connection pools, header lists, metric handles, prepared listings. Its
// constructor may fail; putting it into service is one assignment, which cannot. A request captures it once and sees one
// configuration from its first byte to its last.
import type { Catalogue } from '../../config/catalogue.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { pathOf, type SteeringTable } from '../../config/resolve/gateways/parameters.ts';
import { maySteer } from '../bodies/steering.ts';
import type { CallerDirectory } from '../access/callers.ts';
import { ModelAccess } from '../access/model-access.ts';
import type { Brake } from '../access/brake/brake.ts';
import type { SessionSeal } from '../access/console/session-seal.ts';
import type { AccessEvents } from '../access/events.ts';
import { AddressList } from '../access/client-address.ts';
import type { Budgets } from '../access/budgets/budgets.ts';
import type { Spending } from '../access/budgets/spending.ts';
import type { Counters } from '../access/counters.ts';
import type { CallLimits } from '../access/limits/call-limits.ts';
import type { AccessObjects } from '../access/objects/access-objects.ts';
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
import type { RecentCalls } from '../observability/recent-calls.ts';
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
import { namesTool } from '../access/brake/exempt-tools.ts';
import { PROTOCOLS } from '../protocols/table.ts';
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
  /** The last minutes, for those who look. */
  readonly recentCalls: RecentCalls;
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
  /** What calls reserve of budgets and limits. */
  readonly counters: Counters;
  readonly budgets: Budgets;
  /** The limits that calls have. */
  readonly limits: CallLimits;
  /** What has been spent, for whoever shows it. */
  readonly spending: Spending;
  /** Keys, teams, users and what else access is decided by. */
  readonly access: AccessObjects;
  /** Keys that the platform has issued; null without the platform. */
  readonly callers: CallerDirectory | null;
  readonly mount: Mount | null;
  /** Where those who find something worth telling report it. */
  readonly accessEvents: AccessEvents;
  readonly brake: Brake;
  /** Seals what the console gives a browser to keep. */
  readonly sessionSeal: SessionSeal;
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
  readonly also: (name: string) => boolean;
}

/** The dialect's control members: read or ignored here, never shown to a compat-type upstream. */
const CONTROL_MEMBERS: ReadonlySet<string> = new Set([
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

/** Whether a member is one of the dialect's own, which compat-type upstreams never see. */
export const isControlMember = (name: string, brand: string): boolean =>
  CONTROL_MEMBERS.has(name) || name.startsWith(`${brand}_`);

/** Members that every call is read for, beside those of the dialect. */
const READ_MEMBERS: readonly string[] = [
  'model',
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'n',
  'best_of',
  ...PROTOCOLS.flatMap(({ outputLimits = [] }) => outputLimits),
  'service_tier',
  'metadata',
  'tags',
  'previous_response_id',
];

/** Those of them that hold further members or a list; the others are text, numbers and flags. */
const NESTED_MEMBERS: readonly string[] = ['stream_options', 'metadata', 'tags'];

/** Where the runaway brake finds what is said. Their places are noted, they are not read whole. */
const CONVERSATION_MEMBERS: readonly string[] = PROTOCOLS.flatMap(({ conversation }) =>
  conversation === undefined ? [] : [conversation.member, conversation.instructions ?? []].flat(),
);

/** Names in bodies are the client's to choose; what is remembered of them is not. */
const MOST_NAMES = 2_048;
const LONG_NAME = 64;

function remembered(decide: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const decided = decide(name);
    if (known.size < MOST_NAMES && name.length <= LONG_NAME) known.set(name, decided);
    return decided;
  };
}

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

/** Names by the access groups that their deployments state. */
function accessGroupsOf({ deployments }: Snapshot): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { group, statedInfo } of deployments) {
    const stated = statedInfo['access_groups'];
    if (!Array.isArray(stated)) continue;
    for (const name of stated) {
      if (typeof name !== 'string') continue;
      const names = groups.get(name) ?? [];
      groups.set(name, names);
      names.push(group);
    }
  }
  return groups;
}

/** One configuration in service. */
export class ActiveConfig {
  readonly snapshot: Snapshot;
  readonly services: Services;
  readonly rules: HeaderRules;
  readonly deployments: ReadonlyMap<string, LiveDeployment>;
  readonly groups: ReadonlyMap<string, readonly LiveDeployment[]>;
  readonly wanted: WantedMembers;
  /** Members of a body whose values are read. */
  readonly readMembers: ReadonlySet<string>;
  readonly #nestedMembers: ReadonlySet<string>;
  /** Tools that the runaway brake leaves out. */
  readonly isExemptTool: (tool: string) => boolean;
  /** Those of all deployments, each once. */
  readonly steeringTables: readonly SteeringTable[];
  readonly headerNames: ResponseHeaderNames;
  readonly listings: Listings;
  /** What virtual keys may call of this configuration. */
  readonly modelAccess: ModelAccess;
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
    services.metrics.limitLabels(snapshot.maxMetricLabelValues);
    const metrics = new Map<string, DeploymentMetrics>();
    const metricsOf = ({ group, apiBase }: Deployment): DeploymentMetrics => {
      const key = `${apiBase} ${group}`;
      const known = metrics.get(key) ?? services.metrics.forModel(group, apiBase);
      metrics.set(key, known);
      return known;
    };
    this.deployments = new Map(
      snapshot.deployments.map((deployment) => [
        deployment.id,
        this.#liveDeployment(deployment, metricsOf(deployment)),
      ]),
    );
    this.groups = new Map(
      [...snapshot.groups].map(([name, deployments]) => [
        name,
        deployments.map((deployment) => this.deployment(deployment)),
      ]),
    );
    this.isExemptTool = namesTool(snapshot.brake?.exemptTools ?? []);
    const { brand } = dialect;
    this.readMembers = new Set([
      ...READ_MEMBERS,
      `${brand}_session_id`,
      `${brand}_trace_id`,
      `${brand}_metadata`,
    ]);
    this.#nestedMembers = new Set([...NESTED_MEMBERS, `${brand}_metadata`]);
    this.steeringTables = [
      ...new Set(snapshot.deployments.map(({ steeringParameters }) => steeringParameters)),
    ];
    this.wanted = {
      names: new Set([
        ...this.readMembers,
        ...CONTROL_MEMBERS,
        ...(snapshot.brake === null ? [] : CONVERSATION_MEMBERS),
      ]),
      prefixes: [`${brand}_`],
      also: remembered((name) => this.isTwin(name) || maySteer(this.steeringTables, name)),
    };
    this.modelAccess = new ModelAccess(accessGroupsOf(snapshot), services.access.directory);
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

  /**
   * Whether a member is another spelling of one that is read. Go's JSON decoder takes `MODEL` for `model`, and a reader of forms
   * takes `model[]` for it (LiteLLM does), so an upstream could serve another model than the one that was selected and recorded.
   */
  isTwin(name: string): boolean {
    if (this.readMembers.has(name)) return false;
    const [first = ''] = pathOf(name);
    return this.readMembers.has(first) && !(name.includes('[') && this.#nestedMembers.has(first));
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
