// Active health checks: periodically requests the model list of each upstream, so that routing skips one that is down
// before a client request fails. Makes no paid calls. Off unless `background_health_checks` is on.
import type { ActiveConfig, LiveDeployment } from '../active-config/active-config.ts';
import type { Log } from '../observability/logger.ts';
import { probe } from '../upstream/probe.ts';

/** Jitter, so that replicas started together do not send their checks together. */
const SPREAD = 0.1;

export class HealthChecks {
  readonly #active: () => ActiveConfig;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** @param active returns the active configuration */
  constructor(active: () => ActiveConfig) {
    this.#active = active;
  }

  /** Follows the active configuration: starts a round now and repeats it, or stops. */
  follow(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const active = this.#active();
    if (active.snapshot.routing.healthCheckMs !== null) void this.#round();
    else for (const { health } of active.deployments.values()) health.healthError = null;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #round(): Promise<void> {
    const active = this.#active();
    const deployments = [...active.deployments.values()];
    active.enter(); // keeps its pools open
    const found = await probe(deployments).finally(() => active.leave());
    const { healthCheckMs } = this.#active().snapshot.routing;
    if (this.#closed || healthCheckMs === null) return; // switched off in the meantime: nothing would clear an error
    deployments.forEach((deployment, i) => note(deployment, found[i] ?? null, active.services.log));
    if (this.#timer !== null) return; // a later round has set it
    const waitMs = healthCheckMs * (1 + active.services.random() * SPREAD);
    this.#timer = setTimeout(() => this.#again(), waitMs).unref();
  }

  #again(): void {
    this.#timer = null;
    void this.#round();
  }
}

function note({ config, health }: LiveDeployment, error: string | null, log: Log): void {
  const place = { model: config.group, model_id: config.id, upstream: config.apiBase };
  if (error !== null && health.healthError === null)
    log.warn({ ...place, why: error }, 'deployment unhealthy');
  if (error === null && health.healthError !== null) log.info(place, 'deployment healthy again');
  health.healthError = error;
}
