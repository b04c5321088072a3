// The counters of one process: budgets and limits in memory, exact, and idempotent by request id. A call holds its
// reservation until its record is settled, and its place in parallel limits until the upstream is done with it.
import { DenseMap } from '../base/dense-map.ts';
import { BudgetBook, type Reservation } from './budgets/budget-book.ts';
import type {
  ReservingCall,
  ReserveResult,
  CounterName,
  CounterState,
  Counters,
  SettledCall,
} from './counters.ts';
import { RateBook, type LimitPermit } from './limits/rate-book.ts';

/** What a call that was let in holds. */
interface ReservedCall {
  readonly result: ReserveResult;
  readonly reservation: Reservation;
  readonly permit: LimitPermit;
}

/** Settled ids are remembered in two generations of this many: a record that is settled again changes nothing. */
const REMEMBERED = 50_000;
const PRUNE_EVERY_MS = 60_000;

interface LocalCountersOptions {
  /**
   * Each call is settled once, as the recorder of a call does: no ids are remembered. 100,000 of them are old memory that comes and
   * goes, and with each of its collections V8 drops machine code.
   */
  readonly isToldOnce?: boolean;
}

export class LocalCounters implements Counters {
  readonly #mono: () => number;
  readonly #isToldOnce: boolean;
  readonly #book = new BudgetBook();
  readonly #rates = new RateBook();
  readonly #calls = new DenseMap<string, ReservedCall>();
  #settled = new Set<string>();
  #settledBefore = new Set<string>();
  #prunedAtMs: number;

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number, { isToldOnce = false }: LocalCountersOptions = {}) {
    this.#mono = mono;
    this.#isToldOnce = isToldOnce;
    this.#prunedAtMs = mono();
  }

  /** Calls that hold something. */
  get open(): number {
    return this.#calls.size;
  }

  reserve({ requestId, budgets, pico, limits }: ReservingCall): ReserveResult {
    const before = this.#calls.get(requestId);
    if (before !== undefined) return before.result;
    const known = this.#book.countersOf(budgets);
    if (known === null) {
      const counters = budgets.filter(({ budget, windowStartMs }) => !this.#book.has(budget, windowStartMs));
      return { kind: 'unseeded', counters };
    }
    const reserved = this.#book.reserve(budgets, pico, known);
    if (!reserved.ok) return { kind: 'over_budget', refusal: reserved.refusal };
    const nowMs = this.#mono();
    const limited = this.#rates.admit(limits, nowMs);
    if (!limited.ok) {
      reserved.reservation.release();
      return { kind: 'over_limit', refusal: limited.refusal };
    }
    const result: ReserveResult = { kind: 'reserved', remaining: limited.permit.remaining };
    this.#calls.set(requestId, { result, reservation: reserved.reservation, permit: limited.permit });
    this.#prune(nowMs);
    return result;
  }

  seed({ budget, windowStartMs }: CounterName, pico: bigint): void {
    if (!this.#book.has(budget, windowStartMs)) this.#book.spend(budget, windowStartMs, pico);
  }

  release(requestId: string): void {
    this.#calls.get(requestId)?.permit.release();
  }

  /** Counters that nobody has seeded are not counted: whoever seeds one later reads this record in its sum. */
  settle({ requestId, spent, tokens }: SettledCall): void {
    const call = this.#calls.get(requestId);
    // What a call holds is given back by its first record.
    if (call === undefined && (spent.length === 0 || this.#isSettled(requestId))) return;
    this.#remember(requestId);
    if (call !== undefined) {
      this.#calls.delete(requestId);
      call.reservation.release();
      if (tokens !== null) call.permit.settleTokens(tokens, this.#mono());
      call.permit.release();
    }
    const counters = call?.reservation.counters ?? [];
    for (const { budget, windowStartMs, pico } of spent) {
      const counter = counters.find((one) => one.budget === budget);
      if (counter?.windowStartMs === windowStartMs && !counter.isDropped) counter.spentPico += pico;
      else if (this.#book.has(budget, windowStartMs)) this.#book.spend(budget, windowStartMs, pico);
    }
  }

  forget({ budget, windowStartMs }: CounterName): void {
    this.#book.forget(budget, windowStartMs);
  }

  unused(counter: CounterName): void {
    this.forget(counter);
  }

  held(): ReadonlySet<string> {
    const held = new Set<string>();
    for (const { reservation } of this.#calls.values())
      for (const { budget } of reservation.counters) held.add(budget);
    return held;
  }

  read({ budget, windowStartMs }: CounterName): CounterState | null {
    return this.#book.known(budget, windowStartMs);
  }

  #isSettled(requestId: string): boolean {
    return this.#settled.has(requestId) || this.#settledBefore.has(requestId);
  }

  #remember(requestId: string): void {
    if (this.#isToldOnce) return;
    if (this.#settled.size >= REMEMBERED) {
      this.#settledBefore = this.#settled;
      this.#settled = new Set();
    }
    this.#settled.add(requestId);
  }

  #prune(nowMs: number): void {
    if (nowMs - this.#prunedAtMs < PRUNE_EVERY_MS) return;
    this.#prunedAtMs = nowMs;
    this.#rates.prune(nowMs);
  }
}
