// Metrics of attempts: retries, fallbacks, cooldowns of deployments, second attempts beside a slow
// one, and streams that went on without their deployment or without their client.
import type { Registry } from 'prom-client';
import type { DeploymentMetrics } from './deployment-metrics.ts';
import { talliedCounter } from './tally.ts';

type AttemptHandles = Pick<
  DeploymentMetrics,
  | 'retried'
  | 'denied'
  | 'cooldownStarted'
  | 'cooldownLearned'
  | 'hedged'
  | 'continued'
  | 'detachedStreamEnded'
>;

interface AttemptMetrics {
  /** The handles of one `model_name`. */
  readonly of: (model: string) => AttemptHandles;
  /** A fallback from one model group to another. */
  readonly fellBack: (model: string, to: string) => void;
}

/** Adds the metrics to a registry. */
export function addAttemptMetrics(registry: Registry): AttemptMetrics {
  const retries = talliedCounter(
    registry,
    'throughline_retries_total',
    'Retries within a model group after a failed attempt, by the kind of failure.',
    ['model', 'failure'],
  );
  const fallbacks = talliedCounter(
    registry,
    'throughline_fallbacks_total',
    'Fallbacks to another model group: its own failed, cools down or is full.',
    ['model', 'to'],
  );
  const denied = talliedCounter(
    registry,
    'throughline_retries_denied_total',
    'Retries and fallbacks that the retry budget did not allow.',
    ['model'],
  );
  const cooldowns = talliedCounter(
    registry,
    'throughline_cooldowns_total',
    'Cooldowns of deployments that began.',
    ['model'],
  );
  const learnedCooldowns = talliedCounter(
    registry,
    'throughline_cooldowns_from_others_total',
    'Found by another server.',
    ['model'],
  );
  const hedges = talliedCounter(
    registry,
    'throughline_hedges_total',
    'Second attempts beside a slow one (hedge_after), by which one won: won = the second, lost = the first.',
    ['model', 'end'],
  );
  const continued = talliedCounter(
    registry,
    'throughline_continued_streams_total',
    'Attempts to continue a stream that broke off (assistant_prefill), by result.',
    ['model', 'end'],
  );
  const detached = talliedCounter(
    registry,
    'throughline_detached_streams_total',
    'Responses that were read for their usage after their clients had left, by how that ended.',
    ['model', 'end'],
  );
  const readOn = talliedCounter(
    registry,
    'throughline_read_on_total',
    'Deprecated, use throughline_detached_streams_total.',
    ['model', 'end'],
  );
  return {
    of: (model) => ({
      retried: (failure) => retries(model, failure).add(1),
      denied: () => denied(model).add(1),
      cooldownStarted: () => cooldowns(model).add(1),
      cooldownLearned: () => learnedCooldowns(model).add(1),
      hedged: (end) => hedges(model, end).add(1),
      continued: (end) => continued(model, end).add(1),
      detachedStreamEnded: (end) => {
        detached(model, end).add(1);
        readOn(model, end).add(1);
      },
    }),
    fellBack: (model, to) => fallbacks(model, to).add(1),
  };
}
