// One attempt: sends the request to one deployment and awaits the end. attempts.ts and hedge.ts decide which deployment is tried and when; nothing is retried here.
import type { Routing } from '../../config/snapshot.ts';
import { toFault } from '../errors/fault.ts';
import type { Outcome } from '../relay/outcome.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { ResponseSink } from '../relay/response-sink.ts';
import { relay } from '../relay/relay.ts';
import type { AbortAttempt, HeadWriter } from '../relay/relay-handle.ts';
import { ResumableSink } from '../relay/resumable-sink.ts';
import type { OpenCapsule } from '../capsule/capsules.ts';
import type { Chaos } from '../chaos/faults.ts';
import { TranslatedSink } from '../relay/translated-sink.ts';
import type { AdmissionPermit } from './admission-permit.ts';
import type { AttemptStart } from './attempt-log.ts';
import { buildUpstreamRequest } from './build-upstream-request.ts';
import type { BegunAttempt, CallAttempts } from './call-attempts.ts';
import { attemptInCapsule } from './capsule-call.ts';
import { sinkWithChaos, withChaos } from './chaos-call.ts';
import type { Classification, Ended } from './classify.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { isContinuable, type CallPlan } from './plan.ts';
import type { Cut } from '../bodies/splice.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { Translations } from './translations.ts';

/** One call, as all its attempts send it. Only `attempts` changes while they run. */
export interface OutgoingCall {
  readonly x: Exchange;
  readonly request: ParsedRequest;
  readonly identity: Identity;
  readonly translations: Translations;
  readonly attempts: CallAttempts;
  readonly head: HeadWriter;
  /** How often its stream may go on elsewhere: as often as what it holds of its budgets pays for. */
  readonly continuations: number;
  /** The fault that the call asks for; null = none. */
  readonly chaos: Chaos | null;
  /** null = the call gets none. */
  readonly capsule: OpenCapsule | null;
}

/** What is sent, and to whom: a request is of one deployment, whatever the plan does meanwhile. */
export interface BuiltAttempt {
  readonly selected: SelectedDeployment;
  readonly request: UpstreamRequest;
}

/** An attempt whose request is under way. */
export interface RunningAttempt extends BegunAttempt {
  readonly call: UpstreamRequest;
  /** Notes the stream, where another deployment could go on with it. */
  readonly resumable: ResumableSink | null;
  readonly ended: Promise<Ended>;
  readonly abort: AbortAttempt;
  cancel(): void;
}

/** Overrides for attempts that do not write straight to the client. */
interface AttemptOptions {
  readonly permit?: AdmissionPermit;
  readonly sink?: ResponseSink;
  readonly head?: (start: AttemptStart) => HeadWriter;
  readonly resumable?: ResumableSink;
}

/**
 * Builds an attempt from the client's original body.
 * @param selected the deployment at which the plan stands @param cuts further changes to the body
 * @throws Fault as `buildUpstreamRequest`
 */
export function buildAttempt(
  { x, request, identity, translations }: OutgoingCall,
  selected: SelectedDeployment,
  replaceable: boolean,
  cuts: readonly Cut[] = NO_CUTS,
): BuiltAttempt {
  request.body.restore();
  const translated = cuts.length === 0 ? translations.taken(selected) : null;
  const options = { replaceable, cuts, translated };
  return { selected, request: buildUpstreamRequest(x, request, identity, selected, options) };
}

const NO_CUTS: readonly Cut[] = Object.freeze([]);

/** Sends what was built. */
export function startAttempt(
  outgoing: OutgoingCall,
  { selected, request: call }: BuiltAttempt,
  options: AttemptOptions = {},
): RunningAttempt {
  const { x, request, identity, attempts, chaos, capsule } = outgoing;
  const { plan } = attempts;
  const client = options.sink ?? x.res;
  const sink = chaos === null ? client : sinkWithChaos(client, chaos);
  const begun = attempts.begin(selected, call.firstByteMs, options.permit);
  const { start, inFlight } = begun;
  try {
    const abort: AbortAttempt = (fault) => running.abort(fault);
    const resumable =
      options.resumable ?? transcriptSink(x.active.snapshot.routing, request, plan, sink, abort);
    const head = options.head?.(start) ?? outgoing.head;
    const timed = withTimeLeft(call, attempts.timeLeftMs(call.clocks.totalMs, start));
    const spoiled = chaos === null ? timed : withChaos(timed, chaos);
    const sent = capsule === null ? spoiled : attemptInCapsule(capsule, spoiled, start, identity);
    const translated = translatedSink(outgoing, call, resumable ?? sink, abort);
    const running =
      translated === null
        ? relay(sent, resumable ?? sink, x.active.services, head)
        : relay(
            { ...sent, errors: translated.errors },
            translated,
            x.active.services,
            translated.headWriter(head),
          );
    const ended = running.ended.then((outcome) => settled(outcome, translated), failed);
    return { call, start, inFlight, resumable, ended, abort, cancel: () => running.cancel() };
  } catch (bug) {
    attempts.abandon(begun); // or the slot would stay taken for ever
    throw bug;
  }
}

const failed = (thrown: unknown): Ended => ({ fault: toFault(thrown) });

function settled(outcome: Outcome, translated: TranslatedSink | null): Ended {
  try {
    return { outcome: translated?.settle(outcome) ?? outcome };
  } catch (thrown) {
    return failed(thrown);
  }
}

/**
 * Judges the end of an attempt. Where its text was another one than the client has the beginning of, or its fault was asked for,
 * it says nothing about the upstream, and nothing else is tried.
 */
export function finishAttempt(
  { attempts, chaos }: OutgoingCall,
  attempt: RunningAttempt,
  ended: Ended,
): Classification {
  return attempts.finish(attempt, ended, chaos !== null || attempt.resumable?.hasDiverged === true);
}

/** Keeps the stream if another deployment could continue it; null otherwise. */
function transcriptSink(
  routing: Routing,
  request: ParsedRequest,
  plan: CallPlan,
  sink: ResponseSink,
  abort: AbortAttempt,
): ResumableSink | null {
  const { continuation } = request.endpoint.protocol;
  if (continuation === null || !isContinuable(routing, request, plan)) return null;
  return new ResumableSink(sink, continuation.transcript(), abort);
}

/** null: the client gets the bytes of the upstream. */
function translatedSink(
  { x, request }: OutgoingCall,
  { translated, protocol, holdsHead }: UpstreamRequest,
  sink: ResponseSink,
  abort: AbortAttempt,
): TranslatedSink | null {
  if (translated === null) return null;
  const from = request.endpoint.protocol;
  if (from !== protocol) x.active.services.metrics.translated(from.name, protocol.name);
  return new TranslatedSink(sink, translated, abort, holdsHead);
}

/** The total clock runs from the first attempt. */
function withTimeLeft(call: UpstreamRequest, totalMs: number): UpstreamRequest {
  if (call.clocks.totalMs - totalMs < 1) return call;
  return { ...call, clocks: { ...call.clocks, totalMs } };
}
