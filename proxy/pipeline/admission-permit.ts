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

/** What the call holds. One that is counted holds a slot of the proxy's total. */
type Held =
  | { readonly is: 'nothing' }
  | { readonly is: 'counted' }
  /** And a slot at a deployment, which no attempt uses yet. */
  | { readonly is: 'reserving'; readonly deployment: LiveDeployment };

const NOTHING: Held = { is: 'nothing' };
const COUNTED: Held = { is: 'counted' };

/** Of one call. Call `release` at its end, whatever happened; it may be called again. */
export class AdmissionPermit {
  readonly #x: Exchange;
  readonly #admission: Admission;
  #held: Held = NOTHING;
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

  /** Reserves a slot at `deployment` without waiting; `cancel` it where no attempt follows. @returns false when there is none */
  tryAcquire(name: string, deployment: LiveDeployment): boolean {
    const { overload } = this.#x.active.snapshot;
    if (!overload.isLimited) return true;
    const isFree = this.#admission.tryAcquire(name, deployment, overload, this.#isCounted);
    if (isFree) this.#hold(deployment);
    return isFree;
  }

  /** How long the call has waited so far. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** An attempt uses the reserved slot: from now on it counts as in flight at the deployment. */
  use(deployment: LiveDeployment, nowMs: number): InFlight {
    if (this.#held.is === 'reserving') {
      this.#held.deployment.health.reserved -= 1;
      this.#held = COUNTED;
    }
    return deployment.health.startRequest(nowMs);
  }

  /** An attempt has ended: a waiting call may get its slot. */
  attemptEnded(): void {
    this.#admission.wakeWaiting();
  }

  /** No attempt uses the reserved slot: it goes back. */
  cancel(): void {
    if (this.#held.is !== 'reserving') return;
    const { deployment } = this.#held;
    this.#held = COUNTED;
    this.#admission.cancelReservation(deployment);
  }

  /** The call is over. */
  release(): void {
    this.cancel();
    if (this.#held.is === 'nothing') return;
    this.#held = NOTHING;
    this.#admission.release();
  }

  get #isCounted(): boolean {
    return this.#held.is !== 'nothing';
  }

  #tryNow(plan: CallPlan): boolean {
    const deployment = plan.openCandidate(this.#x.active.services.clock.mono());
    if (deployment === null || !this.tryAcquire(plan.group.name, deployment)) return false;
    plan.moveTo(deployment);
    return true;
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
    if ('deployment' in end.value) {
      this.#hold(end.value.deployment);
      plan.moveTo(end.value.deployment);
    }
    return null;
  }

  /** A slot may have been granted in the instant before the client left: hold it, so that `release` gives it back. */
  async #holdLateResult(result: QueuedCall<LiveDeployment>['result']): Promise<void> {
    const end = await result;
    if ('deployment' in end) this.#hold(end.deployment);
  }

  /** A slot that it held before goes back. */
  #hold(deployment: LiveDeployment): void {
    this.cancel();
    this.#held = { is: 'reserving', deployment };
  }
}

function overloaded(x: Exchange, what: string): Fault {
  const seconds = retryAfterSeconds(x.active.services.random);
  return new Fault('overloaded', `${what} Send the request again in ${seconds} s.`, {
    headers: [['retry-after', String(seconds)]],
  });
}
