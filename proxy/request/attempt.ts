// One attempt: sent to its entry, followed to its end, judged. The entry is told how it did. Who is asked, and who next,
// is decided by attempts.ts and hedge.ts; nothing is repeated here.
import { toFault } from '../errors/fault.ts';
import type { Target } from '../live.ts';
import type { Visit } from '../routing/entry-state.ts';
import type { Call } from '../upstream/call.ts';
import type { Outlet } from '../upstream/outlet.ts';
import { relay, type HeadWriter } from '../upstream/relay.ts';
import { Scribe } from '../upstream/scribe.ts';
import type { Ask } from './ask.ts';
import type { Draft } from './draft.ts';
import type { Exchange } from './exchange.ts';
import type { Trip } from './plan.ts';
import type { Mark } from './recording.ts';
import type { Seat } from './seat.ts';
import type { Shaped } from './shape.ts';
import { verdictOf, type Ended, type Verdict } from './verdict.ts';

/** What all attempts of one call share. */
export interface Journey {
  readonly x: Exchange;
  readonly ask: Ask;
  readonly trip: Trip;
  readonly draft: Draft;
  readonly seat: Seat;
  /** When the first attempt began, monotonic ms: the total clock runs from there. */
  readonly startedAt: number;
}

/** An attempt under way. */
export interface Attempt {
  readonly entry: Target;
  readonly call: Shaped;
  readonly mark: Mark;
  readonly visit: Visit;
  /** Keeps what is told, where another entry could go on with it. */
  readonly scribe: Scribe | null;
  readonly ended: Promise<Ended>;
  cancel(): void;
}

/** How an attempt is sent otherwise than straight to the client. */
export interface Manner {
  readonly seat?: Seat;
  readonly outlet?: Outlet;
  readonly own?: (mark: Mark) => HeadWriter;
  readonly scribe?: Scribe;
}

/** Sends `call` to the entry at which the trip stands. */
export function begin(journey: Journey, call: Shaped, manner: Manner = {}): Attempt {
  const { x, ask, trip, draft, startedAt } = journey;
  const { entry } = trip;
  const outlet = manner.outlet ?? x.res;
  const mark = draft.attempt(trip.leg.picked(entry), trip);
  const visit = (manner.seat ?? journey.seat).visit(entry, mark.sentAt);
  const scribe = manner.scribe ?? scribeOf(ask, trip, outlet);
  const own = manner.own?.(mark) ?? draft;
  const running = relay(within(call, mark.sentAt - startedAt), scribe ?? outlet, x.live.house, own);
  if (scribe !== null) scribe.breakOff = (fault) => running.breakOff(fault);
  const ended = running.ended.then(
    (outcome): Ended => ({ outcome }),
    (thrown: unknown): Ended => ({ fault: toFault(thrown) }),
  );
  return { entry, call, mark, visit, scribe, ended, cancel: () => running.cancel() };
}

/** What the end of an attempt says; its entry is told, and rests if it failed too often and others can take its calls. */
export function judge({ x, trip, seat }: Journey, { entry, visit, mark }: Attempt, ended: Ended): Verdict {
  const { clock, log } = x.live.house;
  const now = clock.mono();
  const verdict = verdictOf(ended, clock.now());
  const { outcome } = ended;
  if (outcome !== undefined && outcome.readOn !== null) entry.metrics.readOn(outcome.readOn);
  if (verdict.upstream === 'unknown') visit.abandoned();
  else if (verdict.upstream === 'served') {
    const at = outcome?.firstByteAt ?? null;
    visit.served(now, at === null ? null : at - mark.sentAt);
  } else {
    const { route, metrics } = entry;
    const { failure } = verdict;
    const allowedFails = trip.othersServe(now, entry) ? x.live.snapshot.routing.allowedFails : Infinity;
    const restMs = failure?.kind === 'rate_limit' ? (failure.wishMs ?? route.cooldownMs) : null;
    if (visit.failed(now, { allowedFails, cooldownMs: route.cooldownMs }, restMs)) {
      metrics.rested();
      log.warn({ model: route.group, model_id: route.id, upstream: route.apiBase }, 'entry rests');
    }
  }
  seat.left();
  return verdict;
}

/** Keeps the stream if another entry of the name could continue it; otherwise nothing of it is kept. */
function scribeOf({ endpoint, stream, isSingle }: Ask, { leg, entry }: Trip, outlet: Outlet): Scribe | null {
  const { continuation } = endpoint.protocol;
  if (!stream || !isSingle || continuation === null) return null;
  const isContinuable = leg.entries.some((other) => other !== entry && other.route.assistantPrefill);
  return isContinuable ? new Scribe(outlet, continuation.transcript()) : null;
}

/** The total clock runs from the first attempt. */
function within(call: Call, elapsedMs: number): Call {
  const { totalMs } = call.clocks;
  if (totalMs === 0 || elapsedMs < 1) return call;
  return { ...call, clocks: { ...call.clocks, totalMs: Math.max(1, totalMs - elapsedMs) } };
}
