// What one process sees of itself now, for whoever looks at the proxy: calls under way, deployments in trouble, the last minutes.
// Read from memory; plain values, which the processes of a proxy send each other.
import type { BreakerState, OpenReason } from '../routing/breaker.ts';
import type { Clock } from '../base/clock.ts';
import type { DeploymentHealth } from '../routing/deployment-health.ts';
import type { RecentCalls, RecentFigures } from '../observability/recent-calls.ts';

/** A deployment with calls under way, or one that does not serve. */
export interface DeploymentState {
  readonly id: string;
  readonly inFlight: number;
  readonly breaker: BreakerState;
  readonly openReason: OpenReason;
  /** ms; 0 = closed, or its time is over. */
  readonly opensInMs: number;
  /** What the last background check found; null: healthy, or not checked. */
  readonly healthError: string | null;
}

export interface ProcessReport {
  /** Of workers; 1 where there is one process. */
  readonly worker: number;
  readonly queued: number;
  readonly lagMs: number;
  readonly memoryBytes: number;
  readonly deployments: readonly DeploymentState[];
  readonly recent: RecentFigures;
}

interface Reported {
  readonly config: { readonly id: string };
  readonly health: DeploymentHealth;
}

/** What of a configuration in service is read. */
interface ReportedProcess {
  readonly deployments: ReadonlyMap<string, Reported>;
  readonly services: {
    readonly clock: Clock;
    readonly recentCalls: Pick<RecentCalls, 'figures'>;
    readonly admission: { readonly waiting: number };
    readonly loopLag: { readonly worstMs: number };
  };
}

export function processReport(active: ReportedProcess, worker: number): ProcessReport {
  const { services, deployments } = active;
  const now = services.clock.mono();
  return {
    worker,
    queued: services.admission.waiting,
    lagMs: Math.round(services.loopLag.worstMs),
    memoryBytes: process.memoryUsage.rss(),
    deployments: [...deployments.values()].flatMap((one) => stateOf(one, now)),
    recent: services.recentCalls.figures(),
  };
}

function stateOf({ config, health }: Reported, now: number): readonly DeploymentState[] {
  const { inFlight, healthError } = health;
  const breaker = health.breaker.state(now);
  if (inFlight === 0 && healthError === null && breaker === 'closed') return [];
  const { openReason, openUntilMs } = health.breaker;
  return [
    { id: config.id, inFlight, breaker, openReason, opensInMs: Math.max(0, openUntilMs - now), healthError },
  ];
}
