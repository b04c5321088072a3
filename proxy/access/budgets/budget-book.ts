// What was spent and what is reserved, by counter, in memory and exact: pico-dollars as bigint. A counter is one window of
// one budget of one scope. A call reserves what it may cost in all its counters or in none; its spend record says what it
// did cost. Pure: the clock, the estimates and the records are passed in.
//
// Committed amounts come from spend records alone, so that they are what the ledger says; reservations hold room while a
// call runs. So a counter exceeds its cap only where a call costs more than it reserved.

/** What a call asks of one counter. */
export interface BudgetClaim {
  /** Names the scope and the budget: `team:acme`, `key:<hash>:1d`. */
  readonly budget: string;
  /** Epoch milliseconds; another start is another counter. */
  readonly windowStartMs: number;
  readonly capPico: bigint;
  /** A budget that is used up to the pico-dollar still lets calls in that cost nothing. */
  readonly letsFreeIn?: true;
}

/** Why a call was refused: the first of its claims without room. */
export interface BudgetRefusal {
  readonly claim: BudgetClaim;
  readonly spentPico: bigint;
  /** Of calls that run. */
  readonly reservedPico: bigint;
  /** What a call may cost at most to be let in; never below 0. */
  readonly leftPico: bigint;
}

/** What a call holds until its record is written. Ending it twice is a bug of the caller and changes nothing. */
export interface Reservation {
  readonly pico: bigint;
  /** Gives the room back. */
  release(): void;
}

export type Reserved =
  | { readonly ok: true; readonly reservation: Reservation }
  | { readonly ok: false; readonly refusal: BudgetRefusal };

interface Counter {
  readonly windowStartMs: number;
  spentPico: bigint;
  reservedPico: bigint;
}

/** What a counter says. */
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

  /**
   * Reserves in all counters or in none. A budget whose cap is reached lets nothing in, not even what costs nothing, but
   * where the claim says so.
   * @param pico the most that the call may cost; 0n where no price is known
   */
  reserve(claims: readonly BudgetClaim[], pico: bigint): Reserved {
    const counters: Counter[] = [];
    for (const claim of claims) {
      const counter = this.#counterOf(claim.budget, claim.windowStartMs);
      const usedPico = counter.spentPico + counter.reservedPico;
      const isUsedUp = claim.letsFreeIn === true ? usedPico > claim.capPico : usedPico >= claim.capPico;
      if (isUsedUp || usedPico + pico > claim.capPico)
        return { ok: false, refusal: refusalOf(claim, counter) };
      counters.push(counter);
    }
    for (const counter of counters) counter.reservedPico += pico;
    let isHeld = true;
    const release = (): void => {
      if (isHeld) for (const counter of counters) counter.reservedPico -= pico;
      isHeld = false;
    };
    return { ok: true, reservation: { pico, release } };
  }

  /**
   * Adds what a record says. A record of an older window than the counter's changes nothing: nobody asks for it any more.
   * @param windowStartMs of the window that holds the start of the call
   */
  spend(budget: string, windowStartMs: number, pico: bigint): void {
    const counter = this.#counterOf(budget, windowStartMs);
    if (counter.windowStartMs === windowStartMs) counter.spentPico += pico;
  }

  /** Whether a claim of this window has a counter: its own, or, when a newer window has begun meanwhile, that one's. */
  has(budget: string, windowStartMs: number): boolean {
    return (this.#counters.get(budget)?.windowStartMs ?? -1) >= windowStartMs;
  }

  /** What a window of a budget has spent and reserved. */
  read(budget: string, windowStartMs: number): CounterState {
    const counter = this.#counters.get(budget);
    if (counter?.windowStartMs !== windowStartMs) return NOTHING;
    return { spentPico: counter.spentPico, reservedPico: counter.reservedPico };
  }

  /** Forgets a budget: it was removed, or its window is over. */
  forget(budget: string): void {
    this.#counters.delete(budget);
  }

  #counterOf(budget: string, windowStartMs: number): Counter {
    const found = this.#counters.get(budget);
    if (found !== undefined && found.windowStartMs >= windowStartMs) return found;
    const counter = { windowStartMs, spentPico: 0n, reservedPico: 0n };
    this.#counters.set(budget, counter);
    return counter;
  }
}

function refusalOf(claim: BudgetClaim, { spentPico, reservedPico }: Counter): BudgetRefusal {
  const leftPico = claim.capPico - spentPico - reservedPico;
  return { claim, spentPico, reservedPico, leftPico: leftPico > 0n ? leftPico : 0n };
}
