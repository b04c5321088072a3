// What the attempts of one call are made with: its failover plan, its permit and its log. Each attempt begins and is judged here,
// whatever it sends: a call, a lookup of a stored response, the handshake of a session.
import type { Protocol } from '../protocols/protocol.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { Failure } from '../routing/failover-plan.ts';
import type { InFlight } from '../routing/deployment-health.ts';
import type { Fault } from '../errors/fault.ts';
import type { AdmissionPermit } from './admission-permit.ts';
import type { AttemptLog, AttemptStart } from './attempt-log.ts';
import { classify, type Classification, type Ended } from './classify.ts';
import { timeOf, type Exchange } from './exchange.ts';
import type { CallPlan } from './plan.ts';
import { replacedAttempt } from './replaced-attempts.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { pause } from './until-client-leaves.ts';

/** An attempt that has begun and has not been judged yet. */
export interface BegunAttempt {
  readonly start: AttemptStart;
  readonly inFlight: InFlight;
  /** What was sent; absent: something in the protocol of the caller. */
  readonly call?: { readonly protocol: Protocol };
}

/** What follows an attempt that failed. */
type Move =
  | { readonly is: 'over' }
  /** `left`: why nobody waits for it any more, where the client has left meanwhile or the proxy stops. */
  | { readonly is: 'next'; readonly left: Fault | null };

const OVER: Move = { is: 'over' };
/** An attempt that says nothing about its upstream, and is the last. */
const NO_FAULT_OF_UPSTREAM: Classification = { upstream: 'unknown', failure: null };

/** Of one call, from its first attempt on. */
export class CallAttempts {
  readonly x: Exchange;
  readonly plan: CallPlan;
  readonly permit: AdmissionPermit;
  readonly log: AttemptLog;
  readonly #priced: Pick<ParsedRequest, 'endpoint' | 'billable'>;
  /** Monotonic ms: `total_timeout` runs from there. */
  readonly #startedAt: number;

  /** @param priced what the cost of an attempt follows from */
  constructor(
    x: Exchange,
    priced: Pick<ParsedRequest, 'endpoint' | 'billable'>,
    plan: CallPlan,
    permit: AdmissionPermit,
    log: AttemptLog,
  ) {
    this.x = x;
    this.plan = plan;
    this.permit = permit;
    this.log = log;
    this.#priced = priced;
    this.#startedAt = x.active.services.clock.mono();
  }

  /**
   * Begins one at `selected`: it is logged, and uses the slot that `permit` holds.
   * @param firstByteMs what its client is told of that clock; 0 = nothing
   */
  begin(selected: SelectedDeployment, firstByteMs = 0, permit = this.permit): BegunAttempt {
    const { x, plan } = this;
    const { retries, fallbacks } = plan;
    const sentAt = x.active.services.clock.mono();
    const start = { selected, sentAt, sentMs: timeOf(x, sentAt), firstByteMs, retries, fallbacks };
    this.log.begun(start);
    return { start, inFlight: permit.use(selected.deployment, sentAt) };
  }

  /** What is left of the total timeout when an attempt begins, ms. @param totalMs 0 = there is none; so is what is left */
  timeLeftMs(totalMs: number, { sentAt }: AttemptStart): number {
    return totalMs === 0 ? 0 : Math.max(1, totalMs - (sentAt - this.#startedAt));
  }

  /** The end of one that says nothing about the health of its deployment. */
  abandon({ inFlight }: BegunAttempt): void {
    inFlight.abandoned();
    this.permit.attemptEnded();
  }

  /**
   * Classifies the end of one and updates the health of its deployment, which cools down when it has failed too often and
   * others can take its calls. @param isOurs its end has been caused here
   */
  finish(attempt: BegunAttempt, ended: Ended, isOurs = false): Classification {
    const { inFlight, start } = attempt;
    let isReported = false;
    try {
      const { clock } = this.x.active.services;
      const classification = isOurs ? NO_FAULT_OF_UPSTREAM : classify(ended, clock.now());
      const { outcome } = ended;
      if (outcome !== undefined && outcome.readOn !== null)
        start.selected.deployment.metrics.detachedStreamEnded(outcome.readOn);
      if (classification.upstream === 'failed') {
        this.#reportFailure(attempt, classification);
        isReported = true;
      } else if (classification.upstream === 'served') {
        const at = outcome?.firstByteAt ?? null;
        inFlight.served(clock.mono(), at === null ? null : at - start.sentAt);
        isReported = true;
      }
      return classification;
    } finally {
      if (!isReported) inFlight.abandoned(); // nothing was learnt, or a bug: the slot becomes free either way
      this.permit.attemptEnded();
    }
  }

  /** Records that another attempt gave the response instead. @param error why, in one word */
  replaced({ start, call }: BegunAttempt, ended: Ended, error: string): void {
    const { endpoint, billable } = this.#priced;
    const { protocol } = call ?? endpoint;
    this.log.replaced(start, replacedAttempt(this.x, start, ended, error, { endpoint, billable, protocol }));
  }

  /**
   * Moves the plan on after an attempt that failed, where the plan, the retry budget and the total timeout allow another one:
   * then the failed one is recorded, the pause before the next one is over, and that one has its slot.
   */
  async moveOn(attempt: BegunAttempt, ended: Ended, failure: Failure): Promise<Move> {
    const { x, plan } = this;
    const { metrics, config } = attempt.start.selected.deployment;
    const { clock, metrics: all } = x.active.services;
    const { mono } = clock;
    const step = plan.next(failure, mono());
    if (step === null && plan.denied) metrics.denied();
    if (step === null || this.#isLateAt(mono() + step.pauseMs)) return OVER;
    this.replaced(attempt, ended, failure.kind);
    if (step.how === 'retry') metrics.retried(failure.kind);
    else all.fellBack(config.group, plan.deployment.config.group);
    const left = step.pauseMs > 0 ? await pause(x.res, step.pauseMs, 'its call was to be tried again') : null;
    await this.permit.acquire(plan);
    return { is: 'next', left };
  }

  #isLateAt(at: number): boolean {
    const { totalMs } = this.plan.deployment.config.clocks;
    return totalMs > 0 && at - this.#startedAt >= totalMs;
  }

  #reportFailure({ start, inFlight }: BegunAttempt, { failure }: Classification): void {
    const { services, snapshot } = this.x.active;
    const { deployment } = start.selected;
    const { config, metrics } = deployment;
    const now = services.clock.mono();
    const allowedFails = this.plan.othersServe(now, deployment) ? snapshot.routing.allowedFails : Infinity;
    const cooldownMs = failure?.kind === 'rate_limit' ? (failure.retryAfterMs ?? config.cooldownMs) : null;
    if (inFlight.failed(now, { allowedFails, cooldownMs: config.cooldownMs }, cooldownMs)) {
      metrics.cooldownStarted();
      const about = { model: config.group, model_id: config.id, upstream: config.apiBase };
      services.log.warn(about, 'deployment cooling down');
    }
  }
}
