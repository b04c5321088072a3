// One attempt: sent to its deployment, followed to its end, classified. The deployment is told how it did. Who is asked, and
// who next, is decided by attempts.ts and hedge.ts; nothing is repeated here.
import { toFault } from '../errors/fault.ts';
import type { Target } from '../live.ts';
import type { Visit } from '../routing/entry-state.ts';
import type { Call } from '../upstream/call.ts';
import type { Outlet } from '../upstream/outlet.ts';
import { relay, type HeadWriter } from '../upstream/relay.ts';
import { Scribe } from '../upstream/scribe.ts';
import type { AdmissionPermit } from './admission-permit.ts';
import type { AttemptLog, AttemptStart } from './attempt-log.ts';
import { buildUpstreamRequest } from './build-upstream-request.ts';
import { classify, type Classification, type Ended } from './classify.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { pickedBy, type CallPlan } from './plan.ts';
import { replacedAttempt } from './recording.ts';
import type { Cut } from "../bodies/splice.ts";

/** What all attempts of one call share. */
export interface AttemptContext {
  readonly x: Exchange;
  readonly request: ParsedRequest;
  readonly identity: Identity;
  readonly plan: CallPlan;
  readonly permit: AdmissionPermit;
  readonly log: AttemptLog;
  readonly head: HeadWriter;
  /** When the first attempt began, monotonic ms: the total clock runs from there. */
  readonly startedAt: number;
}

/** An attempt under way. */
export interface Attempt {
  readonly entry: Target;
  readonly call: Call;
  readonly start: AttemptStart;
  readonly inFlight: Visit;
  /** Keeps what is told, where another entry could go on with it. */
  readonly scribe: Scribe | null;
  readonly ended: Promise<Ended>;
  cancel(): void;
}

/** How an attempt is sent otherwise than straight to the client. */
export interface AttemptOptions {
  readonly permit?: AdmissionPermit;
  readonly outlet?: Outlet;
  readonly head?: (start: AttemptStart) => HeadWriter;
  readonly scribe?: Scribe;
}

/** Builds the request of a further attempt, out of what the client sent. @param cuts further changes to the body */
export function rebuild(
  { x, request, identity, plan }: AttemptContext,
  replaceable: boolean,
  cuts: readonly Cut[] = [],
): Call {
  request.body.restore();
  return buildUpstreamRequest(x, request, identity, pickedBy(plan), { replaceable, cuts });
}

/** Sends `call` to the deployment at which the plan stands. */
export function startAttempt(context: AttemptContext, call: Call, options: AttemptOptions = {}): Attempt {
  const { x, request, plan, log, startedAt } = context;
  const { entry, retries, fallbacks } = plan;
  const { clock } = x.live.house;
  const outlet = options.outlet ?? x.res;
  const start = { picked: pickedBy(plan), sentAt: clock.mono(), sentMs: clock.now(), retries, fallbacks };
  log.begun(start);
  const permit = options.permit ?? context.permit;
  const inFlight = permit.use(entry, start.sentAt);
  try {
    const scribe = options.scribe ?? transcriptSink(request, plan, outlet);
    const head = options.head?.(start) ?? context.head;
    const running = relay(within(call, start.sentAt - startedAt), scribe ?? outlet, x.live.house, head);
    if (scribe !== null) scribe.breakOff = (fault) => running.breakOff(fault);
    const ended = running.ended.then(
      (outcome): Ended => ({ outcome }),
      (thrown: unknown): Ended => ({ fault: toFault(thrown) }),
    );
    return { entry, call, start, inFlight, scribe, ended, cancel: () => running.cancel() };
  } catch (bug) {
    inFlight.abandoned(); // or the place would be taken for ever
    permit.used();
    throw bug;
  }
}

/**
 * What the end of an attempt says. Its deployment is told, and gets no calls for a while if it failed too often and others
 * can take them.
 */
export function judge(context: AttemptContext, attempt: Attempt, ended: Ended): Classification {
  const { inFlight } = attempt;
  let isTold = false;
  try {
    const { x } = context;
    const { clock } = x.live.house;
    const found = classify(ended, clock.now());
    const { outcome } = ended;
    if (outcome !== undefined && outcome.readOn !== null) attempt.entry.metrics.readOn(outcome.readOn);
    if (found.upstream === 'failed') isTold = tellFailure(context, attempt, found);
    else if (found.upstream === 'served') {
      const at = outcome?.firstByteAt ?? null;
      inFlight.served(clock.mono(), at === null ? null : at - attempt.start.sentAt);
      isTold = true;
    }
    return found;
  } finally {
    if (!isTold) inFlight.abandoned(); // nothing was learnt, or a bug: the place is free again either way
    context.permit.used();
  }
}

/** @returns true: the deployment was told */
function tellFailure(
  { x, plan }: AttemptContext,
  { entry, inFlight }: Attempt,
  { failure }: Classification,
): boolean {
  const { house, snapshot } = x.live;
  const { route, metrics } = entry;
  const now = house.clock.mono();
  const allowedFails = plan.othersServe(now, entry) ? snapshot.routing.allowedFails : Infinity;
  const restMs = failure?.kind === 'rate_limit' ? (failure.wishMs ?? route.cooldownMs) : null;
  if (inFlight.failed(now, { allowedFails, cooldownMs: route.cooldownMs }, restMs)) {
    metrics.rested();
    house.log.warn({ model: route.group, model_id: route.id, upstream: route.apiBase }, 'entry rests');
  }
  return true;
}

/** Notes that another attempt is the answer. @param error in one word why */
export function logReplaced(
  { x, request, log }: AttemptContext,
  { start }: Attempt,
  ended: Ended,
  error: string,
): void {
  log.replaced(start, replacedAttempt(x, start, ended, error, request));
}

/** Keeps the stream if another deployment of the group could continue it; otherwise nothing of it is kept. */
function transcriptSink(
  { endpoint, stream, isSingle }: ParsedRequest,
  { group, entry }: CallPlan,
  outlet: Outlet,
): Scribe | null {
  const { continuation } = endpoint.protocol;
  if (!stream || !isSingle || continuation === null) return null;
  const isContinuable = group.entries.some((other) => other !== entry && other.route.assistantPrefill);
  return isContinuable ? new Scribe(outlet, continuation.transcript()) : null;
}

/** The total clock runs from the first attempt. */
function within(call: Call, elapsedMs: number): Call {
  const { totalMs } = call.clocks;
  if (totalMs === 0 || elapsedMs < 1) return call;
  return { ...call, clocks: { ...call.clocks, totalMs: Math.max(1, totalMs - elapsedMs) } };
}
