// Health and metrics. Liveness says the process runs; readiness says it should get requests; `/health` requests the model
// lists of the upstreams, which costs nothing, and never makes a paid call.
import { basename } from 'node:path';
import { formatIssue, type Issue } from '../../config/issue.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { VERSION } from '../active-config/version.ts';
import { countersOf } from '../active-config/cluster-peers.ts';
import { sendBytes, sendJson, sendResponse } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { probe } from '../upstream/probe.ts';

/** The server's own state. */
export interface ServerState {
  readonly draining: boolean;
  /** Where its own port can be reached from this machine; null = it does not listen yet. */
  readonly ownUrl: string | null;
}

/** `GET /health/liveness`, `/health/liveliness`. */
export function liveness(x: Exchange): void {
  sendJson(x, "I'm alive!");
}

/** `OPTIONS` on them, as probes of LiteLLM ask. */
export function probeOptions(x: Exchange): void {
  sendResponse(x, 200, ['allow', 'GET, HEAD, OPTIONS'], Buffer.alloc(0));
}

/**
 * `GET /health/readiness`: 503 while draining and while no record could be written, of any worker. A worker that is
 * being replaced leaves it at 200, because the others take its connections. Open to all: no secrets.
 */
export async function readiness(x: Exchange, reloader: ConfigReloader, state: ServerState): Promise<void> {
  const { snapshot, services } = x.active;
  const { configured, workers } = await services.peers.status();
  const ledgers = workers.map(({ ledger }) => ledger);
  const stuck = ledgers.find((ledger) => !ledger.writable);
  const sum = (of: 'rowsAtRisk' | 'pendingShip'): number => ledgers.reduce((n, one) => n + one[of], 0);
  const blocked = stuck !== undefined && snapshot.journal.whenUnwritable === 'block';
  const ready = !state.draining && !blocked;
  const reload = reloader.state;
  sendJson(
    x,
    {
      status: ready ? 'healthy' : 'unhealthy',
      ...(ready ? {} : { reason: state.draining ? 'the proxy is stopping' : stuck?.reason }),
      db: ledgers.every((ledger) => ledger.storeReachable) ? 'connected' : 'Not connected',
      cache: null,
      keys_loaded: workers.every(({ keysLoaded }) => keysLoaded),
      counters: countersOf(workers)?.is ?? null,
      [`${snapshot.dialect.brand}_version`]: VERSION,
      config: {
        version: snapshot.version,
        models: snapshot.deployments.length,
        last_reload: reload.result,
        last_reload_at: new Date(reload.atMs).toISOString(),
        issues: reload.issues.map(shownIssue),
      },
      journal: {
        writable: stuck === undefined,
        rows_at_risk: sum('rowsAtRisk'),
        backlog_bytes: sum('pendingShip'),
      },
      workers: { configured, serving: workers.length },
    },
    ready ? 200 : 503,
  );
}

/** `error: gateway.yaml:14:7 ...`, as `throughline check` prints it. Readiness is open to all: no folder of the server. */
export function shownIssue(issue: Issue): string {
  return `${issue.severity}: ${formatIssue({ ...issue, file: basename(issue.file) })}`;
}

/**
 * `GET /health`, with `?model=` for one name: which upstreams respond to `GET {base}/models` with our key. With background
 * checks: the result of the last one.
 */
export async function health(x: Exchange): Promise<void> {
  const wanted = new URLSearchParams(x.query).get('model');
  const deployments = [...x.active.deployments.values()].filter(
    ({ config }) => wanted === null || config.group === wanted,
  );
  const { snapshot, services } = x.active;
  const isChecked = snapshot.routing.healthCheckMs !== null;
  const results = isChecked ? deployments.map(({ health }) => health.healthError) : await probe(deployments);
  const now = services.clock.mono();
  const shown = deployments.map(({ config, health }, i) => {
    const base = {
      model: config.model,
      model_name: config.group,
      model_id: config.id,
      api_base: config.apiBase,
      breaker: health.breaker.state(now),
      in_flight: health.inFlight,
    };
    const error = results[i];
    return error === null ? base : { ...base, error };
  });
  const healthy = shown.filter((one) => !('error' in one));
  const unhealthy = shown.filter((one) => 'error' in one);
  sendJson(x, {
    healthy_endpoints: healthy,
    unhealthy_endpoints: unhealthy,
    healthy_count: healthy.length,
    unhealthy_count: unhealthy.length,
  });
}

/** `GET /metrics`, Prometheus text, of all workers. */
export async function metrics(x: Exchange): Promise<void> {
  const { metrics: own, peers } = x.active.services;
  sendBytes(x, own.contentType, Buffer.from(await peers.scrape()));
}

/** `GET /robots.txt`: nothing here is for crawlers. */
export function robots(x: Exchange): void {
  sendBytes(x, 'text/plain', Buffer.from('User-agent: *\nDisallow: /\n'));
}
