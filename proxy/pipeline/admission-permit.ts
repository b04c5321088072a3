// What a call holds of the limits that are set (`max_parallel_requests`): a place among all calls and one at a deployment.
// It is acquired before the begin entry is written, moves when an attempt goes elsewhere, and is released at the end.
import { Fault } from '../errors/fault.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { Admission, Refusal } from '../routing/admission.ts';
import type { InFlight } from '../routing/deployment-health.ts';
import { retryAfter } from '../routing/backoff.ts';
import type { Exchange } from './exchange.ts';
import type { CallPlan } from './plan.ts';
import { untilClientLeaves } from './until-client-leaves.ts';

/** @throws Fault overloaded when the event loop lags, and has lagged for a while. Before anything is read. */
export function checkLag(x: Exchange): void {
  const { services, snapshot } = x.active;
  if (services.loopLag.standingMs <= snapshot.overload.maxLagMs) return;
  services.unrouted.refused('event_loop_lag');
  throw overloaded(x, 'The proxy has more to do than it can at the moment.');
}

export class AdmissionPermit {
  readonly #x: Exchange;
  readonly #admission: Admission;
  /** Holds a place at this deployment, not used yet. */
  #held: LiveDeployment | null = null;
  #isCounted = false;
  #waitedMs = 0;

  constructor(x: Exchange) {
    this.#x = x;
    this.#admission = x.active.services.admission;
  }

  /**
   * Takes a place at the deployment at which `plan` stands, or at another of its group, or of a fallback, which has room;
   * waits for one when none has. Does nothing where no limits are set. @throws Fault overloaded, client_gone, shutting_down
   */
  async acquire(plan: CallPlan): Promise<void> {
    const { services, snapshot } = this.#x.active;
    if (!snapshot.overload.isLimited) return;
    const refused = this.#tryNow(plan) ? null : await this.#wait(plan);
    if (refused === null) return;
    const from = plan.deployment;
    if (plan.overflow(services.clock.mono()) && this.#tryNow(plan)) {
      services.metrics.fellBack(from.config.group, plan.deployment.config.group);
      return;
    }
    from.metrics.refused(refused);
    throw overloaded(this.#x, 'The model is busy, and so many calls wait for it already.');
  }

  /** Takes a place at the first of `entries` that has room, or none: nobody waits. @returns the one that was taken */
  acquireFree(name: string, entries: readonly LiveDeployment[]): LiveDeployment | null {
    const { snapshot } = this.#x.active;
    if (!snapshot.overload.isLimited) return entries[0] ?? null;
    this.#held = this.#admission.take(name, entries, snapshot.overload, this.#isCounted);
    if (this.#held !== null) this.#isCounted = true;
    return this.#held;
  }

  /** How long the call has waited so far. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** An attempt uses the place: from now on it counts as under way at the deployment. */
  use(deployment: LiveDeployment, nowMs: number): InFlight {
    if (this.#held !== null) this.#held.health.reserved -= 1;
    this.#held = null;
    return deployment.health.startRequest(nowMs);
  }

  /** An attempt is over: the deployment may have room for another call. */
  used(): void {
    this.#admission.freed();
  }

  /** The call is over. */
  release(): void {
    if (this.#held !== null) this.#admission.giveBack(this.#held);
    this.#held = null;
    if (this.#isCounted) this.#admission.leave();
    this.#isCounted = false;
  }

  #tryNow(plan: CallPlan): boolean {
    const { services, snapshot } = this.#x.active;
    const entries = plan.open(services.clock.mono());
    const entry = this.#admission.take(plan.group.name, entries, snapshot.overload, this.#isCounted);
    if (entry !== null) this.#hold(plan, entry);
    return entry !== null;
  }

  async #wait(plan: CallPlan): Promise<Refusal | null> {
    const { services, snapshot } = this.#x.active;
    const entries = plan.open(services.clock.mono());
    const waiting = this.#admission.wait(plan.group.name, entries, snapshot.overload, this.#isCounted);
    if (waiting === null) return 'queue_full';
    plan.deployment.metrics.queued();
    const since = services.clock.mono();
    // Whoever leaves leaves the queue in the same instant: its place must not be given to nobody.
    const turn = { done: waiting.turn, abandon: () => waiting.leave() };
    const end = await untilClientLeaves(this.#x.res, turn, 'its call waited');
    this.#waitedMs += services.clock.mono() - since;
    if (end.kind === 'left') {
      await this.#giveBackTurn(waiting.turn);
      throw end.why;
    }
    if ('refused' in end.value) return end.value.refused;
    if ('entry' in end.value) this.#hold(plan, end.value.entry);
    return null;
  }

  /** The turn may have come in the instant before the client left: then the place is taken, and given back by `release`. */
  async #giveBackTurn(turn: Promise<{ readonly entry: LiveDeployment } | object>): Promise<void> {
    const end = await turn;
    if (!('entry' in end)) return;
    this.#held = end.entry;
    this.#isCounted = true;
  }

  #hold(plan: CallPlan, deployment: LiveDeployment): void {
    this.#held = deployment;
    this.#isCounted = true;
    plan.moveTo(deployment);
  }
}

function overloaded(x: Exchange, what: string): Fault {
  const seconds = retryAfter(x.active.services.random);
  return new Fault('overloaded', `${what} Send the request again in ${seconds} s.`, {
    headers: [['retry-after', String(seconds)]],
  });
}
