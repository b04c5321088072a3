// `assistant_prefill`: a stream that broke off after its first token goes on at another entry of the name that declares
// it, with the text that was told as the beginning of its answer. The client sees one stream; the record, the log, a
// metric and a comment in the stream say that there were two. Where that cannot be, the stream ends with its error.
import type { Target } from '../live.ts';
import type { FailureKind } from '../routing/itinerary.ts';
import type { Outcome } from '../upstream/outcome.ts';
import { Scribe, type Joining } from '../upstream/scribe.ts';
import type { Ask } from './ask.ts';
import { begin, judge, type Attempt, type Journey } from './attempt.ts';
import { shape, unshaped, type Shaped } from './shape.ts';

/** An answer, and the call whose it is. */
export interface Answered {
  readonly outcome: Outcome;
  readonly call: Shaped;
}

/** The outcome of `attempt`, or of the attempt that went on with its stream. */
export async function continued(
  journey: Journey,
  asked: Ask,
  attempt: Attempt,
  outcome: Outcome,
): Promise<Answered> {
  const { x, trip, draft } = journey;
  let last = { attempt, outcome, own: outcome };
  for (;;) {
    const kind = breakOf(last.outcome);
    const { transcript } = last.attempt.scribe as Scribe;
    const text = kind === null ? null : transcript.prefix;
    if (kind === null || text === null || !hasMovedOn(journey, kind)) break;
    asked = unshaped(asked, last.attempt.call);
    const { continuation } = asked.endpoint.protocol;
    const cuts = continuation?.prefill(asked.body.bytes, text, x.live.snapshot.limits.jsonDepth) ?? null;
    if (cuts === null) break;
    const call = shape(x, asked, trip.leg.picked(trip.entry), true, undefined, cuts);
    transcript.goOn();
    const scribe = new Scribe(x.res, transcript, joiningOf(journey, last.attempt.entry, trip.entry));
    const next = begin(journey, call, { scribe, own: () => ({ ownHeaders: () => [] }) });
    const ended = await next.ended;
    const { upstream, failure } = judge(journey, next, ended);
    const own = ended.outcome;
    const isPart = own !== undefined && (scribe.hasSpoken || own.end === 'client_gone');
    next.entry.metrics.continued(scribe.hasSpoken ? 'joined' : 'failed');
    if (!isPart) {
      draft.replaced(next.mark, ended, failure?.kind ?? (upstream === 'unknown' ? 'cancelled' : 'refused'));
      continue;
    }
    draft.continued(last.attempt.mark, last.own, last.attempt.call);
    last = { attempt: next, outcome: joinedOf(last.outcome, own), own };
  }
  draft.resume(last.attempt.mark);
  return { outcome: last.outcome, call: last.attempt.call };
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
function hasMovedOn({ x, trip, seat }: Journey, kind: FailureKind): boolean {
  if (x.res.destroyed || x.res.interrupted !== null) return false;
  const able = trip.beside(kind, x.live.house.clock.mono()).filter(({ route }) => route.assistantPrefill);
  const { metrics } = trip.entry;
  const entry = seat.takeFree(trip.leg.name, able);
  if (entry === null) return false;
  const isAllowed = trip.branch(entry);
  if (!isAllowed) metrics.denied();
  return isAllowed;
}

function joiningOf({ x, trip }: Journey, from: Target, to: Target): Joining {
  return {
    mark: `continued by ${to.route.id}`,
    joined: () =>
      x.live.house.log.warn(
        {
          call_id: x.id,
          model: trip.leg.name,
          model_id: from.route.id,
          upstream: from.route.apiBase,
          continued_by: to.route.id,
        },
        'stream continued',
      ),
  };
}

/** The whole answer: it began with the first attempt and ended with the last. */
function joinedOf(before: Outcome, last: Outcome): Outcome {
  return {
    ...last,
    status: before.status,
    firstByteAt: before.firstByteAt,
    upstreamMs: before.upstreamMs,
    responseBytes: before.responseBytes + last.responseBytes,
    written: false,
  };
}
