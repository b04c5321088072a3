// `assistant_prefill`: a stream that broke off after its first token goes on at another entry of the name that declares
// it, with the text that the client has as the beginning of its answer. The client sees one stream; the record, the log, a
// metric and a comment in the stream say that there were two. Where that cannot be, the stream ends with its error.
import type { Attempt as AttemptRow } from '../spend/record/record.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { FailureKind } from '../routing/failover-plan.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Outcome } from '../relay/outcome.ts';
import { ResumableSink, type Resumption } from '../relay/resumable-sink.ts';
import { judge, type Attempt } from './attempt.ts';
import { logReplaced, rebuild, startAttempt, type AttemptContext } from './attempt.ts';
import { countMissingUsage } from './missing-usage.ts';
import { partOf } from './recording.ts';

/** An answer, and the request whose it is. */
export interface Answered {
  readonly outcome: Outcome;
  readonly call: UpstreamRequest;
}

/** The outcome of `first`, or of the attempt that went on with its stream. */
export async function continued(
  context: AttemptContext,
  first: Attempt,
  { transcript }: ResumableSink,
  outcome: Outcome,
): Promise<Answered> {
  const { x, request, plan, log } = context;
  let last = { attempt: first, outcome, own: outcome };
  for (;;) {
    const kind = breakOf(last.outcome);
    const text = kind === null ? null : transcript.prefix;
    if (kind === null || text === null || !hasMovedOn(context, kind)) break;
    request.body.restore();
    const { continuation } = request.endpoint.protocol;
    const cuts = continuation?.prefill(request.body.bytes, text, x.active.snapshot.limits.jsonDepth) ?? null;
    if (cuts === null) break;
    const call = rebuild(context, true, cuts);
    transcript.goOn();
    const resumption = resumptionOf(context, last.attempt.entry, plan.deployment);
    const resumable = new ResumableSink(x.res, transcript, resumption);
    const next = startAttempt(context, call, { resumable, head: () => ({ ownHeaders: () => [] }) });
    const ended = await next.ended;
    const { upstream, failure } = judge(context, next, ended);
    const own = ended.outcome;
    const isPart = own !== undefined && (resumable.hasWritten || own.end === 'client_gone');
    next.entry.metrics.continued(resumable.hasWritten ? 'joined' : 'failed');
    if (!isPart) {
      const error = failure?.kind ?? (upstream === 'unknown' ? 'cancelled' : 'refused');
      logReplaced(context, next, ended, error);
      continue;
    }
    log.replaced(last.attempt.start, partRow(context, last.attempt, last.own));
    last = { attempt: next, outcome: mergedOf(last.outcome, own), own };
  }
  log.answers(last.attempt.start);
  return { outcome: last.outcome, call: last.attempt.call };
}

/** The stream of an attempt broke off, and another one went on with it: both have written the answer. */
async function partRow(
  { x, request: { endpoint, billable } }: AttemptContext,
  { start, call }: Attempt,
  outcome: Outcome,
): Promise<AttemptRow> {
  const estimate = await countMissingUsage(x, endpoint, outcome, call.body);
  return partOf(x, start, { endpoint, picked: start.selected, outcome, billable, estimate });
}

/** What broke a stream off that has begun to reach the client and may go on; null for every other end. */
function breakOf({ fault, unsent }: Outcome): FailureKind | null {
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

/** To an entry that goes on with texts, has room and is allowed by the budget. Nobody waits: the client is listening. */
function hasMovedOn({ x, plan, permit }: AttemptContext, kind: FailureKind): boolean {
  if (x.res.destroyed || x.res.interrupted !== null) return false;
  const able = plan
    .beside(kind, x.active.services.clock.mono())
    .filter(({ config }) => config.assistantPrefill);
  const { metrics } = plan.deployment;
  const entry = permit.acquireFree(plan.group.name, able);
  if (entry === null) return false;
  const isAllowed = plan.branch(entry);
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

/** The whole answer: it began with the first attempt and ended with the last. */
function mergedOf(before: Outcome, last: Outcome): Outcome {
  return {
    ...last,
    status: before.status,
    firstByteAt: before.firstByteAt,
    upstreamMs: before.upstreamMs,
    responseBytes: before.responseBytes + last.responseBytes,
  };
}
