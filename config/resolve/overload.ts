// Limits on calls in flight: per deployment, per process, and for waiting calls. Pure; 0 means no limit, seconds become
// milliseconds.
import type { EntryParams, GatewayFile } from '../gateway-file.ts';
import type { Overload, Deployment } from '../snapshot.ts';

type Count = number | string | undefined;

/** A missing value and 0 mean no limit. */
function bound(count: Count): number {
  return Number(count ?? 0) || Infinity;
}

/** How many calls a deployment may have in flight: its own setting, else the default for all. */
export function parallelLimits({ router_settings: router }: GatewayFile): (params: EntryParams) => number {
  const all = router.default_litellm_params.max_parallel_requests ?? router.default_max_parallel_requests;
  return (params) => bound(params.max_parallel_requests ?? all);
}

export function overloadOf(
  { general_settings: general }: GatewayFile,
  deployments: readonly Deployment[],
): Overload {
  const total = bound(general.global_max_parallel_requests ?? general.max_parallel_requests);
  return {
    total,
    mostWaiting: Number(general.max_queued_requests),
    waitMs: Math.round(Number(general.max_queue_seconds) * 1000),
    limitWaitMs: Math.round(Number(general.limit_queue_seconds) * 1000),
    maxLagMs: bound(general.max_event_loop_lag_ms),
    isLimited: total !== Infinity || deployments.some(({ maxParallel }) => maxParallel !== Infinity),
  };
}
