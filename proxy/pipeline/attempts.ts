// Sends a request, and retries it or falls back while that may help and nothing has reached the client. The only owner of
// retries: no layer below retries, and each one is taken from the retry budget.
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Failure } from '../routing/failover-plan.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { Fault } from '../errors/fault.ts';
import { finishAttempt, rebuild, startAttempt, type OutgoingCall, type RunningAttempt } from './attempt.ts';
import type { Ended } from './classify.ts';
import { continueStream, type CallResult } from './continue.ts';
import { runHedged, type FinishedAttempt } from './hedge.ts';
import { mayLack, otherProtocol, saysNoEndpoint } from './upstream-protocol.ts';

/**
 * The outcome of the last attempt. Earlier attempts sent nothing to the client, or the last one continued their stream.
 * @param first the request to the deployment at which the plan stands
 * @throws Fault when the last attempt ended without a response
 */
export async function runAttempts(outgoing: OutgoingCall, first: UpstreamRequest): Promise<CallResult> {
  const { x, attempts } = outgoing;
  const { plan, permit } = attempts;
  const { services, snapshot } = x.active;
  services.retryBudget.earn(snapshot.routing.retryBudget);
  let call = first;
  for (;;) {
    const isHedged = plan.deployment.config.clocks.hedgeAfterMs > 0 && plan.group.deployments.length > 1;
    const single = isHedged ? null : startAttempt(outgoing, call);
    const { attempt, ended, classification } =
      single === null
        ? await runHedged(outgoing, call)
        : finishedAttempt(outgoing, single, await single.ended);
    const other = requestInOtherProtocol(outgoing, attempt, ended);
    if (other !== null) {
      attempts.replaced(attempt, ended, NO_ENDPOINT);
      await permit.acquire(plan);
      call = other;
      continue;
    }
    const { failure } = classification;
    const next = failure === null ? null : await nextRequest(outgoing, attempt, ended, failure);
    if (next === null) {
      if (ended.fault !== undefined) throw ended.fault;
      if (attempt.resumable === null) return { outcome: ended.outcome, call: attempt.call };
      return await continueStream(outgoing, attempt, attempt.resumable, ended.outcome);
    }
    call = next;
  }
}

/**
 * Moves on to a deployment that takes the call: a translation may not be able to say all of one. A client that leaves meanwhile
 * ends the pause; the next attempt handles it, because its response may be read on.
 * @returns the request to it; null: the failed attempt was the last
 */
async function nextRequest(
  outgoing: OutgoingCall,
  attempt: RunningAttempt,
  ended: Ended,
  failure: Failure,
): Promise<UpstreamRequest | null> {
  const { x, request, attempts } = outgoing;
  const { plan } = attempts;
  const built = new Map<LiveDeployment, UpstreamRequest>(); // to find out whether the deployment takes the call
  const takes = (): boolean => {
    const { deployment } = plan;
    if (otherProtocol(deployment, request.endpoint, x.active.services.clock.mono) === null) return true;
    const call = builtOrNull(outgoing);
    if (call !== null) built.set(deployment, call);
    return call !== null;
  };
  const move = await attempts.moveOn(attempt, ended, failure, takes);
  return move.is === 'over' ? null : (built.get(plan.deployment) ?? rebuild(outgoing, plan.hasMore));
}

function builtOrNull(outgoing: OutgoingCall): UpstreamRequest | null {
  try {
    return rebuild(outgoing, outgoing.attempts.plan.hasMore);
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
  outgoing: OutgoingCall,
  attempt: RunningAttempt,
  { outcome }: Ended,
): UpstreamRequest | null {
  const { x, request, attempts } = outgoing;
  const { deployment, call } = attempt;
  const { endpoint } = request;
  if (outcome === undefined || !mayLack(deployment, endpoint) || !saysNoEndpoint(call, outcome)) return null;
  const { absent } = deployment;
  const from = endpoint.protocol;
  if (isTranslated(call, from)) {
    absent.delete(endpoint.protocol.name); // it was not the protocol
    return null;
  }
  if (deployment !== attempts.plan.deployment) return null;
  const name = endpoint.countAnswer === undefined ? endpoint.protocol.name : endpoint.path;
  absent.add(name, x.active.services.clock.mono());
  if (endpoint.countAnswer !== undefined) return null; // it is counted here
  const other = builtOrNull(outgoing);
  if (other !== null && isTranslated(other, from)) return other;
  absent.delete(name);
  return null;
}

function finishedAttempt(outgoing: OutgoingCall, attempt: RunningAttempt, ended: Ended): FinishedAttempt {
  return { attempt, ended, classification: finishAttempt(outgoing, attempt, ended) };
}
