// Asks the upstreams of the serving configuration for their model lists, round after round, so that one that is down is
// left out before a request finds out. Never a paid call. Off unless `background_health_checks` is on.
import type { ActiveConfig, LiveDeployment } from '../active-config/active-config.ts';
import type { Log } from '../observability/logger.ts';
import { probe } from '../upstream/probe.ts';

/** Replicas that were started together must not ask together for ever. */
const SPREAD = 0.1;

export class HealthChecks {
  readonly #active: () => ActiveConfig;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** @param live gives the configuration that serves */
  constructor(live: () => ActiveConfig) {
    this.#active = live;
  }

  /** Takes up what the serving configuration says: a round now and more to come, or none. */
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
    active.enter(); // its pools stay open meanwhile
    const found = await probe(deployments).finally(() => active.leave());
    const { healthCheckMs } = this.#active().snapshot.routing;
    if (this.#closed || healthCheckMs === null) return; // switched off meanwhile: nobody would take an ailment back
    deployments.forEach((deployment, i) => note(deployment, found[i] ?? null, active.services.log));
    if (this.#timer !== null) return; // a round that was begun later has seen to it
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
    log.warn({ ...place, why: error }, 'entry does not answer');
  if (error === null && health.healthError !== null) log.info(place, 'entry answers again');
  health.healthError = error;
}
