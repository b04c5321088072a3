// Sends a call, and sends it again elsewhere while that may help and nothing has reached the client. The one owner of
// retries: nothing below tries again, and what is tried is counted against one budget.
import { Fault } from '../errors/fault.ts';
import type { Reply } from '../http/reply.ts';
import type { Visit } from '../routing/entry-state.ts';
import type { Call } from '../upstream/call.ts';
import type { Outcome } from '../upstream/outcome.ts';
import { relay } from '../upstream/relay.ts';
import type { Ask } from './ask.ts';
import type { Draft } from './draft.ts';
import type { Exchange } from './exchange.ts';
import type { Trip } from './plan.ts';
import type { Seat } from './seat.ts';
import { shape, unshaped, type Shaped } from './shape.ts';
import { verdictOf, type Ended, type Verdict } from './verdict.ts';

/**
 * The outcome of the last attempt. Of those before, nothing was sent.
 * @param first the call to the entry at which `trip` stands
 * @throws Fault when the last attempt ended before there was an answer
 */
export async function attempts(
  x: Exchange,
  ask: Ask,
  trip: Trip,
  first: Shaped,
  draft: Draft,
  seat: Seat,
): Promise<Outcome> {
  const { house, snapshot } = x.live;
  const { clock, metrics } = house;
  const startedAt = clock.mono();
  house.budget.earn(snapshot.routing.retryBudget);
  let [asked, call] = [ask, first];
  for (;;) {
    const { entry, leg } = trip;
    const sentAt = clock.mono();
    const visit = seat.visit(entry, sentAt);
    draft.attempt(leg.picked(entry), trip);
    const ended = await endOf(relay(within(call, sentAt - startedAt), x.res, house, draft), visit);
    const { upstream, failure } = verdictOf(ended, clock.now());
    report(x, trip, visit, ended, { upstream, failure }, sentAt);
    seat.left();
    const now = clock.mono();
    const step = failure === null ? null : trip.next(failure, now);
    if (step === null && trip.denied) entry.metrics.denied();
    if (failure === null || step === null || isLate(trip, now + step.pauseMs - startedAt)) {
      if (ended.fault !== undefined) throw ended.fault;
      // Connections of attempts that failed may still hold the memory of the body: nobody may use it again.
      return call === first ? ended.outcome : { ...ended.outcome, written: false };
    }
    draft.replaced(ended, failure.kind);
    if (step.how === 'retry') entry.metrics.retried(failure.kind);
    else metrics.fellBack(entry.route.group, trip.entry.route.group);
    if (step.pauseMs > 0) await pause(x.res, step.pauseMs);
    await seat.take(trip);
    asked = unshaped(asked, call);
    call = shape(x, asked, trip.leg.picked(trip.entry), trip.hasMore);
  }
}

async function endOf(relayed: Promise<Outcome>, visit: Visit): Promise<Ended> {
  try {
    return { outcome: await relayed };
  } catch (thrown) {
    if (thrown instanceof Fault) return { fault: thrown };
    visit.abandoned();
    throw thrown;
  }
}

/** Tells the entry how it did. It may rest only while others can take its calls. */
function report(
  x: Exchange,
  trip: Trip,
  visit: Visit,
  { outcome }: Ended,
  { upstream, failure }: Verdict,
  sentAt: number,
): void {
  const { clock, log } = x.live.house;
  const now = clock.mono();
  if (outcome !== undefined && outcome.readOn !== null) trip.entry.metrics.readOn(outcome.readOn);
  if (upstream === 'unknown') visit.abandoned();
  else if (upstream === 'served') {
    const at = outcome?.firstByteAt ?? null;
    visit.served(now, at === null ? null : at - sentAt);
  } else {
    const { route, metrics } = trip.entry;
    const allowedFails = trip.othersServe(now) ? x.live.snapshot.routing.allowedFails : Infinity;
    const restMs = failure?.kind === 'rate_limit' ? (failure.wishMs ?? route.cooldownMs) : null;
    if (!visit.failed(now, { allowedFails, cooldownMs: route.cooldownMs }, restMs)) return;
    metrics.rested();
    log.warn({ model: route.group, model_id: route.id, upstream: route.apiBase }, 'entry rests');
  }
}

/** The total clock runs from the first attempt. */
function within(call: Call, elapsedMs: number): Call {
  const { totalMs } = call.clocks;
  if (totalMs === 0 || elapsedMs < 1) return call;
  return { ...call, clocks: { ...call.clocks, totalMs: Math.max(1, totalMs - elapsedMs) } };
}

function isLate(trip: Trip, elapsedMs: number): boolean {
  const { totalMs } = trip.entry.route.clocks;
  return totalMs > 0 && elapsedMs >= totalMs;
}

/** Waits, but neither for a client that has gone nor for a proxy that ends; the relay says which. */
function pause(reply: Reply, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      reply.watcher = null;
      resolve();
    };
    const timer = setTimeout(done, ms);
    reply.watcher = { onClose: done, onDrain: () => undefined, onInterrupt: done };
    if (reply.destroyed || reply.interrupted !== null) done();
  });
}
