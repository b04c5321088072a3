// Sends a request, and retries it or falls back while that may help and nothing has reached the client. The only owner of
// retries: no layer below retries, and each one is taken from the retry budget.
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { finishAttempt, logReplaced, rebuild, startAttempt, type AttemptContext } from './attempt.ts';
import { continueStream, type CallResult } from './continue.ts';
import { runHedged, type FinishedAttempt } from './hedge.ts';
import type { CallPlan } from './plan.ts';
import { pause } from './until-client-leaves.ts';

/**
 * The outcome of the last attempt. Earlier attempts sent nothing to the client, or the last one continued their stream.
 * @param first the request to the deployment at which the plan stands
 * @throws Fault when the last attempt ended without a response
 */
export async function runAttempts(
  shared: Omit<AttemptContext, 'startedAt'>,
  first: UpstreamRequest,
): Promise<CallResult> {
  const { x, plan, permit } = shared;
  const { services, snapshot } = x.active;
  const { clock, metrics } = services;
  const startedAt = clock.mono();
  const context = { ...shared, startedAt };
  services.retryBudget.earn(snapshot.routing.retryBudget);
  let call = first;
  for (;;) {
    const isHedged = plan.deployment.config.clocks.hedgeAfterMs > 0 && plan.group.deployments.length > 1;
    const { attempt, ended, classification } = isHedged
      ? await runHedged(context, call)
      : await runSingle(context, call);
    const { failure } = classification;
    const now = clock.mono();
    const step = failure === null ? null : plan.next(failure, now);
    if (step === null && plan.denied) attempt.deployment.metrics.denied();
    if (failure === null || step === null || isLate(plan, now + step.pauseMs - startedAt)) {
      if (ended.fault !== undefined) throw ended.fault;
      if (attempt.resumable === null) return { outcome: ended.outcome, call: attempt.call };
      return await continueStream(context, attempt, attempt.resumable, ended.outcome);
    }
    logReplaced(context, attempt, ended, failure.kind);
    if (step.how === 'retry') attempt.deployment.metrics.retried(failure.kind);
    else metrics.fellBack(attempt.deployment.config.group, plan.deployment.config.group);
    // A client that leaves meanwhile ends the pause; the next attempt handles it, because its response may be read on.
    if (step.pauseMs > 0) await pause(x.res, step.pauseMs, 'its call was to be tried again');
    await permit.acquire(plan);
    call = rebuild(context, plan.hasMore);
  }
}

async function runSingle(context: AttemptContext, call: UpstreamRequest): Promise<FinishedAttempt> {
  const attempt = startAttempt(context, call);
  const ended = await attempt.ended;
  return { attempt, ended, classification: finishAttempt(context, attempt, ended) };
}

function isLate(plan: CallPlan, elapsedMs: number): boolean {
  const { totalMs } = plan.deployment.config.clocks;
  return totalMs > 0 && elapsedMs >= totalMs;
}
