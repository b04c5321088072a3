// Sends a request, and sends it again elsewhere while that may help and nothing has reached the client. The one owner of
// retries: nothing below tries again, and what is tried is counted against one budget.
import type { DownstreamResponse } from '../downstream/downstream-response.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { judge, logReplaced, rebuild, startAttempt, type AttemptContext } from './attempt.ts';
import { continued, type Answered } from './continue.ts';
import { hedged, type Judged } from './hedge.ts';
import type { CallPlan } from './plan.ts';
import { untilClientLeaves } from './until-client-leaves.ts';

/**
 * The outcome of the last attempt. Of those before, nothing was sent, or the last one went on with it.
 * @param first the request to the deployment at which the plan stands
 * @throws Fault when the last attempt ended before there was an answer
 */
export async function attempts(
  shared: Omit<AttemptContext, 'startedAt'>,
  first: UpstreamRequest,
): Promise<Answered> {
  const { x, plan, permit } = shared;
  const { services, snapshot } = x.active;
  const { clock, metrics } = services;
  const startedAt = clock.mono();
  const context = { ...shared, startedAt };
  services.retryBudget.earn(snapshot.routing.retryBudget);
  let call = first;
  for (;;) {
    const isHedged = plan.deployment.config.clocks.hedgeAfterMs > 0 && plan.group.deployments.length > 1;
    const { attempt, ended, found } = isHedged ? await hedged(context, call) : await single(context, call);
    const { failure } = found;
    const now = clock.mono();
    const step = failure === null ? null : plan.next(failure, now);
    if (step === null && plan.denied) attempt.entry.metrics.denied();
    if (failure === null || step === null || isLate(plan, now + step.pauseMs - startedAt)) {
      if (ended.fault !== undefined) throw ended.fault;
      if (attempt.resumable === null) return { outcome: ended.outcome, call: attempt.call };
      return await continued(context, attempt, attempt.resumable, ended.outcome);
    }
    logReplaced(context, attempt, ended, failure.kind);
    if (step.how === 'retry') attempt.entry.metrics.retried(failure.kind);
    else metrics.fellBack(attempt.entry.config.group, plan.deployment.config.group);
    if (step.pauseMs > 0) await pause(x.res, step.pauseMs);
    await permit.acquire(plan);
    call = rebuild(context, plan.hasMore);
  }
}

async function single(context: AttemptContext, call: UpstreamRequest): Promise<Judged> {
  const attempt = startAttempt(context, call);
  const ended = await attempt.ended;
  return { attempt, ended, found: judge(context, attempt, ended) };
}

function isLate(plan: CallPlan, elapsedMs: number): boolean {
  const { totalMs } = plan.deployment.config.clocks;
  return totalMs > 0 && elapsedMs >= totalMs;
}

/** Whether the client is still there is looked at by the next attempt: its answer may be read on all the same. */
async function pause(response: DownstreamResponse, ms: number): Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await untilClientLeaves(
    response,
    { done, abandon: () => clearTimeout(timer) },
    'its call was to be tried again',
  );
}
