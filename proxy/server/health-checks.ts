// Active health checks: periodically requests the model list of each upstream, so that routing skips one that is down
// before a client request fails. Makes no paid calls. Off unless `background_health_checks` is on.
import type { ActiveConfig, LiveDeployment } from '../active-config/active-config.ts';
import type { Log } from '../observability/logger.ts';
import { probe } from '../upstream/probe.ts';
import { RepeatedRound } from './repeated-round.ts';

export class HealthChecks {
  readonly #active: () => ActiveConfig;
  readonly #rounds: RepeatedRound;

  /** @param active returns the active configuration */
  constructor(active: () => ActiveConfig) {
    this.#active = active;
    this.#rounds = new RepeatedRound({
      random: () => active().services.random(),
      round: () => this.#round(),
    });
  }

  /** Follows the active configuration: starts a round now and repeats it, or stops. */
  follow(): void {
    const active = this.#active();
    if (active.snapshot.routing.healthCheckMs !== null) return this.#rounds.start();
    this.#rounds.pause();
    for (const { health } of active.deployments.values()) health.healthError = null;
  }

  close(): void {
    this.#rounds.close();
  }

  async #round(): Promise<number | null> {
    const active = this.#active();
    const deployments = [...active.deployments.values()];
    active.enter(); // keeps its pools open
    const found = await probe(deployments).finally(() => active.leave());
    const { healthCheckMs } = this.#active().snapshot.routing;
    if (this.#rounds.isClosed || healthCheckMs === null) return null; // switched off in the meantime: nothing would clear an error
    deployments.forEach((deployment, i) => note(deployment, found[i] ?? null, active.services.log));
    return healthCheckMs;
  }
}

function note({ config, health }: LiveDeployment, error: string | null, log: Log): void {
  const place = { model: config.group, model_id: config.id, upstream: config.apiBase };
  if (error !== null && health.healthError === null)
    log.warn({ ...place, why: error }, 'deployment unhealthy');
  if (error === null && health.healthError !== null) log.info(place, 'deployment healthy again');
  health.healthError = error;
}
