// Creates the services of a process: what differs between a proxy, a test and a command is passed in, everything else is
// new and empty.
import { Catalogue } from '../../config/catalogue.ts';
import { StoredObjects } from '../access/objects/access-objects.ts';
import { BudgetFiguresReader } from '../access/budgets/budget-figures.ts';
import { Budgets, type BudgetPolicy } from '../access/budgets/budgets.ts';
import { StoredSpending } from '../access/budgets/stored-spending.ts';
import { loggedEvents } from '../access/logged-events.ts';
import { CallLimits } from '../access/limits/call-limits.ts';
import { LocalCounters } from '../access/local-counters.ts';
import { systemClock } from '../base/clock.ts';
import { CallIds } from '../base/ids.ts';
import { Estimator } from '../spend/estimate/estimator.ts';
import { IdempotencyCache } from './idempotency-cache.ts';
import { VERSION } from './version.ts';
import type { Services } from './services.ts';
import { addBudgetMetrics } from '../observability/budget-metrics.ts';
import { addCapsuleMetrics } from '../observability/capsule-metrics.ts';
import { addDiskMetrics } from '../observability/disk-metrics.ts';
import { addKeysMetrics } from '../observability/keys-metrics.ts';
import { LoopLag } from '../observability/loop-lag.ts';
import { Metrics } from '../observability/metrics.ts';
import { RecentCalls } from '../observability/recent-calls.ts';
import { Admission } from '../routing/admission.ts';
import { HealthRegistry } from '../routing/deployment-health.ts';
import { RetryBudget } from '../routing/retry-budget.ts';
import { Brake } from '../access/brake/brake.ts';
import { SessionSeal } from '../access/console/session-seal.ts';
import { noPeers } from './cluster-peers.ts';
import { heartbeatOf, heartbeatText } from '../items/replicas.ts';
import { DiscoveredModels } from './discovered-models.ts';
import { KnownServers } from './known-servers.ts';
import { GatewayFacts } from './gateway-facts.ts';
import { RecentResponses } from './recent-responses.ts';
import { Deadlines } from '../relay/deadlines.ts';
import { DetachedStreams } from '../relay/detached-streams.ts';

/** What every caller passes in; the other services are optional. */
type RequiredServices = Pick<Services, 'ledger' | 'log' | 'pools'> & Partial<Services>;

/** What metrics show of the process. */
interface Shown {
  /** Requests being served. */
  readonly inFlight: () => number;
  /** Whose disk has room or not. */
  readonly dataDir: string | null;
}

/** All services. @param policy of the configuration that is in service first */
export function createServices(
  policy: BudgetPolicy,
  given: RequiredServices,
  { inFlight, dataDir }: Shown = { inFlight: () => 0, dataDir: null },
): Services {
  const { ledger, clock = systemClock } = given;
  const metrics = new Metrics(() => ledger.status, inFlight, VERSION);
  const { access = StoredObjects.inMemory(), counters = new LocalCounters(clock.mono) } = given;
  const { directory } = access;
  const { accessEvents = loggedEvents(given.log) } = given;
  const budgets = new Budgets(policy, { ledger, counters, directory, clock, events: accessEvents });
  const brake = new Brake((rule, level) => metrics.brake.count(rule, level), accessEvents);
  const { capsules = null } = given;
  if (capsules !== null) metrics.add(addCapsuleMetrics, () => capsules.figures);
  if (dataDir !== null) metrics.add(addDiskMetrics, dataDir);
  metrics.add(addKeysMetrics, () => access.isLoaded);
  metrics.teams.watch((id) => directory.team(id)?.alias ?? null);
  metrics.labelValues.watchTeams(
    (id) =>
      !access.isLoaded ||
      directory.team(id) !== null ||
      directory.keysOfTeam(id).some(({ needsTeam }) => !needsTeam), // a key may name a team that nobody has made
  );
  metrics.brake.watch(() => brake.figures);
  const discoveredModels = new DiscoveredModels(clock.mono);
  metrics.watchDiscovery(() => discoveredModels.figures());
  const figures = new BudgetFiguresReader(budgets, clock);
  metrics.add(addBudgetMetrics, () => ({
    refusals: budgets.refusals,
    budgets: () => figures.read(budgets.metricsLimit),
  }));
  return {
    clock,
    ids: new CallIds(),
    metrics,
    recentCalls: new RecentCalls(metrics, clock),
    peers: noPeers(ledger, access, counters, metrics, brake),
    unrouted: metrics.forModel(''),
    deadlines: new Deadlines(clock.mono),
    detachedStreams: new DetachedStreams(),
    health: new HealthRegistry(),
    retryBudget: new RetryBudget(),
    admission: new Admission(),
    loopLag: new LoopLag(clock.mono),
    idempotency: new IdempotencyCache(clock.mono),
    recentResponses: new RecentResponses(),
    gatewayFacts: new GatewayFacts(clock.mono, given.log),
    discoveredModels,
    estimator: new Estimator(),
    traces: null,
    spans: null,
    catalogue: new Catalogue(),
    random: Math.random,
    access,
    counters,
    budgets,
    limits: new CallLimits(directory),
    spending: new StoredSpending({ budgets, counters, clock }),
    callers: null,
    mount: null,
    accessEvents,
    alertHistory: null,
    reconciliations: null,
    servers: new KnownServers({ server: '', ...heartbeatOf(heartbeatText(VERSION)), seenMs: 0 }, []),
    brake,
    capsules,
    sessionSeal: new SessionSeal(),
    ...given,
  };
}
