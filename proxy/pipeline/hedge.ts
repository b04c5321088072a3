// `hedge_after`: a second attempt beside one from which nothing valid has come yet. The first valid answer wins and the
// other attempt is cancelled at once; both stand in the record. A hedge is never waited for: without a free entry, a
// free place or budget left the first attempt simply goes on alone.
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { FirstWins } from '../relay/first-wins.ts';
import { AdmissionPermit } from './admission-permit.ts';
import { judge, logReplaced, rebuild, startAttempt, type Attempt, type AttemptContext } from './attempt.ts';
import { classify, type Classification, type Ended } from './classify.ts';

/** The attempt that is the answer for now: it has answered, or nobody beside it has. */
export interface Judged {
  readonly attempt: Attempt;
  readonly ended: Ended;
  readonly found: Classification;
}

/** In the record of an attempt that another one outran. */
const CANCELLED = 'cancelled';

interface Runner {
  readonly attempt: Attempt;
  readonly isCancelled: () => boolean;
  readonly done: Promise<Runner>;
}

/** Sends `call`, and after `hedgeAfterMs` of its deployment without a valid answer another one beside it. */
export async function hedged(context: AttemptContext, call: UpstreamRequest): Promise<Judged> {
  const { x, plan } = context;
  const firstWins = new FirstWins(x.res);
  const due = alarm(plan.deployment.config.clocks.hedgeAfterMs);
  const first = run(context, firstWins, call, context.permit, due.stop);
  const isLate = await Promise.race([due.rang, first.done.then(() => false)]);
  due.stop();
  const permit = new AdmissionPermit(x);
  const isWanted = isLate && !x.res.destroyed && x.res.interrupted === null;
  if (!isWanted || !hasBranched(context, permit)) {
    permit.release();
    const ended = await first.attempt.ended;
    return { attempt: first.attempt, ended, found: judge(context, first.attempt, ended) };
  }
  const second = run(context, firstWins, rebuild(context, true), permit, () => undefined);
  return await race(context, first, second, permit);
}

/** Moves on to another deployment, if there is a free one and the budget allows it. */
function hasBranched({ x, plan }: AttemptContext, permit: AdmissionPermit): boolean {
  const { metrics } = plan.deployment;
  const entry = permit.acquireFree(plan.group.name, plan.beside('timeout', x.active.services.clock.mono()));
  if (entry === null) return false;
  const isAllowed = plan.branch(entry);
  if (!isAllowed) metrics.denied();
  return isAllowed;
}

function run(
  context: AttemptContext,
  firstWins: FirstWins,
  call: UpstreamRequest,
  permit: AdmissionPermit,
  onValid: () => void,
): Runner {
  const { log, head } = context;
  const sink = firstWins.open();
  const attempt = startAttempt(context, call, {
    permit,
    sink,
    head: (start) => ({
      ownHeaders: (status, upstreamMs) => head.ownHeaders(status, upstreamMs),
      onValid: () => {
        onValid();
        log.answers(start);
        firstWins.choose(sink);
      },
    }),
  });
  sink.stop = () => attempt.cancel();
  const runner: Runner = {
    attempt,
    isCancelled: () => sink.isCancelled,
    done: attempt.ended.then(() => runner),
  };
  return runner;
}

/** Two attempts to the end of both: one is the answer, the other is recorded beside it. `permit`: that of the second. */
async function race(
  context: AttemptContext,
  first: Runner,
  second: Runner,
  permit: AdmissionPermit,
): Promise<Judged> {
  const { x, plan, log } = context;
  const sooner = await Promise.race([first.done, second.done]);
  const later = sooner === first ? second : first;
  const isAnswer =
    !sooner.isCancelled() && isFinal(classify(await sooner.attempt.ended, x.active.services.clock.now()));
  if (isAnswer) later.attempt.cancel();
  const [winner, loser] = isAnswer ? [sooner, later] : [later, sooner];
  const lost = await loser.attempt.ended;
  const { failure, upstream } = judge(context, loser.attempt, lost);
  const isCancelled = upstream === 'unknown';
  logReplaced(context, loser.attempt, lost, failure?.kind ?? (isCancelled ? CANCELLED : 'refused'));
  plan.keepTo(winner.attempt.entry, !isCancelled);
  permit.release(); // one call counts once; the attempts at both deployments are counted by themselves
  log.answers(winner.attempt.start);
  const ended = await winner.attempt.ended;
  const found = judge(context, winner.attempt, ended);
  const hasAnswered = ended.outcome?.unsent === null || found.upstream === 'served';
  const endOfSecond = winner === second ? 'won' : 'lost';
  second.attempt.entry.metrics.hedged(hasAnswered ? endOfSecond : 'failed');
  return { attempt: winner.attempt, ended, found };
}

/** Nobody else could do better: an answer, a refusal that is about the request, a client that left. */
function isFinal({ upstream, failure }: Classification): boolean {
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
