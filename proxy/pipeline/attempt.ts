// One attempt: sends the request to one deployment, awaits the end, classifies it and updates the deployment's health.
// attempts.ts and hedge.ts decide which deployment is tried and when; nothing is retried here.
import type { Routing } from '../../config/snapshot.ts';
import { toFault } from '../errors/fault.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { InFlight } from '../routing/deployment-health.ts';
import type { Outcome } from '../relay/outcome.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { ResponseSink } from '../relay/response-sink.ts';
import { relay } from '../relay/relay.ts';
import type { AbortAttempt, HeadWriter } from '../relay/relay-handle.ts';
import { ResumableSink } from '../relay/resumable-sink.ts';
import type { Chaos } from '../chaos/faults.ts';
import { TranslatedSink } from '../relay/translated-sink.ts';
import type { AdmissionPermit } from './admission-permit.ts';
import type { AttemptLog, AttemptStart } from './attempt-log.ts';
import { buildUpstreamRequest } from './build-upstream-request.ts';
import { recordedAttempt, type RecordedExchange } from './capsule-call.ts';
import { sinkWithChaos, withChaos } from './chaos-call.ts';
import { classify, type Classification, type Ended } from './classify.ts';
import { timeOf, type Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { isContinuable, selectedBy, type CallPlan } from './plan.ts';
import { replacedAttempt } from './replaced-attempts.ts';
import type { Cut } from '../bodies/splice.ts';

/**
 * Its text was another one than the client has the beginning of, or its fault was asked for: that says nothing about the
 * upstream, and nothing else is tried.
 */
const NO_FAULT_OF_UPSTREAM: Classification = { upstream: 'unknown', failure: null };

/** What all attempts of one call share. */
export interface AttemptContext {
  readonly x: Exchange;
  readonly request: ParsedRequest;
  readonly identity: Identity;
  readonly plan: CallPlan;
  readonly permit: AdmissionPermit;
  readonly log: AttemptLog;
  readonly head: HeadWriter;
  /** How often its stream may go on elsewhere: as often as what it holds of its budgets pays for. */
  readonly continuations: number;
  /** The fault that the call asks for; null = none. */
  readonly chaos: Chaos | null;
  /** null = the call is not recorded. */
  readonly capsule: RecordedExchange | null;
  /** When the first attempt began, monotonic ms: `total_timeout` runs from there. */
  readonly startedAt: number;
}

/** An attempt that has begun and has not been judged yet. */
export interface RunningAttempt {
  readonly deployment: LiveDeployment;
  readonly call: UpstreamRequest;
  readonly start: AttemptStart;
  readonly inFlight: InFlight;
  /** Notes the stream, where another deployment could go on with it. */
  readonly resumable: ResumableSink | null;
  readonly ended: Promise<Ended>;
  readonly abort: AbortAttempt;
  cancel(): void;
}

/** What is asked of an attempt once it has ended. */
export type EndedAttempt = Pick<RunningAttempt, 'deployment' | 'start' | 'inFlight' | 'resumable'>;

/** Overrides for attempts that do not write straight to the client. */
interface AttemptOptions {
  readonly permit?: AdmissionPermit;
  readonly sink?: ResponseSink;
  readonly head?: (start: AttemptStart) => HeadWriter;
  readonly resumable?: ResumableSink;
}

/** Builds the request of a further attempt from the client's original body. @param cuts further changes to the body */
export function rebuild(
  { x, request, identity, plan }: AttemptContext,
  replaceable: boolean,
  cuts: readonly Cut[] = [],
): UpstreamRequest {
  request.body.restore();
  return buildUpstreamRequest(x, request, identity, selectedBy(plan), { replaceable, cuts });
}

/** An attempt begins at the deployment at which the plan stands: it is logged, and uses the slot that `permit` holds. */
export function beginAttempt(
  { x, log, plan }: Pick<AttemptContext, 'x' | 'log' | 'plan'>,
  permit: AdmissionPermit,
): Pick<RunningAttempt, 'start' | 'inFlight'> {
  const selected = selectedBy(plan);
  const { retries, fallbacks } = plan;
  const sentAt = x.active.services.clock.mono();
  const start = { selected, sentAt, sentMs: timeOf(x, sentAt), retries, fallbacks };
  log.begun(start);
  return { start, inFlight: permit.use(selected.deployment, sentAt) };
}

/** Sends `call` to the deployment at which the plan stands. */
export function startAttempt(
  context: AttemptContext,
  call: UpstreamRequest,
  options: AttemptOptions = {},
): RunningAttempt {
  const { x, request, identity, plan, startedAt, chaos, capsule } = context;
  const { deployment } = plan;
  const client = options.sink ?? x.res;
  const sink = chaos === null ? client : sinkWithChaos(client, chaos);
  const permit = options.permit ?? context.permit;
  const { start, inFlight } = beginAttempt(context, permit);
  try {
    const abort: AbortAttempt = (fault) => running.abort(fault);
    const resumable =
      options.resumable ?? transcriptSink(x.active.snapshot.routing, request, plan, sink, abort);
    const head = options.head?.(start) ?? context.head;
    const timed = withTimeLeft(call, start.sentAt - startedAt);
    const spoiled = chaos === null ? timed : withChaos(timed, chaos);
    const sent = capsule === null ? spoiled : recordedAttempt(capsule, spoiled, start, identity);
    const translated = translatedSink(context, call, resumable ?? sink, abort);
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
    return { deployment, call, start, inFlight, resumable, ended, abort, cancel: () => running.cancel() };
  } catch (bug) {
    inFlight.abandoned(); // or the slot would stay taken for ever
    permit.attemptEnded();
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
 * Classifies the end of an attempt and updates the health of its deployment, which cools down when it has failed too often
 * and others can take its calls.
 */
export function finishAttempt(
  context: Pick<AttemptContext, 'x' | 'plan' | 'permit' | 'chaos'>,
  attempt: EndedAttempt,
  ended: Ended,
): Classification {
  const { inFlight } = attempt;
  let isReported = false;
  try {
    const { x } = context;
    const { clock } = x.active.services;
    const hasDiverged = attempt.resumable?.hasDiverged === true;
    const isOurs = hasDiverged || context.chaos !== null;
    const classification = isOurs ? NO_FAULT_OF_UPSTREAM : classify(ended, clock.now());
    const { outcome } = ended;
    if (outcome !== undefined && outcome.readOn !== null)
      attempt.deployment.metrics.detachedStreamEnded(outcome.readOn);
    if (classification.upstream === 'failed') {
      reportFailure(context, attempt, classification);
      isReported = true;
    } else if (classification.upstream === 'served') {
      const at = outcome?.firstByteAt ?? null;
      inFlight.served(clock.mono(), at === null ? null : at - attempt.start.sentAt);
      isReported = true;
    }
    return classification;
  } finally {
    if (!isReported) inFlight.abandoned(); // nothing was learnt, or a bug: the slot becomes free either way
    context.permit.attemptEnded();
  }
}

function reportFailure(
  { x, plan }: Pick<AttemptContext, 'x' | 'plan'>,
  { deployment, inFlight }: EndedAttempt,
  { failure }: Classification,
): void {
  const { services, snapshot } = x.active;
  const { config, metrics } = deployment;
  const now = services.clock.mono();
  const allowedFails = plan.othersServe(now, deployment) ? snapshot.routing.allowedFails : Infinity;
  const cooldownMs = failure?.kind === 'rate_limit' ? (failure.retryAfterMs ?? config.cooldownMs) : null;
  if (inFlight.failed(now, { allowedFails, cooldownMs: config.cooldownMs }, cooldownMs)) {
    metrics.cooldownStarted();
    const about = { model: config.group, model_id: config.id, upstream: config.apiBase };
    services.log.warn(about, 'deployment cooling down');
  }
}

/** Records that another attempt gave the response instead. @param error why, in one word */
export function logReplaced(
  { x, request, log }: Pick<AttemptContext, 'x' | 'request' | 'log'>,
  { start }: Pick<RunningAttempt, 'start'>,
  ended: Ended,
  error: string,
): void {
  log.replaced(start, replacedAttempt(x, start, ended, error, request));
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
  { x, request }: AttemptContext,
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
function withTimeLeft(call: UpstreamRequest, elapsedMs: number): UpstreamRequest {
  const { totalMs } = call.clocks;
  if (totalMs === 0 || elapsedMs < 1) return call;
  return { ...call, clocks: { ...call.clocks, totalMs: Math.max(1, totalMs - elapsedMs) } };
}
