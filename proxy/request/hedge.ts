// `hedge_after`: a second attempt beside one from which nothing valid has come yet. The first valid answer wins and the
// other attempt is cancelled at once; both stand in the record. A hedge is never waited for: without a free entry, a
// free seat or budget left the first attempt simply goes on alone.
import { Floor } from '../upstream/floor.ts';
import type { Ask } from './ask.ts';
import { begin, judge, type Attempt, type Journey } from './attempt.ts';
import { Seat } from './seat.ts';
import { shape, unshaped, type Shaped } from './shape.ts';
import { verdictOf, type Ended, type Verdict } from './verdict.ts';

/** The attempt that is the answer for now: it has answered, or nobody beside it has. */
export interface Judged {
  readonly attempt: Attempt;
  readonly ended: Ended;
  readonly verdict: Verdict;
  /** What the client sent, for further attempts. */
  readonly asked: Ask;
}

/** In the record of an attempt that another one outran. */
const CANCELLED = 'cancelled';

interface Runner {
  readonly attempt: Attempt;
  readonly isCancelled: () => boolean;
  readonly done: Promise<Runner>;
}

/** Sends `call`, and after `hedgeAfterMs` of its entry without a valid answer another one beside it. */
export async function hedged(journey: Journey, asked: Ask, call: Shaped): Promise<Judged> {
  const { x, trip } = journey;
  const floor = new Floor(x.res);
  const due = alarm(trip.entry.route.clocks.hedgeAfterMs);
  const first = run(journey, floor, call, journey.seat, due.stop);
  const isLate = await Promise.race([due.rang, first.done.then(() => false)]);
  due.stop();
  const seat = new Seat(x);
  const isWanted = isLate && !x.res.destroyed && x.res.interrupted === null;
  if (!isWanted || !hasBranched(journey, seat)) {
    seat.leave();
    const ended = await first.attempt.ended;
    return { attempt: first.attempt, ended, verdict: judge(journey, first.attempt, ended), asked };
  }
  const again = unshaped(asked, call);
  const shaped = shape(x, again, trip.leg.picked(trip.entry), true);
  const second = run(journey, floor, shaped, seat, () => undefined);
  return { ...(await race(journey, first, second, seat)), asked: again };
}

/** Moves on to another entry, if there is a free one and the budget allows it. */
function hasBranched({ x, trip }: Journey, seat: Seat): boolean {
  const { metrics } = trip.entry;
  const entry = seat.takeFree(trip.leg.name, trip.beside('timeout', x.live.house.clock.mono()));
  if (entry === null) return false;
  const isAllowed = trip.branch(entry);
  if (!isAllowed) metrics.denied();
  return isAllowed;
}

function run(journey: Journey, floor: Floor, call: Shaped, seat: Seat, onBegin: () => void): Runner {
  const { draft } = journey;
  const speaker = floor.enter();
  const attempt = begin(journey, call, {
    seat,
    outlet: speaker,
    own: (mark) => ({
      ownHeaders: (status, upstreamMs) => draft.ownHeaders(status, upstreamMs),
      begins: () => {
        onBegin();
        draft.resume(mark);
        floor.give(speaker);
      },
    }),
  });
  speaker.stop = () => attempt.cancel();
  const runner: Runner = {
    attempt,
    isCancelled: () => speaker.cancelled,
    done: attempt.ended.then(() => runner),
  };
  return runner;
}

/** Two attempts to the end of both: one is the answer, the other is recorded beside it. `seat`: that of the second. */
async function race(
  journey: Journey,
  first: Runner,
  second: Runner,
  seat: Seat,
): Promise<Omit<Judged, 'asked'>> {
  const { x, trip, draft } = journey;
  const sooner = await Promise.race([first.done, second.done]);
  const later = sooner === first ? second : first;
  const isAnswer =
    !sooner.isCancelled() && isFinal(verdictOf(await sooner.attempt.ended, x.live.house.clock.now()));
  if (isAnswer) later.attempt.cancel();
  const [winner, loser] = isAnswer ? [sooner, later] : [later, sooner];
  const lost = await loser.attempt.ended;
  const { failure, upstream } = judge(journey, loser.attempt, lost);
  const isCancelled = upstream === 'unknown';
  draft.replaced(loser.attempt.mark, lost, failure?.kind ?? (isCancelled ? CANCELLED : 'refused'));
  trip.keepTo(winner.attempt.entry, !isCancelled);
  seat.leave(); // one call counts once; the visits of both entries are counted by themselves
  draft.resume(winner.attempt.mark);
  const ended = await winner.attempt.ended;
  const verdict = judge(journey, winner.attempt, ended);
  const hasAnswered = ended.outcome?.unsent === null || verdict.upstream === 'served';
  second.attempt.entry.metrics.hedged(hasAnswered ? (winner === second ? 'won' : 'lost') : 'failed');
  return { attempt: winner.attempt, ended, verdict };
}

/** Nobody else could do better: an answer, a refusal that is about the request, a client that left. */
function isFinal({ upstream, failure }: Verdict): boolean {
  return failure === null && upstream !== 'failed';
}

/** Rings once, with true; `stop` keeps it silent. */
function alarm(ms: number): { readonly rang: Promise<boolean>; readonly stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), ms);
  return {
    rang: promise,
    stop: () => {
      clearTimeout(timer);
      resolve(false);
    },
  };
}
