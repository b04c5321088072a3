// What a call holds of the limits that are set (`max_parallel_requests`): one slot of the proxy's total and one at a
// deployment. It is acquired before the begin entry is written, moves with each attempt, and is released at the end.
import { Fault } from '../errors/fault.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { Admission, QueuedCall, Refusal } from '../routing/admission.ts';
import type { InFlight } from '../routing/deployment-health.ts';
import { retryAfterSeconds } from '../routing/backoff.ts';
import type { Exchange } from './exchange.ts';
import type { CallPlan } from './plan.ts';
import { untilClientLeaves } from './until-client-leaves.ts';

/** @throws Fault overloaded when the event loop lags, and has lagged for a while. Before anything is read. */
export function checkLag(x: Exchange): void {
  const { services, snapshot } = x.active;
  if (services.loopLag.standingMs <= snapshot.overload.maxLagMs) return;
  services.unrouted.refused('event_loop_lag');
  throw overloaded(x, 'The proxy is overloaded at the moment.');
}

const AT_ONCE = Promise.resolve();

/** Of one call. Call `release` at its end, whatever happened; it may be called again. */
export class AdmissionPermit {
  readonly #x: Exchange;
  readonly #admission: Admission;
  /** The deployment at which a slot is reserved and not used yet. */
  #held: LiveDeployment | null = null;
  #isCounted = false;
  #waitedMs = 0;

  constructor(x: Exchange) {
    this.#x = x;
    this.#admission = x.active.services.admission;
  }

  /**
   * Reserves a slot at the plan's current deployment, else at another one of its group, else at a fallback; waits for
   * one when all are full. Does nothing where no limits are set. @throws Fault overloaded, client_gone, shutting_down
   */
  acquire(plan: CallPlan): Promise<void> {
    return this.#x.active.snapshot.overload.isLimited ? this.#acquire(plan) : AT_ONCE;
  }

  async #acquire(plan: CallPlan): Promise<void> {
    const { services } = this.#x.active;
    const refused = this.#tryNow(plan) ? null : await this.#wait(plan);
    if (refused === null) return;
    const from = plan.deployment;
    if (plan.overflow(services.clock.mono()) && this.#tryNow(plan)) {
      services.metrics.fellBack(from.config.group, plan.deployment.config.group);
      return;
    }
    from.metrics.refused(refused);
    throw overloaded(this.#x, 'The model is busy, and too many calls wait for it already.');
  }

  /** Reserves a slot at the first of `deployments` with capacity, without waiting. @returns that deployment, or null */
  tryAcquire(name: string, deployments: readonly LiveDeployment[]): LiveDeployment | null {
    const { snapshot } = this.#x.active;
    if (!snapshot.overload.isLimited) return deployments[0] ?? null;
    this.#held = this.#admission.tryAcquire(name, deployments, snapshot.overload, this.#isCounted);
    if (this.#held !== null) this.#isCounted = true;
    return this.#held;
  }

  /** How long the call has waited so far. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** An attempt uses the reserved slot: from now on it counts as in flight at the deployment. */
  use(deployment: LiveDeployment, nowMs: number): InFlight {
    if (this.#held !== null) this.#held.health.reserved -= 1;
    this.#held = null;
    return deployment.health.startRequest(nowMs);
  }

  /** An attempt has ended: a waiting call may get its slot. */
  attemptEnded(): void {
    this.#admission.wakeWaiting();
  }

  /** The call is over. */
  release(): void {
    if (this.#held !== null) this.#admission.cancelReservation(this.#held);
    this.#held = null;
    if (this.#isCounted) this.#admission.release();
    this.#isCounted = false;
  }

  #tryNow(plan: CallPlan): boolean {
    const { services, snapshot } = this.#x.active;
    const deployments = plan.candidates(services.clock.mono());
    const deployment = this.#admission.tryAcquire(
      plan.group.name,
      deployments,
      snapshot.overload,
      this.#isCounted,
    );
    if (deployment !== null) this.#hold(plan, deployment);
    return deployment !== null;
  }

  async #wait(plan: CallPlan): Promise<Refusal | null> {
    const { services, snapshot } = this.#x.active;
    const deployments = plan.candidates(services.clock.mono());
    const queued = this.#admission.wait(plan.group.name, deployments, snapshot.overload, this.#isCounted);
    if (queued === null) return 'queue_full';
    plan.deployment.metrics.queued();
    const since = services.clock.mono();
    // A client that leaves is dequeued at once, so that no slot is given to a call that is gone.
    const waiting = { done: queued.result, abandon: () => queued.leave() };
    const end = await untilClientLeaves(this.#x.res, waiting, 'its call waited');
    this.#waitedMs += services.clock.mono() - since;
    if (end.kind === 'left') {
      await this.#holdLateResult(queued.result);
      throw end.why;
    }
    if ('refused' in end.value) return end.value.refused;
    if ('deployment' in end.value) this.#hold(plan, end.value.deployment);
    return null;
  }

  /** A slot may have been granted in the instant before the client left: hold it, so that `release` gives it back. */
  async #holdLateResult(result: QueuedCall<LiveDeployment>['result']): Promise<void> {
    const end = await result;
    if (!('deployment' in end)) return;
    this.#held = end.deployment;
    this.#isCounted = true;
  }

  #hold(plan: CallPlan, deployment: LiveDeployment): void {
    this.#held = deployment;
    this.#isCounted = true;
    plan.moveTo(deployment);
  }
}

function overloaded(x: Exchange, what: string): Fault {
  const seconds = retryAfterSeconds(x.active.services.random);
  return new Fault('overloaded', `${what} Send the request again in ${seconds} s.`, {
    headers: [['retry-after', String(seconds)]],
  });
}
