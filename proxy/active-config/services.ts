// What a process has once, whatever it is configured to: the calls of every configuration work with it.
import type { Catalogue } from '../../config/catalogue.ts';
import type { CallerDirectory } from '../access/callers.ts';
import type { RaisedAlert } from '../access/alerts/raised-alert.ts';
import type { Brake } from '../access/brake/brake.ts';
import type { SessionSeal } from '../access/console/session-seal.ts';
import type { AccessEvents } from '../access/events.ts';
import type { Budgets } from '../access/budgets/budgets.ts';
import type { Spending } from '../access/budgets/spending.ts';
import type { Counters } from '../access/counters.ts';
import type { CallLimits } from '../access/limits/call-limits.ts';
import type { AccessObjects } from '../access/objects/access-objects.ts';
import type { Mount } from '../base/mount.ts';
import type { Capsules } from '../capsule/capsules.ts';
import type { Clock } from '../base/clock.ts';
import type { CallIds } from '../base/ids.ts';
import type { Estimator } from '../spend/estimate/estimator.ts';
import type { Ledger } from '../spend/ledger.ts';
import type { History } from '../items/history.ts';
import type { KeptReconciliation } from '../spend/report/kept-reconciliation.ts';
import type { KnownServers } from './known-servers.ts';
import type { DiscoveredModels } from './discovered-models.ts';
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
import type { HealthRegistry } from '../routing/deployment-health.ts';
import type { RetryBudget } from '../routing/retry-budget.ts';
import type { ClusterPeers } from './cluster-peers.ts';
import type { Pools } from '../upstream/pools.ts';
import type { DeploymentMetrics } from '../observability/deployment-metrics.ts';

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
  readonly discoveredModels: DiscoveredModels;
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
  /** Alerts of the last months; null = none are kept. */
  readonly alertHistory: History<RaisedAlert> | null;
  /** Comparisons with ledgers of gateways; null = none are kept. */
  readonly reconciliations: History<KeptReconciliation> | null;
  /** Who shares something with this server. */
  readonly servers: KnownServers;
  readonly brake: Brake;
  /** null: no call can be recorded. */
  readonly capsules: Capsules | null;
  /** Seals what the console gives a browser to keep. */
  readonly sessionSeal: SessionSeal;
}
