// The parts of `GET /chain`: figures of the processes, added up by deployment, by gateway and for all. Pure.
import type { ActiveConfig, LiveDeployment } from '../../active-config/active-config.ts';
import type { DeploymentState, ProcessReport } from '../../active-config/process-report.ts';
import {
  addCalls,
  MINUTES,
  noCalls,
  percentileMs,
  WINDOW_MS,
  type CallSums,
} from '../../observability/recent-calls.ts';
import { OVERHEAD_SECONDS, SECONDS } from '../../observability/time-buckets.ts';

export interface LedgerSums {
  readonly writable: boolean;
  readonly reason: string;
  readonly open: number;
  readonly rows_at_risk: number;
  readonly rows_lost: number;
  readonly backlog_bytes: number;
  readonly store_reachable: boolean;
}

interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

interface Figures {
  readonly calls_per_minute: number;
  readonly calls: number;
  readonly faults: CallSums['faults'];
  readonly first_byte_ms: Percentiles;
  readonly duration_ms: Percentiles;
}

/** As the page shows it. */
type State = 'ok' | 'cooling_down' | 'half_open' | 'failing';

export interface DeploymentPart extends Figures {
  readonly id: string;
  readonly model_name: string;
  readonly upstream_model: string;
  readonly gateway: string;
  readonly api_base: string;
  readonly source: string;
  readonly state: State;
  /** null: it serves. */
  readonly reason: string | null;
  readonly ends_in_s: number | null;
  readonly in_flight: number;
  /** The figures are of several deployments: they have one name at one gateway. */
  readonly shared_figures: boolean;
}

export interface GatewayPart extends Figures {
  readonly gateway: string;
  readonly deployments: number;
  /** Of the best of its deployments: `ok` while one serves. */
  readonly state: State;
  readonly in_flight: number;
}

export interface ChainParts {
  readonly windowSeconds: number;
  /** Changes with calls. */
  readonly proxy: object;
  /** Changes by itself. */
  readonly machine: {
    readonly event_loop_lag_ms: number;
    readonly memory_bytes: number;
    readonly cpu_share: number;
  };
  readonly traffic: Figures;
  readonly gateways: readonly GatewayPart[];
  readonly deployments: readonly DeploymentPart[];
  /** Those that do not serve, all of them. */
  readonly troubled: readonly DeploymentPart[];
  readonly history: object;
}

/** A page shows no more; all of 10,000 would be 4 MB each second. */
const MOST_DEPLOYMENTS = 200;
const MINUTE_MS = 60_000;

const REASONS: Readonly<Record<DeploymentState['openReason'], string>> = {
  failures: 'too many calls failed within a minute',
  asked: 'the gateway asked for a pause',
  trial: 'the trial call after the last pause failed',
  other_server: 'another server of this installation saw it fail',
};

class Sums {
  readonly all = noCalls();
  lastMinute = 0;

  add(more: CallSums, lastMinute: number): void {
    addCalls(this.all, more);
    this.lastMinute += lastMinute;
  }

  get figures(): Figures {
    const { calls, faults, duration, firstByte } = this.all;
    return {
      calls_per_minute: this.lastMinute,
      calls,
      faults,
      first_byte_ms: percentiles(firstByte, SECONDS),
      duration_ms: percentiles(duration, SECONDS),
    };
  }
}

export function chainParts(
  active: ActiveConfig,
  reports: readonly ProcessReport[],
  nowMs: number,
): ChainParts {
  const [total, byGateway, byPair] = [new Sums(), new Map<string, Sums>(), new Map<string, Sums>()];
  for (const { recent } of reports)
    for (const pair of recent.pairs) {
      const sums = [
        total,
        ensured(byGateway, pair.gateway),
        ensured(byPair, `${pair.gateway} ${pair.model}`),
      ];
      for (const one of sums) one.add(pair, pair.lastMinute);
    }
  const parts = deploymentParts(active, reports, byPair);
  const sum = (of: (report: ProcessReport) => number): number =>
    reports.reduce((before, report) => before + of(report), 0);
  return {
    windowSeconds: WINDOW_MS / 1000,
    proxy: {
      in_flight: parts.reduce((before, { in_flight }) => before + in_flight, 0),
      queued: sum(({ queued }) => queued),
      refused_per_minute: sum(({ recent }) => recent.refusedLastMinute),
      overhead_ms: percentiles(total.all.overhead, OVERHEAD_SECONDS),
    },
    machine: {
      event_loop_lag_ms: Math.max(0, ...reports.map(({ lagMs }) => lagMs)),
      memory_bytes: sum(({ memoryBytes }) => memoryBytes),
      cpu_share: Number(sum(({ recent }) => recent.cpuShare).toFixed(3)),
    },
    traffic: total.figures,
    gateways: gatewayParts(parts, byGateway),
    deployments: parts.toSorted(byInterest).slice(0, MOST_DEPLOYMENTS),
    troubled: parts.filter(({ state }) => state !== 'ok'),
    history: historyOf(reports, nowMs),
  };
}

function ensured(map: Map<string, Sums>, name: string): Sums {
  const known = map.get(name) ?? new Sums();
  map.set(name, known);
  return known;
}

function deploymentParts(
  active: ActiveConfig,
  reports: readonly ProcessReport[],
  byPair: ReadonlyMap<string, Sums>,
): DeploymentPart[] {
  const states = Map.groupBy(
    reports.flatMap((report) => report.deployments),
    ({ id }) => id,
  );
  const { metrics } = active.services;
  const live = [...active.deployments.values()].map((one) => {
    const gateway = metrics.gatewayName(one.config.apiBase);
    return { one, gateway, pair: `${gateway} ${one.config.group}` };
  });
  const shared = Map.groupBy(live, ({ pair }) => pair);
  const none = new Sums();
  return live.map(({ one, gateway, pair }) => ({
    ...configured(one, gateway),
    ...stateOf(states.get(one.config.id) ?? []),
    ...(byPair.get(pair) ?? none).figures,
    shared_figures: (shared.get(pair)?.length ?? 1) > 1,
  }));
}

const configured = ({ config }: LiveDeployment, gateway: string) => ({
  id: config.id,
  model_name: config.group,
  upstream_model: config.upstreamModel,
  gateway,
  api_base: config.apiBase,
  source: config.source,
});

/** The worst of what the processes say. */
function stateOf(
  states: readonly DeploymentState[],
): Pick<DeploymentPart, 'state' | 'reason' | 'ends_in_s' | 'in_flight'> {
  const in_flight = states.reduce((sum, one) => sum + one.inFlight, 0);
  const failing = states.find(({ healthError }) => healthError !== null);
  if (failing !== undefined)
    return { state: 'failing', reason: failing.healthError, ends_in_s: null, in_flight };
  const [open] = states.filter(({ breaker }) => breaker === 'open').sort((a, b) => b.opensInMs - a.opensInMs);
  if (open !== undefined)
    return {
      state: 'cooling_down',
      reason: REASONS[open.openReason],
      ends_in_s: Math.ceil(open.opensInMs / 1000),
      in_flight,
    };
  const half = states.find(({ breaker }) => breaker === 'half_open');
  if (half !== undefined)
    return { state: 'half_open', reason: REASONS[half.openReason], ends_in_s: null, in_flight };
  return { state: 'ok', reason: null, ends_in_s: null, in_flight };
}

const STATES: readonly State[] = ['ok', 'half_open', 'cooling_down', 'failing'];

function gatewayParts(parts: readonly DeploymentPart[], byGateway: ReadonlyMap<string, Sums>): GatewayPart[] {
  const none = new Sums();
  return Array.from(
    Map.groupBy(parts, ({ gateway }) => gateway),
    ([gateway, own]) => ({
      gateway,
      deployments: own.length,
      state: STATES.find((state) => own.some((one) => one.state === state)) ?? 'ok',
      in_flight: own.reduce((sum, one) => sum + one.in_flight, 0),
      ...(byGateway.get(gateway) ?? none).figures,
    }),
  ).sort((a, b) => b.calls - a.calls);
}

function byInterest(a: DeploymentPart, b: DeploymentPart): number {
  return STATES.indexOf(b.state) - STATES.indexOf(a.state) || b.calls - a.calls;
}

/** The last minutes, the one that runs now at the end. */
function historyOf(reports: readonly ProcessReport[], nowMs: number): object {
  const last = Math.floor(nowMs / MINUTE_MS);
  const sums = Array.from({ length: MINUTES }, noCalls);
  for (const { recent } of reports)
    for (const { minute, calls, faults, firstByte } of recent.minutes) {
      const at = sums[MINUTES - 1 - (last - minute)];
      if (at !== undefined) addCalls(at, { ...noCalls(), calls, faults, firstByte: [...firstByte] });
    }
  return {
    step_s: MINUTE_MS / 1000,
    end: new Date((last + 1) * MINUTE_MS).toISOString(),
    calls: sums.map(({ calls }) => calls),
    client: sums.map(({ faults }) => faults.client),
    proxy: sums.map(({ faults }) => faults.proxy),
    upstream: sums.map(({ faults }) => faults.upstream),
    first_byte_p95_ms: sums.map(({ firstByte }) => percentileMs(firstByte, SECONDS, 0.95)),
  };
}

const percentiles = (counts: readonly number[], bounds: readonly number[]): Percentiles => ({
  p50: percentileMs(counts, bounds, 0.5),
  p95: percentileMs(counts, bounds, 0.95),
});
