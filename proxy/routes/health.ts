// Health and metrics. Liveness says the process runs; readiness says it should get requests; `/health` asks the
// upstreams for their model lists - a call that costs nothing - and never makes a paid one.
import { basename } from 'node:path';
import { formatIssue } from '../../config/issue.ts';
import type { Changes } from '../changes.ts';
import { VERSION } from '../live.ts';
import { answerBytes, answerJson } from '../request/answer.ts';
import type { Exchange } from '../request/exchange.ts';
import { probe } from '../upstream/probe.ts';

/** What the server tells about its own life. */
export interface ServerState {
  readonly draining: boolean;
}

/** `GET /health/liveness`, `/health/liveliness`. */
export function liveness(x: Exchange): void {
  answerJson(x, "I'm alive!");
}

/**
 * `GET /health/readiness`: 503 while draining and while no record could be written, of any worker. A worker that is
 * being replaced leaves it at 200, because the others take its connections. Open to all: no secrets.
 */
export async function readiness(x: Exchange, changes: Changes, state: ServerState): Promise<void> {
  const { snapshot, house } = x.live;
  const { configured, ledgers } = await house.siblings.status();
  const stuck = ledgers.find((ledger) => !ledger.writable);
  const sum = (of: 'rowsAtRisk' | 'pendingShip'): number => ledgers.reduce((n, one) => n + one[of], 0);
  const blocked = stuck !== undefined && snapshot.journal.whenUnwritable === 'block';
  const ready = !state.draining && !blocked;
  const reload = changes.state;
  answerJson(
    x,
    {
      status: ready ? 'healthy' : 'unhealthy',
      ...(ready ? {} : { reason: state.draining ? 'the proxy is stopping' : stuck?.reason }),
      db: ledgers.every((ledger) => ledger.storeReachable) ? 'connected' : 'Not connected',
      cache: null,
      [`${snapshot.dialect.brand}_version`]: VERSION,
      config: {
        version: snapshot.version,
        models: snapshot.routes.length,
        last_reload: reload.result,
        last_reload_at: new Date(reload.atMs).toISOString(),
        issues: reload.issues.map((issue) => formatIssue({ ...issue, file: basename(issue.file) })),
      },
      journal: {
        writable: stuck === undefined,
        rows_at_risk: sum('rowsAtRisk'),
        backlog_bytes: sum('pendingShip'),
      },
      workers: { configured, serving: ledgers.length },
    },
    ready ? 200 : 503,
  );
}

/**
 * `GET /health`, with `?model=` for one name: who answers `GET {base}/models` with our key. With background checks what
 * the last of them found.
 */
export async function health(x: Exchange): Promise<void> {
  const wanted = new URLSearchParams(x.query).get('model');
  const targets = [...x.live.targets.values()].filter(
    ({ route }) => wanted === null || route.group === wanted,
  );
  const { snapshot, house } = x.live;
  const isChecked = snapshot.routing.healthCheckMs !== null;
  const results = isChecked ? targets.map(({ state }) => state.ailment) : await probe(targets);
  const now = house.clock.mono();
  const shown = targets.map(({ route, state }, i) => {
    const base = {
      model: route.model,
      model_name: route.group,
      model_id: route.id,
      api_base: route.apiBase,
      breaker: state.breaker.state(now),
      in_flight: state.inFlight,
    };
    const error = results[i];
    return error === null ? base : { ...base, error };
  });
  const healthy = shown.filter((one) => !('error' in one));
  const unhealthy = shown.filter((one) => 'error' in one);
  answerJson(x, {
    healthy_endpoints: healthy,
    unhealthy_endpoints: unhealthy,
    healthy_count: healthy.length,
    unhealthy_count: unhealthy.length,
  });
}

/** `GET /metrics`, Prometheus text, of all workers. */
export async function metrics(x: Exchange): Promise<void> {
  const { metrics: own, siblings } = x.live.house;
  answerBytes(x, own.contentType, Buffer.from(await siblings.scrape()));
}
