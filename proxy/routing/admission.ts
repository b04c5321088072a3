// Who may go to an upstream now and who waits for it, where limits are set: a short queue for each name, served in turn,
// so that a flood on one name costs the others no more than their turn. Knows no HTTP; whoever asks also tells when
// somebody has left.
import { hasRoom, type Routable } from './routable.ts';

/** What bounds all calls of this process together. */
export interface AdmissionRules {
  /** Most calls under way; infinite = no bound. */
  readonly total: number;
  /** Most calls that wait, over all names. */
  readonly mostWaiting: number;
  /** Longest wait. */
  readonly waitMs: number;
}

export type Refusal = 'queue_full' | 'queue_timeout';

/** What came of waiting. */
export type Turn<T> = { readonly entry: T } | { readonly refused: Refusal } | { readonly left: true };

/** A call in a queue. */
export interface Waiting<T> {
  readonly turn: Promise<Turn<T>>;
  /** The call needs no turn any more. */
  leave(): void;
}

interface Waiter {
  readonly entries: readonly Routable[];
  readonly rules: AdmissionRules;
  /** Already counted among all calls: it waits for an entry alone. */
  readonly isCounted: boolean;
  readonly end: (turn: Turn<Routable>) => void;
}

/** The calls of this process. */
export class Admission {
  /** By name; the name whose turn it is stands first. None is empty. */
  readonly #queues = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The first of `entries` that has room, if nobody waits who was there before. The entry holds a place for the call
   * until `EntryState.visit` or `giveBack`; unless `isCounted`, the call counts as one of all until `leave`.
   */
  take<T extends Routable>(
    name: string,
    entries: readonly T[],
    rules: AdmissionRules,
    isCounted: boolean,
  ): T | null {
    if (this.#queues.has(name)) return null;
    return this.#fit(entries, rules, isCounted);
  }

  /** Waits for a place, in the queue of `name`. @returns null when too many wait */
  wait<T extends Routable>(
    name: string,
    entries: readonly T[],
    rules: AdmissionRules,
    isCounted: boolean,
  ): Waiting<T> | null {
    if (!this.#makeRoom(name, rules.mostWaiting)) return null;
    const { promise, resolve } = Promise.withResolvers<Turn<T>>();
    const timer = setTimeout(() => this.#drop(name, waiter, { refused: 'queue_timeout' }), rules.waitMs);
    const waiter: Waiter = {
      entries,
      rules,
      isCounted,
      end: (turn) => {
        clearTimeout(timer);
        resolve(turn as Turn<T>);
      },
    };
    this.#enqueue(name, waiter);
    return { turn: promise, leave: () => this.#drop(name, waiter, { left: true }) };
  }

  /** A call that held a place without using it. */
  giveBack(entry: Routable): void {
    entry.health.reserved -= 1;
    this.freed();
  }

  /** A call that counted among all has ended. */
  leave(): void {
    this.#running -= 1;
    this.freed();
  }

  /** An entry may have room: whoever waits for it gets it. */
  freed(): void {
    if (this.#waiting === 0) return;
    // A name that is put back at the end is met again, so this goes on until nobody fits.
    for (const [name, queue] of this.#queues) {
      const [first] = queue as [Waiter];
      const entry = this.#fit(first.entries, first.rules, first.isCounted);
      if (entry === null) continue;
      this.#drop(name, first, { entry });
      if (queue.length === 0) continue;
      this.#queues.delete(name); // it had its turn: now the others
      this.#queues.set(name, queue);
    }
  }

  #fit<T extends Routable>(entries: readonly T[], { total }: AdmissionRules, isCounted: boolean): T | null {
    if (!isCounted && this.#running >= total) return null;
    const entry = entries.find(hasRoom);
    if (entry === undefined) return null;
    entry.health.reserved += 1;
    if (!isCounted) this.#running += 1;
    return entry;
  }

  #enqueue(name: string, waiter: Waiter): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) this.#queues.set(name, [waiter]);
    else queue.push(waiter);
    this.#waiting += 1;
  }

  /** With a full queue the name that has most in it loses its last one, rather than a name that has fewer. */
  #makeRoom(name: string, most: number): boolean {
    if (this.#waiting < most) return true;
    let [longest, queue]: [string, readonly Waiter[]] = [name, this.#queues.get(name) ?? []];
    const own = queue.length;
    for (const [other, its] of this.#queues) if (its.length > queue.length) [longest, queue] = [other, its];
    if (queue.length <= own + 1) return false;
    this.#drop(longest, queue.at(-1) as Waiter, { refused: 'queue_full' });
    return true;
  }

  #drop(name: string, waiter: Waiter, turn: Turn<Routable>): void {
    const queue = this.#queues.get(name);
    const at = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(name);
    this.#waiting -= 1;
    waiter.end(turn);
  }
}
