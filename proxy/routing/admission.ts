// Admission control, where limits are set: which calls go upstream now and which wait. Each model name has a short queue,
// and the queues are served round-robin, so that a flood on one name does not starve the others. Knows no HTTP; the
// caller reports when a client has left.
import { hasCapacity, type Routable } from './routable.ts';

/** What bounds all calls of this process together. */
export interface AdmissionRules {
  /** Most calls under way; infinite = no bound. */
  readonly total: number;
  /** Most calls that wait, over all names. */
  readonly mostWaiting: number;
  /** Longest wait. */
  readonly waitMs: number;
}

/** Why a call does not wait, or waits no longer. */
export type Refusal = 'queue_full' | 'queue_timeout';

/** How waiting ended. */
export type AdmissionResult<T> =
  { readonly deployment: T } | { readonly refused: Refusal } | { readonly left: true };

/** A call in a queue. */
export interface QueuedCall<T> {
  readonly result: Promise<AdmissionResult<T>>;
  /** Leaves the queue. */
  leave(): void;
}

interface Waiter {
  readonly deployments: readonly Routable[];
  readonly rules: AdmissionRules;
  /** Already counted among all calls: it waits for a deployment alone. */
  readonly isCounted: boolean;
  readonly end: (result: AdmissionResult<Routable>) => void;
}

/** The calls of this process. */
export class Admission {
  /** By model name; the name to serve next stands first. No queue is empty. */
  readonly #queues = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Reserves a slot at `deployment`, unless earlier calls wait for this name. The slot is held until
   * `DeploymentHealth.startRequest` or `cancelReservation`. Unless `isCounted`, the call counts towards the total until `release`.
   * @returns false when there is none
   */
  tryAcquire(name: string, deployment: Routable, rules: AdmissionRules, isCounted: boolean): boolean {
    return !this.#queues.has(name) && this.#reserve(deployment, rules, isCounted);
  }

  /** Queues the call under `name`. @returns null when too many wait */
  wait<T extends Routable>(
    name: string,
    deployments: readonly T[],
    rules: AdmissionRules,
    isCounted: boolean,
  ): QueuedCall<T> | null {
    if (!this.#makeSpace(name, rules.mostWaiting)) return null;
    const { promise, resolve } = Promise.withResolvers<AdmissionResult<T>>();
    const timer = setTimeout(() => this.#drop(name, waiter, { refused: 'queue_timeout' }), rules.waitMs);
    const waiter: Waiter = {
      deployments,
      rules,
      isCounted,
      end: (result) => {
        clearTimeout(timer);
        resolve(result as AdmissionResult<T>);
      },
    };
    this.#enqueue(name, waiter);
    return { result: promise, leave: () => this.#drop(name, waiter, { left: true }) };
  }

  /** Gives a reserved slot back unused. */
  cancelReservation(deployment: Routable): void {
    deployment.health.reserved -= 1;
    this.wakeWaiting();
  }

  /** A call that counted towards the total has ended. */
  release(): void {
    this.#running -= 1;
    this.wakeWaiting();
  }

  /** Capacity may have become free: calls that wait for it get it. */
  wakeWaiting(): void {
    if (this.#waiting === 0) return;
    // A name that is put back at the end comes up again, so this goes on until no call fits.
    for (const [name, queue] of this.#queues) {
      const [first] = queue;
      if (first === undefined) continue;
      const { deployments, rules, isCounted } = first;
      const deployment = deployments.find((one) => this.#reserve(one, rules, isCounted));
      if (deployment === undefined) continue;
      this.#drop(name, first, { deployment });
      if (queue.length === 0) continue;
      this.#queues.delete(name); // it was served: now the other names
      this.#queues.set(name, queue);
    }
  }

  #reserve(deployment: Routable, { total }: AdmissionRules, isCounted: boolean): boolean {
    if (!isCounted && this.#running >= total) return false;
    if (!hasCapacity(deployment)) return false;
    deployment.health.reserved += 1;
    if (!isCounted) this.#running += 1;
    return true;
  }

  #enqueue(name: string, waiter: Waiter): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) this.#queues.set(name, [waiter]);
    else queue.push(waiter);
    this.#waiting += 1;
  }

  /** With a full queue the name that has most in it loses its last one, rather than a name that has fewer. */
  #makeSpace(name: string, most: number): boolean {
    if (this.#waiting < most) return true;
    let [longest, queue]: [string, readonly Waiter[]] = [name, this.#queues.get(name) ?? []];
    const own = queue.length;
    for (const [other, its] of this.#queues) if (its.length > queue.length) [longest, queue] = [other, its];
    if (queue.length <= own + 1) return false;
    const last = queue.at(-1);
    if (last === undefined) return false;
    this.#drop(longest, last, { refused: 'queue_full' });
    return true;
  }

  #drop(name: string, waiter: Waiter, result: AdmissionResult<Routable>): void {
    const queue = this.#queues.get(name);
    const at = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(name);
    this.#waiting -= 1;
    waiter.end(result);
  }
}
