// Sends a call, and sends it again elsewhere while that may help and nothing has reached the client. The one owner of
// retries: nothing below tries again, and what is tried is counted against one budget.
import type { Reply } from '../http/reply.ts';
import type { Ask } from './ask.ts';
import { begin, judge, type Journey } from './attempt.ts';
import { continued, type Answered } from './continue.ts';
import type { Draft } from './draft.ts';
import type { Exchange } from './exchange.ts';
import { hedged, type Judged } from './hedge.ts';
import type { Trip } from './plan.ts';
import type { Seat } from './seat.ts';
import { shape, unshaped, type Shaped } from './shape.ts';

/**
 * The outcome of the last attempt. Of those before, nothing was sent, or the last one went on with it.
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
): Promise<Answered> {
  const { house, snapshot } = x.live;
  const { clock, metrics } = house;
  const startedAt = clock.mono();
  const journey = { x, ask, trip, draft, seat, startedAt };
  house.budget.earn(snapshot.routing.retryBudget);
  let [asked, call] = [ask, first];
  for (;;) {
    const isHedged = trip.entry.route.clocks.hedgeAfterMs > 0 && trip.leg.entries.length > 1;
    const last = isHedged ? await hedged(journey, asked, call) : await single(journey, asked, call);
    const { attempt, ended, verdict } = last;
    const { failure } = verdict;
    asked = last.asked;
    const now = clock.mono();
    const step = failure === null ? null : trip.next(failure, now);
    if (step === null && trip.denied) attempt.entry.metrics.denied();
    if (failure === null || step === null || isLate(trip, now + step.pauseMs - startedAt)) {
      if (ended.fault !== undefined) throw ended.fault;
      // Connections of attempts that failed may still hold the memory of the body: nobody may use it again.
      const isOnly = asked === ask && attempt.call === first;
      const outcome = isOnly ? ended.outcome : { ...ended.outcome, written: false };
      if (attempt.scribe === null) return { outcome, call: attempt.call };
      return await continued(journey, asked, attempt, outcome);
    }
    draft.replaced(attempt.mark, ended, failure.kind);
    if (step.how === 'retry') attempt.entry.metrics.retried(failure.kind);
    else metrics.fellBack(attempt.entry.route.group, trip.entry.route.group);
    if (step.pauseMs > 0) await pause(x.res, step.pauseMs);
    await seat.take(trip);
    asked = unshaped(asked, attempt.call);
    call = shape(x, asked, trip.leg.picked(trip.entry), trip.hasMore);
  }
}

async function single(journey: Journey, asked: Ask, call: Shaped): Promise<Judged> {
  const attempt = begin(journey, call);
  const ended = await attempt.ended;
  return { attempt, ended, verdict: judge(journey, attempt, ended), asked };
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
