// A call's place among all calls under way, where limits are set (`max_parallel_requests`): taken before the begin entry
// is written, moved when an attempt goes elsewhere, given back at the end. Waits, but neither for a client that has gone
// nor for a proxy that ends.
import { Fault } from '../errors/fault.ts';
import type { Reply } from '../http/reply.ts';
import type { Target } from '../live.ts';
import type { Refusal, Turn, Waiting } from '../routing/admission.ts';
import { retryAfter } from '../routing/pause.ts';
import type { Visit } from '../routing/entry-state.ts';
import type { Exchange } from './exchange.ts';
import type { Trip } from './plan.ts';

/** @throws Fault overloaded when the event loop lags, and has lagged for a while. Before anything is read. */
export function checkLag(x: Exchange): void {
  const { house, snapshot } = x.live;
  if (house.lag.standingMs <= snapshot.overload.maxLagMs) return;
  house.unrouted.refused('event_loop_lag');
  throw overloaded(x, 'The proxy has more to do than it can at the moment.');
}

export class Seat {
  readonly #x: Exchange;
  /** Holds a place at this entry, not used yet. */
  #held: Target | null = null;
  #isCounted = false;
  #waitedMs = 0;

  constructor(x: Exchange) {
    this.#x = x;
  }

  /**
   * Takes a place at the entry at which `trip` stands, or at another of its name, or of a fallback, which has room; waits
   * for one when none has. Does nothing where no limits are set. @throws Fault overloaded, client_gone, shutting_down
   */
  async take(trip: Trip): Promise<void> {
    const { house, snapshot } = this.#x.live;
    if (!snapshot.overload.isLimited) return;
    const refused = this.#tryNow(trip) ? null : await this.#wait(trip);
    if (refused === null) return;
    const from = trip.entry;
    if (trip.overflow(house.clock.mono()) && this.#tryNow(trip)) {
      house.metrics.fellBack(from.route.group, trip.entry.route.group);
      return;
    }
    from.metrics.refused(refused);
    throw overloaded(this.#x, 'The model is busy, and so many calls wait for it already.');
  }

  /** Takes a place at the first of `entries` that has room, or none: nobody waits. @returns the entry */
  takeFree(name: string, entries: readonly Target[]): Target | null {
    const { house, snapshot } = this.#x.live;
    if (!snapshot.overload.isLimited) return entries[0] ?? null;
    this.#held = house.admission.take(name, entries, snapshot.overload, this.#isCounted);
    if (this.#held !== null) this.#isCounted = true;
    return this.#held;
  }

  /** How long the call has waited so far. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** The call goes to the entry. */
  visit(entry: Target, nowMs: number): Visit {
    if (this.#held !== null) this.#held.state.reserved -= 1;
    this.#held = null;
    return entry.state.visit(nowMs);
  }

  /** The visit is over. */
  left(): void {
    this.#x.live.house.admission.freed();
  }

  /** The call is over. */
  leave(): void {
    const { admission } = this.#x.live.house;
    if (this.#held !== null) admission.giveBack(this.#held);
    this.#held = null;
    if (this.#isCounted) admission.leave();
    this.#isCounted = false;
  }

  #tryNow(trip: Trip): boolean {
    const { house, snapshot } = this.#x.live;
    const entries = trip.open(house.clock.mono());
    const entry = house.admission.take(trip.leg.name, entries, snapshot.overload, this.#isCounted);
    if (entry !== null) this.#sit(trip, entry);
    return entry !== null;
  }

  async #wait(trip: Trip): Promise<Refusal | null> {
    const { house, snapshot } = this.#x.live;
    const entries = trip.open(house.clock.mono());
    const waiting = house.admission.wait(trip.leg.name, entries, snapshot.overload, this.#isCounted);
    if (waiting === null) return 'queue_full';
    trip.entry.metrics.queued();
    const since = house.clock.mono();
    const turn = await turnOf(waiting, this.#x.res);
    this.#waitedMs += house.clock.mono() - since;
    if ('refused' in turn) return turn.refused;
    if ('entry' in turn) this.#sit(trip, turn.entry);
    else throw this.#x.res.interrupted ?? new Fault('client_gone', 'The client left while its call waited.');
    return null;
  }

  #sit(trip: Trip, entry: Target): void {
    this.#held = entry;
    this.#isCounted = true;
    trip.moveTo(entry);
  }
}

async function turnOf(waiting: Waiting<Target>, reply: Reply): Promise<Turn<Target>> {
  const leave = (): void => waiting.leave();
  reply.watcher = { onClose: leave, onDrain: () => undefined, onInterrupt: leave };
  if (reply.destroyed || reply.interrupted !== null) leave();
  try {
    return await waiting.turn;
  } finally {
    reply.watcher = null;
  }
}

function overloaded(x: Exchange, what: string): Fault {
  const seconds = retryAfter(x.live.house.random);
  return new Fault('overloaded', `${what} Send the request again in ${seconds} s.`, {
    headers: [['retry-after', String(seconds)]],
  });
}
