// A stream that broke off after its first token is continued by another deployment of the group, or of its fallbacks where
// `continue_over_fallbacks` says so. One with `assistant_prefill` gets the text sent so far as the beginning of its output.
// Where there is none, and `continue_by_repeat` allows it, another one is asked anew, and goes on if it gives the same text
// up to there. The client sees one stream; the record, the log, a metric and a comment in the stream say that there were
// two. Where all that is impossible, the stream ends with its error.
import type { Attempt as AttemptRecord } from '../spend/record/record.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { FailureKind } from '../routing/failover-plan.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Cut } from '../bodies/splice.ts';
import { Fault } from '../errors/fault.ts';
import type { Outcome } from '../relay/outcome.ts';
import { ResumableSink, type Resumption } from '../relay/resumable-sink.ts';
import { askedOf } from './asked-of.ts';
import {
  buildAttempt,
  finishAttempt,
  startAttempt,
  type BuiltAttempt,
  type OutgoingCall,
  type RunningAttempt,
} from './attempt.ts';
import type { CallAttempts } from './call-attempts.ts';
import { countMissingUsage } from './missing-usage.ts';
import { selectedBy } from './plan.ts';
import { partOf } from './replaced-attempts.ts';

/** The outcome of a call, and the upstream request that it belongs to. */
export interface CallResult {
  readonly outcome: Outcome;
  readonly call: UpstreamRequest;
}

/** How a deployment goes on with a stream. */
type ContinueMode = 'prefill' | 'repeat';

/** Recorded for an attempt that added nothing to the stream, and did not fail in a way that has a name. */
const UNFAILED = { unknown: 'cancelled', served: 'refused', failed: 'refused' } as const;

/** The outcome of `first`, or of the attempt that continued its stream. */
export async function continueStream(
  outgoing: OutgoingCall,
  first: RunningAttempt,
  { transcript }: ResumableSink,
  outcome: Outcome,
): Promise<CallResult> {
  const { x, attempts } = outgoing;
  const { plan, log } = attempts;
  let last = { attempt: first, outcome, own: outcome };
  let continuations = 0;
  while (continuations < outgoing.continuations) {
    const kind = breakKind(last.outcome);
    const text = kind === null ? null : transcript.prefix;
    const from = last.attempt.start.selected.deployment;
    const mode = kind === null || text === null ? null : moveToNext(outgoing, kind);
    if (text === null || mode === null) break;
    const cuts = mode === 'prefill' ? await prefillCuts(outgoing, text) : [];
    if (cuts === null) {
      attempts.permit.cancel();
      break;
    }
    const built = buildOrNull(outgoing, cuts);
    if (built === null) {
      attempts.permit.cancel();
      continue;
    }
    if (mode === 'prefill') transcript.resume();
    else transcript.repeat();
    const resumption = resumptionOf(attempts, from, plan.deployment, mode);
    const resumable = new ResumableSink(x.res, transcript, (fault) => next.abort(fault), resumption);
    const next = startAttempt(outgoing, built, { resumable, head: () => ({ ownHeaders: () => [] }) });
    const ended = await next.ended;
    const { upstream, failure } = finishAttempt(outgoing, next, ended);
    const own = ended.outcome;
    const isPart = own !== undefined && (resumable.hasWritten || own.end === 'client_gone');
    if (isPart || resumable.hasDiverged) continuations += 1; // one that diverged was paid for, too
    next.start.selected.deployment.metrics.continued(resumable.hasWritten ? 'joined' : 'failed');
    if (!isPart) {
      const error = resumable.hasDiverged ? 'diverged' : (failure?.kind ?? UNFAILED[upstream]);
      attempts.replaced(next, ended, error);
      log.answers(last.attempt.start);
      continue;
    }
    log.replaced(last.attempt.start, partRow(outgoing, last.attempt, last.own));
    last = { attempt: next, outcome: joinOutcomes(last.outcome, own), own };
  }
  return { outcome: last.outcome, call: last.attempt.call };
}

/** null: the text so far, or something else of the call, cannot be told to the deployment at which the plan stands. */
function buildOrNull(outgoing: OutgoingCall, cuts: readonly Cut[]): BuiltAttempt | null {
  try {
    return buildAttempt(outgoing, selectedBy(outgoing.attempts.plan), true, cuts);
  } catch (thrown) {
    if (thrown instanceof Fault) return null; // what has been delivered is not refused for it
    throw thrown;
  }
}

/** The record's row for an attempt whose stream another one continued. */
async function partRow(
  { x, request: { endpoint, billable, isBackground } }: OutgoingCall,
  { start, call: { body, protocol } }: RunningAttempt,
  outcome: Outcome,
): Promise<AttemptRecord> {
  const estimate = await countMissingUsage(x, endpoint, outcome, { body, protocol, isBackground });
  return partOf(x, start, { endpoint, selected: start.selected, outcome, protocol, billable, estimate });
}

/** What interrupted a stream that has begun to reach the client and may be continued; null for every other end. */
function breakKind({ fault, unsent }: Outcome): FailureKind | null {
  if (unsent !== null) return null;
  switch (fault?.code) {
    case 'stream_broken':
    case 'stream_truncated':
    case 'bad_upstream_answer':
      return 'server';
    case 'idle_timeout':
      return 'timeout';
    default:
      return null;
  }
}

/** Changes to the client's body, as it came, that make `text` the beginning of the answer. */
async function prefillCuts(
  { x, request: { body, endpoint } }: OutgoingCall,
  text: string,
): Promise<readonly Cut[] | null> {
  body.restore();
  const { continuation } = endpoint.protocol;
  return (await continuation?.prefill(body.bytes, text, x.active.snapshot.limits.jsonDepth)) ?? null;
}

/**
 * Moves the plan to a deployment that can go on, has capacity and fits the budget; one that takes a prefill goes before all
 * that have to repeat. Never waits: the client does.
 */
function moveToNext({ request, attempts }: OutgoingCall, kind: FailureKind): ContinueMode | null {
  const { x, plan, permit } = attempts;
  if (x.res.destroyed || x.res.interrupted !== null) return null;
  const { services, snapshot } = x.active;
  const { continueOverFallbacks, continueByRepeat } = snapshot.routing;
  const open = plan
    .openContinuers(kind, services.clock.mono(), continueOverFallbacks)
    // Of several answers none would be the one that the client is reading.
    .filter(({ group, deployment }) => askedOf(request, group.select(deployment)).isSingle);
  const able = open.filter(({ deployment }) => deployment.config.assistantPrefill);
  const mode = able.length > 0 ? 'prefill' : 'repeat';
  if (mode === 'repeat' && !continueByRepeat) return null;
  const next = (mode === 'prefill' ? able : open).find(({ group, deployment }) =>
    permit.tryAcquire(group.name, deployment),
  );
  if (next === undefined) return null;
  const { metrics, config } = plan.deployment;
  const isOther = next.group !== plan.group;
  if (!plan.continueAt(next)) {
    metrics.denied();
    permit.cancel();
    return null;
  }
  if (isOther) services.metrics.fellBack(config.group, next.deployment.config.group);
  return mode;
}

function resumptionOf(
  { x, plan }: CallAttempts,
  from: LiveDeployment,
  to: LiveDeployment,
  mode: ContinueMode,
): Resumption {
  return {
    comment: `continued by ${to.config.id}`,
    isAnew: mode === 'repeat',
    onResumed: () =>
      x.active.services.log.warn(
        {
          call_id: x.id,
          model: plan.group.name,
          model_id: from.config.id,
          upstream: from.config.apiBase,
          continued_by: to.config.id,
        },
        'stream continued',
      ),
  };
}

/** The outcome of the whole stream: begun by the first attempt, ended by the last. */
function joinOutcomes(before: Outcome, last: Outcome): Outcome {
  return {
    ...last,
    status: before.status,
    firstByteAt: before.firstByteAt,
    upstreamMs: before.upstreamMs,
    responseBytes: before.responseBytes + last.responseBytes,
  };
}
