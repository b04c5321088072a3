// `hedge_after`: a second attempt beside one from which nothing valid has come yet. The first valid response wins and the
// other attempt is cancelled at once; the record has both. A hedge never waits: without a free deployment and budget, the
// first attempt continues alone.
import { boundedTimer } from '../base/bounded-timer.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import { FirstWins } from '../relay/first-wins.ts';
import { AdmissionPermit } from './admission-permit.ts';
import {
  buildAttempt,
  finishAttempt,
  startAttempt,
  type BuiltAttempt,
  type OutgoingCall,
  type RunningAttempt,
} from './attempt.ts';
import type { CallAttempts } from './call-attempts.ts';
import { classify, type Classification, type Ended } from './classify.ts';
import { selectedBy } from './plan.ts';

/** An attempt that has ended, with its classification. */
export interface FinishedAttempt {
  readonly attempt: RunningAttempt;
  readonly ended: Ended;
  readonly classification: Classification;
}

/** Recorded for an attempt that was cancelled because another one was faster. */
const CANCELLED = 'cancelled';

interface HedgedAttempt {
  readonly attempt: RunningAttempt;
  readonly isCancelled: () => boolean;
  readonly done: Promise<HedgedAttempt>;
}

/** Sends `built`; after the deployment's `hedgeAfterMs` without a valid response, sends a second attempt beside it. */
export async function runHedged(outgoing: OutgoingCall, built: BuiltAttempt): Promise<FinishedAttempt> {
  const { x, attempts } = outgoing;
  const firstWins = new FirstWins(x.res);
  const due = timerOf(attempts.plan.deployment.config.clocks.hedgeAfterMs);
  let first: HedgedAttempt;
  let isLate: boolean;
  try {
    first = run(outgoing, firstWins, built, attempts.permit, due.stop);
    isLate = await Promise.race([due.elapsed, first.done.then(() => false)]);
  } finally {
    due.stop();
  }
  const permit = new AdmissionPermit(x);
  const isWanted = isLate && !x.res.destroyed && x.res.interrupted === null;
  let second: HedgedAttempt | null;
  try {
    second = isWanted ? startSecond(outgoing, firstWins, first, permit) : null;
  } catch (bug) {
    permit.release();
    first.attempt.cancel();
    finishAttempt(outgoing, first.attempt, await first.attempt.ended); // or its slot would stay taken for ever
    throw bug;
  }
  if (second !== null) return await race(outgoing, first, second, permit);
  permit.release();
  const ended = await first.attempt.ended;
  return { attempt: first.attempt, ended, classification: finishAttempt(outgoing, first.attempt, ended) };
}

/** The second attempt; null: there is none, and the first one goes on alone, whatever is wrong with the request to another one. */
function startSecond(
  outgoing: OutgoingCall,
  firstWins: FirstWins,
  first: HedgedAttempt,
  permit: AdmissionPermit,
): HedgedAttempt | null {
  const { attempts } = outgoing;
  if (!branchPlan(attempts, permit)) return null;
  try {
    return run(
      outgoing,
      firstWins,
      buildAttempt(outgoing, selectedBy(attempts.plan), true),
      permit,
      () => undefined,
    );
  } catch (thrown) {
    attempts.plan.keepTo(deploymentOf(first.attempt), true);
    attempts.log.answers(first.attempt.start);
    if (thrown instanceof Fault) return null;
    throw thrown;
  }
}

/** Moves the plan to another deployment, if one is free and the budget allows it. */
function branchPlan({ x, plan }: CallAttempts, permit: AdmissionPermit): boolean {
  const { metrics } = plan.deployment;
  const deployment = plan.hedgeCandidate('timeout', x.active.services.clock.mono());
  if (deployment === null || !permit.tryAcquire(plan.group.name, deployment)) return false;
  if (plan.branch(deployment)) return true;
  metrics.denied();
  permit.cancel();
  return false;
}

const deploymentOf = ({ start }: RunningAttempt): LiveDeployment => start.selected.deployment;

function run(
  outgoing: OutgoingCall,
  firstWins: FirstWins,
  built: BuiltAttempt,
  permit: AdmissionPermit,
  onValid: () => void,
): HedgedAttempt {
  const { attempts, head } = outgoing;
  const { log } = attempts;
  const sink = firstWins.open(() => attempt.cancel());
  const attempt = startAttempt(outgoing, built, {
    permit,
    sink,
    head: (start) => ({
      ownHeaders: (status, upstreamMs) => {
        log.answers(start); // the head is made before it is known that this attempt wins
        return head.ownHeaders(status, upstreamMs);
      },
      onValid: () => {
        onValid();
        log.answers(start);
        firstWins.choose(sink);
      },
    }),
  });
  const hedged: HedgedAttempt = {
    attempt,
    isCancelled: () => sink.isCancelled,
    done: attempt.ended.then(() => hedged),
  };
  return hedged;
}

/** Runs both attempts to their ends: one gives the response, the other is recorded beside it. `permit`: the second's. */
async function race(
  outgoing: OutgoingCall,
  first: HedgedAttempt,
  second: HedgedAttempt,
  permit: AdmissionPermit,
): Promise<FinishedAttempt> {
  const { x, attempts } = outgoing;
  const { plan, log } = attempts;
  const sooner = await Promise.race([first.done, second.done]);
  const later = sooner === first ? second : first;
  const soonerWins =
    !sooner.isCancelled() && isFinal(classify(await sooner.attempt.ended, x.active.services.clock.now()));
  if (soonerWins) later.attempt.cancel();
  const [winner, loser] = soonerWins ? [sooner, later] : [later, sooner];
  const lost = await loser.attempt.ended;
  const { failure, upstream } = finishAttempt(outgoing, loser.attempt, lost);
  const isCancelled = upstream === 'unknown';
  attempts.replaced(loser.attempt, lost, failure?.kind ?? (isCancelled ? CANCELLED : 'refused'));
  plan.keepTo(deploymentOf(winner.attempt), !isCancelled);
  permit.release(); // the call counts once towards the total; each deployment counts its own attempt
  log.answers(winner.attempt.start);
  const ended = await winner.attempt.ended;
  const classification = finishAttempt(outgoing, winner.attempt, ended);
  const hasAnswered = ended.outcome?.unsent === null || classification.upstream === 'served';
  const endOfSecond = winner === second ? 'won' : 'lost';
  deploymentOf(second.attempt).metrics.hedged(hasAnswered ? endOfSecond : 'failed');
  return { attempt: winner.attempt, ended, classification };
}

/** No other attempt could do better: a valid response, a refusal of the request itself, a client that left. */
function isFinal({ upstream, failure }: Classification): boolean {
  return failure === null && upstream !== 'failed';
}

/** Resolves with true after `ms`, or with false on `stop`. */
function timerOf(ms: number): { readonly elapsed: Promise<boolean>; readonly stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), boundedTimer(ms));
  return {
    elapsed: promise,
    stop: () => {
      clearTimeout(timer);
      resolve(false);
    },
  };
}
