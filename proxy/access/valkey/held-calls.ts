// The calls that this server has let in: which counters hold each, until the shared ones may hear what it did cost, and what they
// are told of it on the way.
//
//   hold --> running --settle--> settled --journaled--> told what it did cost
//   Its places are free from `release` on, which comes before `settle` or after it.
import { costsAnything, type CounterName, type ReservingCall, type SettledCall } from '../counters.ts';
import { DenseMap } from '../../base/dense-map.ts';
import { partsOf } from './amounts.ts';
import { nameOf, type JsonTexts } from './json-texts.ts';
import { operation, type Operation, type PendingOperations } from './pending-operations.ts';
import { placesOf, reserveText } from './reserve-arguments.ts';

/**
 * Which counters hold a call. `both`: it was let in alone, and the shared ones hold it too, as soon as they have heard what waits for
 * them.
 */
type Holder = 'shared' | 'alone' | 'both';

interface HeldCall {
  readonly call: ReservingCall;
  by: Holder;
  /** Its places; an operation: they are free, and this tells of it unless the end of the call says so first. */
  places: 'taken' | 'free' | Operation;
}

/** A settled call whose row is not in the journal yet. */
interface Unjournaled {
  readonly call: SettledCall;
  /** What it holds; absent where it never reserved. */
  readonly held: HeldCall | undefined;
}

interface HeldCallsOptions {
  /** This process, as the others know it. */
  readonly server: string;
  readonly texts: JsonTexts;
  readonly pending: PendingOperations;
}

export class HeldCalls {
  readonly #options: HeldCallsOptions;
  readonly #running = new DenseMap<string, HeldCall>();
  readonly #settled = new DenseMap<string, Unjournaled>();

  constructor(options: HeldCallsOptions) {
    this.#options = options;
  }

  /** Of calls that are not settled. */
  get size(): number {
    return this.#running.size;
  }

  /** Of a call that is not settled; null = it was not let in. */
  holderOf(requestId: string): Holder | null {
    return this.#running.get(requestId)?.by ?? null;
  }

  /** It was let in; the first time counts. */
  hold(call: ReservingCall, by: 'shared' | 'alone'): void {
    if (this.#running.has(call.requestId)) return;
    this.#running.set(call.requestId, { call, by, places: 'taken' });
  }

  /** Its places are free. @returns who held it; null = nobody, or they were free before */
  release(requestId: string): Holder | null {
    const held = this.#running.get(requestId) ?? this.#settled.get(requestId)?.held;
    if (held?.places !== 'taken') return null;
    const places = held.by === 'alone' ? [] : placesOf(held.call);
    held.places = places.length === 0 ? 'free' : this.#options.pending.add(operation('f', requestId, places));
    return held.by;
  }

  settle(call: SettledCall): void {
    const held = this.#running.get(call.requestId);
    this.#running.delete(call.requestId);
    if (held !== undefined || costsAnything(call)) this.#settled.set(call.requestId, { call, held });
  }

  /** Its row survives this process: the shared counters are told what it did cost. */
  journaled(requestId: string): void {
    const settled = this.#settled.get(requestId);
    if (settled === undefined) return;
    this.#settled.delete(requestId);
    const { call, held } = settled;
    let amounts = '';
    for (const one of call.spent) {
      const [hi, lo] = partsOf(one.pico);
      amounts += `${amounts === '' ? '' : ','}[${this.#options.texts.name(one)},${hi},${lo}]`;
    }
    this.#options.pending.addCost(call, amounts);
    if (typeof held?.places === 'object') held.places.text = ''; // an end frees places as well
  }

  /** What running calls have reserved of a counter that the shared counters alone hold. */
  reserved(counter: CounterName): bigint {
    const name = nameOf(counter);
    let pico = 0n;
    for (const { call, by } of this.#running.values())
      if (by === 'shared' && call.budgets.some((one) => nameOf(one) === name)) pico += call.pico;
    return pico;
  }

  /** The same of places. */
  places(limit: string): number {
    let count = 0;
    for (const { call, by, places } of this.#running.values())
      if (by === 'shared' && places === 'taken' && placesOf(call).includes(limit)) count += 1;
    return count;
  }

  /** The budgets in which calls hold something. */
  get budgets(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { call } of this.#running.values()) for (const { budget } of call.budgets) names.add(budget);
    return names;
  }

  /** What ended calls did cost of which a counter has not heard. */
  untold(counter: CounterName): bigint {
    return [...this.untoldIn(nameOf(counter)).values()].reduce((sum, pico) => sum + pico, 0n);
  }

  /** The same by call. @param counter by its name */
  untoldIn(counter: string): ReadonlyMap<string, bigint> {
    const costs = this.#options.pending.costsIn(counter);
    for (const { call } of this.#settled.values())
      for (const one of call.spent) if (nameOf(one) === counter) costs.set(call.requestId, one.pico);
    return costs;
  }

  /** What a generation that knows nothing is told: all of them; calls that were let in alone count from now on as well. */
  takeOverAll(): readonly Operation[] {
    const settled = Array.from(this.#settled.values(), ({ held }) => held ?? []);
    return [...this.#running.values(), ...settled.flat()].map((one) => this.#takeOver(one));
  }

  /**
   * The shared counters are told of running calls that were let in alone. In the order of all that is told: what such a call had
   * tried to reserve before is undone first.
   */
  tellAlone(): void {
    for (const one of this.#running.values())
      if (one.by === 'alone') this.#options.pending.add(this.#takeOver(one));
  }

  /** The shared counters alone hold each running call from now on. @param handOver is given each that was let in alone */
  share(handOver: (requestId: string) => void): void {
    this.tellAlone();
    for (const one of this.#running.values()) {
      if (one.by !== 'shared') handOver(one.call.requestId);
      one.by = 'shared';
    }
  }

  /** A sign of life, without which the places of running calls would be given to others. */
  keepPlaces(): void {
    for (const { call, by, places } of this.#running.values()) {
      const kept = by === 'alone' || places !== 'taken' ? [] : placesOf(call);
      if (kept.length > 0) this.#options.pending.add(operation('k', call.requestId, kept));
    }
  }

  #takeOver(one: HeldCall): Operation {
    if (one.by === 'alone') one.by = 'both';
    const { call, places } = one;
    const { server, texts } = this.#options;
    const isFree = places !== 'taken';
    return { text: `["g",${JSON.stringify(call.requestId)},${reserveText(server, call, texts)},${isFree}]` };
  }
}
