// Sends a request, and retries it or falls back while that may help and nothing has reached the client. The only owner of
// retries: no layer below retries, and each one is taken from the retry budget.
import type { Protocol } from '../protocols/protocol.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Failure } from '../routing/failover-plan.ts';
import {
  buildAttempt,
  finishAttempt,
  startAttempt,
  type BuiltAttempt,
  type OutgoingCall,
  type RunningAttempt,
} from './attempt.ts';
import type { Ended } from './classify.ts';
import { continueStream, type CallResult } from './continue.ts';
import { runHedged, type FinishedAttempt } from './hedge.ts';
import { selectedBy } from './plan.ts';
import { mayLack, saysNoEndpoint, servingOf } from './upstream-protocol.ts';

/**
 * The outcome of the last attempt. Earlier attempts sent nothing to the client, or the last one continued their stream.
 * @param first to the deployment at which the plan stands
 * @throws Fault when the last attempt ended without a response
 */
export async function runAttempts(outgoing: OutgoingCall, first: BuiltAttempt): Promise<CallResult> {
  const { x, attempts } = outgoing;
  const { plan, permit } = attempts;
  const { services, snapshot } = x.active;
  services.retryBudget.earn(snapshot.routing.retryBudget);
  let built = first;
  for (;;) {
    const isHedged = plan.deployment.config.clocks.hedgeAfterMs > 0 && plan.group.deployments.length > 1;
    const single = isHedged ? null : startAttempt(outgoing, built);
    const { attempt, ended, classification } =
      single === null
        ? await runHedged(outgoing, built)
        : finishedAttempt(outgoing, single, await single.ended);
    if (isForOtherProtocol(outgoing, attempt, ended)) {
      attempts.replaced(attempt, ended, NO_ENDPOINT);
      await permit.acquire(plan); // its slot may be another call's by now, and the plan has moved
      built = buildAttempt(outgoing, selectedBy(plan), plan.hasMore);
      continue;
    }
    const { failure } = classification;
    const next = failure === null ? null : await nextRequest(outgoing, attempt, ended, failure);
    if (next === null) {
      if (ended.fault !== undefined) throw ended.fault;
      if (attempt.resumable === null) return { outcome: ended.outcome, call: attempt.call };
      return await continueStream(outgoing, attempt, attempt.resumable, ended.outcome);
    }
    built = next;
  }
}

/**
 * Moves on to another deployment. A client that leaves meanwhile ends the pause; the next attempt handles it, because its
 * response may be read on.
 * @returns the next attempt; null: the failed one was the last
 */
async function nextRequest(
  outgoing: OutgoingCall,
  attempt: RunningAttempt,
  ended: Ended,
  failure: Failure,
): Promise<BuiltAttempt | null> {
  const { attempts } = outgoing;
  const { plan } = attempts;
  const move = await attempts.moveOn(attempt, ended, failure);
  return move.is === 'over' ? null : buildAttempt(outgoing, selectedBy(plan), plan.hasMore);
}

/** The upstream speaks another protocol. */
const isTranslated = ({ protocol: to }: UpstreamRequest, from: Protocol): boolean => to !== from;

/** Recorded for an attempt whose gateway does not have the endpoint. */
const NO_ENDPOINT = 'no_endpoint';

/**
 * Whether the same call goes to the same deployment in another protocol, because its gateway has just said that it does not have
 * the endpoint. One that only learns costs nothing and is no failure, so the retry budget is not asked.
 */
function isForOtherProtocol(outgoing: OutgoingCall, attempt: RunningAttempt, { outcome }: Ended): boolean {
  const { x, request, attempts, translations } = outgoing;
  const { start, call } = attempt;
  const { endpoint } = request;
  const { deployment } = start.selected;
  if (outcome === undefined || !saysNoEndpoint(call, outcome)) return false;
  if (!mayLack(servingOf(x, start.selected), endpoint)) return false;
  const { absent } = deployment;
  if (isTranslated(call, endpoint.protocol)) {
    absent.delete(endpoint.protocol.name); // it was not the protocol
    return false;
  }
  if (deployment !== attempts.plan.deployment) return false;
  const name = endpoint.countAnswer === undefined ? endpoint.protocol.name : endpoint.path;
  absent.add(name, x.active.services.clock.mono());
  if (endpoint.countAnswer !== undefined) return false; // it is counted here
  if (translations.wayTo(start.selected) === 'translated') return true;
  absent.delete(name);
  return false;
}

function finishedAttempt(outgoing: OutgoingCall, attempt: RunningAttempt, ended: Ended): FinishedAttempt {
  return { attempt, ended, classification: finishAttempt(outgoing, attempt, ended) };
}
