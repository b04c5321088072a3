// What was spent and what is reserved, by counter, in memory and exact: pico-dollars as bigint. A counter is one window of
// one budget of one scope. A call reserves what it may cost in all its counters or in none; its spend record says what it
// did cost. Pure: the clock, the estimates and the records are passed in.
//
// Committed amounts come from spend records alone, so that they are what the ledger says; reservations hold room while a
// call runs. So a counter exceeds its cap only where a call costs more than it reserved.

/** What a call asks of one counter. */
export interface BudgetNeed {
  /** Names the scope and the budget: `team:acme`, `key:<hash>:1d`. */
  readonly budget: string;
  /** Epoch milliseconds; another start is another counter. */
  readonly windowStartMs: number;
  readonly capPico: bigint;
  /** A budget that is used up to the pico-dollar still lets calls in that cost nothing. */
  readonly letsFreeIn?: true;
}

/** Why a call was refused: the first budget without room. */
export interface BudgetRefusal {
  readonly need: BudgetNeed;
  readonly spentPico: bigint;
  /** Of calls that run. */
  readonly reservedPico: bigint;
  /** What a call may cost at most to be let in; never below 0. */
  readonly leftPico: bigint;
}

/** What a call holds until its record is written. Ending it twice is a bug of the caller and changes nothing. */
export interface Reservation {
  readonly pico: bigint;
  /** Of what it reserved in, in their order. */
  readonly counters: readonly Counter[];
  /** Gives the room back. */
  release(): void;
}

type Reserved =
  | { readonly ok: true; readonly reservation: Reservation }
  | { readonly ok: false; readonly refusal: BudgetRefusal };

/** Whoever holds one needs not look it up again, unless it is dropped. */
interface Counter {
  readonly budget: string;
  readonly windowStartMs: number;
  spentPico: bigint;
  reservedPico: bigint;
  /** Another one has its place. */
  isDropped: boolean;
}

/** What a window of a budget has spent, and what calls that run hold of it. */
export interface CounterState {
  readonly spentPico: bigint;
  readonly reservedPico: bigint;
}

const NOTHING: CounterState = Object.freeze({ spentPico: 0n, reservedPico: 0n });

export class BudgetBook {
  /** The newest counter of each budget. An older window lives on in the reservations that were made in it. */
  readonly #counters = new Map<string, Counter>();

  get size(): number {
    return this.#counters.size;
  }

  /** The counters of these budgets, in their order; null = not all are known. */
  countersOf(needs: readonly BudgetNeed[]): readonly Counter[] | null {
    const counters = needs.map(({ budget, windowStartMs }) => {
      const counter = this.#counters.get(budget);
      return counter === undefined || counter.windowStartMs < windowStartMs ? null : counter;
    });
    return counters.every((counter) => counter !== null) ? counters : null;
  }

  /**
   * Reserves in all counters or in none. A budget whose cap is reached lets nothing in, not even what costs nothing, but
   * where its need says so.
   * @param pico the most that the call may cost; 0n where no price is known
   * @param counters `countersOf` the needs; default: those that are not known begin with nothing
   */
  reserve(
    needs: readonly BudgetNeed[],
    pico: bigint,
    counters: readonly Counter[] = needs.map((one) => this.#counterOf(one.budget, one.windowStartMs)),
  ): Reserved {
    for (let i = 0; i < needs.length; i += 1) {
      const need = needs[i];
      const counter = counters[i];
      if (need === undefined || counter === undefined) throw new Error('a need without its counter');
      const usedPico = counter.spentPico + counter.reservedPico;
      const isUsedUp = need.letsFreeIn === true ? usedPico > need.capPico : usedPico >= need.capPico;
      if (isUsedUp || usedPico + pico > need.capPico) return { ok: false, refusal: refusalOf(need, counter) };
    }
    for (const counter of counters) counter.reservedPico += pico;
    return { ok: true, reservation: new CounterReservation(pico, counters) };
  }

  /**
   * Adds what a record says. A record of an older window than the counter's changes nothing: nobody asks for it any more.
   * @param windowStartMs of the window that holds the start of the call
   */
  spend(budget: string, windowStartMs: number, pico: bigint): void {
    const counter = this.#counterOf(budget, windowStartMs);
    if (counter.windowStartMs === windowStartMs) counter.spentPico += pico;
  }

  /** Whether this window of a budget has a counter: its own, or, when a newer window has begun meanwhile, that one's. */
  has(budget: string, windowStartMs: number): boolean {
    return (this.#counters.get(budget)?.windowStartMs ?? -1) >= windowStartMs;
  }

  /** What a window of a budget has spent and reserved. */
  read(budget: string, windowStartMs: number): CounterState {
    return this.known(budget, windowStartMs) ?? NOTHING;
  }

  /** The same; null = it has no counter (see `has`). */
  known(budget: string, windowStartMs: number): CounterState | null {
    const counter = this.#counters.get(budget);
    if (counter === undefined || counter.windowStartMs < windowStartMs) return null;
    if (counter.windowStartMs > windowStartMs) return NOTHING;
    return { spentPico: counter.spentPico, reservedPico: counter.reservedPico };
  }

  /** Forgets a window of a budget, and with it what is older. A newer one stays: another process has begun it, and its calls hold room. */
  forget(budget: string, windowStartMs: number): void {
    const counter = this.#counters.get(budget);
    if (counter === undefined || counter.windowStartMs > windowStartMs) return;
    counter.isDropped = true;
    this.#counters.delete(budget);
  }

  #counterOf(budget: string, windowStartMs: number): Counter {
    const found = this.#counters.get(budget);
    if (found !== undefined && found.windowStartMs >= windowStartMs) return found;
    if (found !== undefined) found.isDropped = true;
    const counter = { budget, windowStartMs, spentPico: 0n, reservedPico: 0n, isDropped: false };
    this.#counters.set(budget, counter);
    return counter;
  }
}

class CounterReservation implements Reservation {
  readonly pico: bigint;
  readonly counters: readonly Counter[];
  #isOpen = true;

  constructor(pico: bigint, counters: readonly Counter[]) {
    this.pico = pico;
    this.counters = counters;
  }

  release(): void {
    if (this.#isOpen) for (const counter of this.counters) counter.reservedPico -= this.pico;
    this.#isOpen = false;
  }
}

function refusalOf(need: BudgetNeed, { spentPico, reservedPico }: Counter): BudgetRefusal {
  const leftPico = need.capPico - spentPico - reservedPico;
  return { need, spentPico, reservedPico, leftPico: leftPico > 0n ? leftPico : 0n };
}
