// `assistant_prefill`: a stream that broke off after its first token is continued by another deployment of the group that
// supports prefill: the text sent so far becomes the beginning of its output. The client sees one stream; the record, the
// log, a metric and a comment in the stream say that there were two. Where that is impossible, the stream ends with its
// error.
import type { Attempt as AttemptRow } from '../spend/record/record.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { FailureKind } from '../routing/failover-plan.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Outcome } from '../relay/outcome.ts';
import { ResumableSink, type Resumption } from '../relay/resumable-sink.ts';
import { finishAttempt, type Attempt } from './attempt.ts';
import { logReplaced, rebuild, startAttempt, type AttemptContext } from './attempt.ts';
import { countMissingUsage } from './missing-usage.ts';
import { partOf } from './recording.ts';

/** The outcome of a call, and the upstream request that it belongs to. */
export interface CallResult {
  readonly outcome: Outcome;
  readonly call: UpstreamRequest;
}

/** The outcome of `first`, or of the attempt that continued its stream. */
export async function continueStream(
  context: AttemptContext,
  first: Attempt,
  { transcript }: ResumableSink,
  outcome: Outcome,
): Promise<CallResult> {
  const { x, request, plan, log } = context;
  let last = { attempt: first, outcome, own: outcome };
  for (;;) {
    const kind = breakKind(last.outcome);
    const text = kind === null ? null : transcript.prefix;
    if (kind === null || text === null || !moveToNext(context, kind)) break;
    request.body.restore();
    const { continuation } = request.endpoint.protocol;
    const { jsonDepth } = x.active.snapshot.limits;
    const cuts = (await continuation?.prefill(request.body.bytes, text, jsonDepth)) ?? null;
    if (cuts === null) break;
    const call = rebuild(context, true, cuts);
    transcript.resume();
    const resumption = resumptionOf(context, last.attempt.deployment, plan.deployment);
    const resumable = new ResumableSink(x.res, transcript, resumption);
    const next = startAttempt(context, call, { resumable, head: () => ({ ownHeaders: () => [] }) });
    const ended = await next.ended;
    const { upstream, failure } = finishAttempt(context, next, ended);
    const own = ended.outcome;
    const isPart = own !== undefined && (resumable.hasWritten || own.end === 'client_gone');
    next.deployment.metrics.continued(resumable.hasWritten ? 'joined' : 'failed');
    if (!isPart) {
      const error = failure?.kind ?? (upstream === 'unknown' ? 'cancelled' : 'refused');
      logReplaced(context, next, ended, error);
      continue;
    }
    log.replaced(last.attempt.start, partRow(context, last.attempt, last.own));
    last = { attempt: next, outcome: joinOutcomes(last.outcome, own), own };
  }
  log.answers(last.attempt.start);
  return { outcome: last.outcome, call: last.attempt.call };
}

/** The record's row for an attempt whose stream another one continued. */
async function partRow(
  { x, request: { endpoint, billable } }: AttemptContext,
  { start, call }: Attempt,
  outcome: Outcome,
): Promise<AttemptRow> {
  const estimate = await countMissingUsage(x, endpoint, outcome, call.body);
  return partOf(x, start, { endpoint, selected: start.selected, outcome, billable, estimate });
}

/** What interrupted a stream that has begun to reach the client and may be continued; null for every other end. */
function breakKind({ fault, unsent }: Outcome): FailureKind | null {
  if (unsent !== null) return null;
  switch (fault?.code) {
    case 'stream_broken':
    case 'stream_truncated':
      return 'server';
    case 'idle_timeout':
      return 'timeout';
    default:
      return null;
  }
}

/** Moves the plan to a deployment that supports prefill, has capacity and fits the budget. Never waits: the client does. */
function moveToNext({ x, plan, permit }: AttemptContext, kind: FailureKind): boolean {
  if (x.res.destroyed || x.res.interrupted !== null) return false;
  const able = plan
    .hedgeCandidates(kind, x.active.services.clock.mono())
    .filter(({ config }) => config.assistantPrefill);
  const { metrics } = plan.deployment;
  const deployment = permit.tryAcquire(plan.group.name, able);
  if (deployment === null) return false;
  const isAllowed = plan.branch(deployment);
  if (!isAllowed) metrics.denied();
  return isAllowed;
}

function resumptionOf({ x, plan }: AttemptContext, from: LiveDeployment, to: LiveDeployment): Resumption {
  return {
    comment: `continued by ${to.config.id}`,
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
