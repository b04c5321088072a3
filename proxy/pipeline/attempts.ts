// Sends a request, and retries it or falls back while that may help and nothing has reached the client. The only owner of
// retries: no layer below retries, and each one is taken from the retry budget.
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Failure } from '../routing/failover-plan.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { Fault } from '../errors/fault.ts';
import {
  finishAttempt,
  logReplaced,
  rebuild,
  startAttempt,
  type RunningAttempt,
  type AttemptContext,
} from './attempt.ts';
import type { Ended } from './classify.ts';
import { continueStream, type CallResult } from './continue.ts';
import { runHedged, type FinishedAttempt } from './hedge.ts';
import type { CallPlan } from './plan.ts';
import { pause } from './until-client-leaves.ts';
import { mayLack, otherProtocol, saysNoEndpoint } from './upstream-protocol.ts';

/**
 * The outcome of the last attempt. Earlier attempts sent nothing to the client, or the last one continued their stream.
 * @param first the request to the deployment at which the plan stands
 * @throws Fault when the last attempt ended without a response
 */
export async function runAttempts(context: AttemptContext, first: UpstreamRequest): Promise<CallResult> {
  const { x, plan, permit, startedAt } = context;
  const { services, snapshot } = x.active;
  const { clock, metrics } = services;
  services.retryBudget.earn(snapshot.routing.retryBudget);
  let call = first;
  for (;;) {
    const isHedged = plan.deployment.config.clocks.hedgeAfterMs > 0 && plan.group.deployments.length > 1;
    const single = isHedged ? null : startAttempt(context, call);
    const { attempt, ended, classification } =
      single === null ? await runHedged(context, call) : finishedAttempt(context, single, await single.ended);
    const other = requestInOtherProtocol(context, attempt, ended);
    if (other !== null) {
      logReplaced(context, attempt, ended, NO_ENDPOINT);
      await permit.acquire(plan);
      call = other;
      continue;
    }
    const { failure } = classification;
    const next = failure === null ? null : nextStep(context, failure, clock.mono());
    if (next === null && plan.denied) attempt.deployment.metrics.denied();
    if (failure === null || next === null || isLate(plan, clock.mono() + next.step.pauseMs - startedAt)) {
      if (ended.fault !== undefined) throw ended.fault;
      if (attempt.resumable === null) return { outcome: ended.outcome, call: attempt.call };
      return await continueStream(context, attempt, attempt.resumable, ended.outcome);
    }
    logReplaced(context, attempt, ended, failure.kind);
    const { step, built } = next;
    if (step.how === 'retry') attempt.deployment.metrics.retried(failure.kind);
    else metrics.fellBack(attempt.deployment.config.group, plan.deployment.config.group);
    // A client that leaves meanwhile ends the pause; the next attempt handles it, because its response may be read on.
    if (step.pauseMs > 0) await pause(x.res, step.pauseMs, 'its call was to be tried again');
    await permit.acquire(plan);
    call = built?.deployment === plan.deployment ? built.call : rebuild(context, plan.hasMore);
  }
}

/** A request that was built to find out whether a deployment takes the call. */
interface Built {
  readonly deployment: LiveDeployment;
  readonly call: UpstreamRequest;
}

interface NextAttempt {
  readonly step: NonNullable<ReturnType<CallPlan['next']>>;
  /** null: nothing has to be translated, so the deployment takes the call. */
  readonly built: Built | null;
}

/** Moves the plan on to a deployment that takes the call: a translation may not be able to say all of one. */
function nextStep(context: AttemptContext, failure: Failure, now: number): NextAttempt | null {
  const { x, request, plan } = context;
  for (;;) {
    const step = plan.next(failure, now);
    if (step === null) return null;
    const { deployment } = plan;
    if (otherProtocol(deployment, request.endpoint, x.active.services.clock.mono) === null)
      return { step, built: null };
    const call = builtOrNull(context);
    if (call !== null) return { step, built: { deployment, call } };
  }
}

function builtOrNull(context: AttemptContext): UpstreamRequest | null {
  try {
    return rebuild(context, context.plan.hasMore);
  } catch (thrown) {
    if (thrown instanceof Fault) return null;
    throw thrown;
  }
}

/** The upstream speaks another protocol. */
const isTranslated = ({ protocol: to }: UpstreamRequest, from: Protocol): boolean => to !== from;

/** Recorded for an attempt whose gateway does not have the endpoint. */
const NO_ENDPOINT = 'no_endpoint';

/**
 * The same call to the same deployment in another protocol, where its gateway has just said that it does not have the
 * endpoint; null for every other end. One that only learns costs nothing and is no failure, so the retry budget is not asked.
 */
function requestInOtherProtocol(
  context: AttemptContext,
  attempt: RunningAttempt,
  { outcome }: Ended,
): UpstreamRequest | null {
  const { x, request, plan } = context;
  const { deployment, call } = attempt;
  const { endpoint } = request;
  if (outcome === undefined || !mayLack(deployment, endpoint) || !saysNoEndpoint(call, outcome)) return null;
  const { absent } = deployment;
  const from = endpoint.protocol;
  if (isTranslated(call, from)) {
    absent.delete(endpoint.protocol.name); // it was not the protocol
    return null;
  }
  if (deployment !== plan.deployment) return null;
  const name = endpoint.countAnswer === undefined ? endpoint.protocol.name : endpoint.path;
  absent.add(name, x.active.services.clock.mono());
  if (endpoint.countAnswer !== undefined) return null; // it is counted here
  const other = builtOrNull(context);
  if (other !== null && isTranslated(other, from)) return other;
  absent.delete(name);
  return null;
}

function finishedAttempt(context: AttemptContext, attempt: RunningAttempt, ended: Ended): FinishedAttempt {
  return { attempt, ended, classification: finishAttempt(context, attempt, ended) };
}

function isLate(plan: CallPlan, elapsedMs: number): boolean {
  const { totalMs } = plan.deployment.config.clocks;
  return totalMs > 0 && elapsedMs >= totalMs;
}
