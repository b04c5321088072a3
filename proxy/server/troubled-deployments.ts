// Which deployments are in trouble, for the metrics.
import type { ActiveConfig } from '../active-config/active-config.ts';
import type { DeploymentFigure } from '../observability/deployment-metrics.ts';
import type { BreakerState } from '../routing/breaker.ts';

const BREAKER_FIGURES: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };

/** Deployments that are not healthy, for the metrics. */
export function* troubled(active: ActiveConfig): Generator<DeploymentFigure> {
  const now = active.services.clock.mono();
  for (const { config, health } of active.deployments.values()) {
    const figure = health.healthError === null ? BREAKER_FIGURES[health.breaker.state(now)] : 3;
    if (figure > 0) yield { model: config.group, modelId: config.id, state: figure };
  }
}
