// What a call claims of budgets and limits before it goes upstream, and who counts. One process counts in memory
// (`LocalCounters`); workers ask their supervisor; several servers count in Valkey. All are exact: a call is let in by all
// that it claims or consumes nothing, and what it did cost replaces what it reserved exactly once.
import type { BudgetClaim, BudgetRefusal } from './budgets/budget-book.ts';
import type { LimitClaim, LimitRefusal } from './limits/rate-book.ts';

/** A call before it goes upstream. */
export interface ClaimingCall {
  /** Our call id, the key of its record: asking twice with the same id consumes once. */
  readonly requestId: string;
  readonly budgets: readonly BudgetClaim[];
  /** The most that it may cost; 0n where no price is known. */
  readonly pico: bigint;
  readonly limits: readonly LimitClaim[];
}

/** One window of one budget. */
export interface CounterName {
  readonly budget: string;
  readonly windowStartMs: number;
}

export type Claimed =
  /** `remaining`: what is left of each limit of the call after it, in their order. */
  | { readonly kind: 'admitted'; readonly remaining: readonly number[] }
  | { readonly kind: 'over_budget'; readonly refusal: BudgetRefusal }
  | { readonly kind: 'over_limit'; readonly refusal: LimitRefusal }
  /** Nobody knows yet what these have spent: `seed` them and ask again. */
  | { readonly kind: 'unseeded'; readonly counters: readonly CounterName[] };

/** What the record of a call says. */
export interface SettledCall {
  readonly requestId: string;
  readonly spent: readonly (CounterName & { readonly pico: bigint })[];
  /** null: not known, what was claimed stays. */
  readonly tokens: number | null;
}

export interface CounterState {
  readonly spentPico: bigint;
  readonly reservedPico: bigint;
}

export interface Counters {
  /** A promise only where another process is asked. @throws CountersUnavailable */
  claim(call: ClaimingCall): Claimed | Promise<Claimed>;
  /** What a window had spent before; changes nothing where that is known already. */
  seed(counter: CounterName, pico: bigint): void | Promise<void>;
  /** The upstream is done with it: places of parallel limits are free. The reserved amount is held until `settle`. */
  release(requestId: string): void;
  /** Once per record, also for calls that never claimed. Never throws, never waits. */
  settle(call: SettledCall): void;
  /** Nobody asks for a budget any more; the next claim of it seeds it again. */
  forget?(budget: string): void;
  /** For listings and forecasts; null = not seeded. */
  read(counter: CounterName): CounterState | null | Promise<CounterState | null>;
}

/** The shared counters do not answer, and the configuration says to refuse then. */
export class CountersUnavailable extends Error {
  override readonly name = 'CountersUnavailable';
}
