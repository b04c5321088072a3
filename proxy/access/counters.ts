// What a call reserves of budgets and limits before it goes upstream, and who counts. One process counts in memory
// (`LocalCounters`); workers ask their supervisor; several servers count in Valkey. All are exact: a call is let in by all
// that it needs or consumes nothing, and what it did cost replaces what it reserved exactly once.
//
// Others hear what a call did cost when its row is in the journal, never before. A process that is killed in between leaves the
// row of a call without an end, which counts for what it had reserved: counters that had heard of less would be below the rows,
// and let others spend the difference again. What is held until then is the larger amount, so nobody overspends meanwhile.
import type { BudgetNeed, BudgetRefusal, CounterState } from './budgets/budget-book.ts';
import type { LimitNeed, LimitRefusal } from './limits/rate-book.ts';

export type { CounterState } from './budgets/budget-book.ts';

/** A call before it goes upstream. */
export interface ReservingCall {
  /** Our call id, the key of its record: asking twice with the same id consumes once. */
  readonly requestId: string;
  readonly budgets: readonly BudgetNeed[];
  /** The most that it may cost; 0n where no price is known. */
  readonly pico: bigint;
  readonly limits: readonly LimitNeed[];
}

/** One window of one budget. */
export interface CounterName {
  readonly budget: string;
  readonly windowStartMs: number;
}

/** Tells one from all others of a process. */
export const counterId = ({ budget, windowStartMs }: CounterName): string => `${windowStartMs} ${budget}`;

/** What came of asking: all that a call needs is reserved, or nothing. */
export type ReserveResult =
  /** `remaining`: what is left of each limit of the call after it, in their order. */
  | { readonly kind: 'reserved'; readonly remaining: readonly number[] }
  | { readonly kind: 'over_budget'; readonly refusal: BudgetRefusal }
  | { readonly kind: 'over_limit'; readonly refusal: LimitRefusal }
  /** Nobody knows yet what these have spent: `seed` them and ask again. */
  | { readonly kind: 'unseeded'; readonly counters: readonly CounterName[] };

/** What the record of a call says. */
export interface SettledCall {
  readonly requestId: string;
  readonly spent: readonly (CounterName & { readonly pico: bigint })[];
  /** null: not known, what was reserved stays. */
  readonly tokens: number | null;
}

/** What the spend store says of a call. */
export interface RecordedCall {
  readonly requestId: string;
  readonly pico: bigint;
  /** null: not known. */
  readonly tokens: number | null;
}

/** A sum of the spend store that is being read for counters of several processes. */
export interface SumReading {
  /** Where it may begin a counter; null = they were away. */
  readonly generation: string | null;
  /** Of each counter: requests that were settled in it before, and are in its sum. */
  readonly counted: readonly (readonly string[])[];
}

/** What belongs to a sum, beside the amount. */
export interface SumOrigin {
  /** Of `SumReading`. */
  readonly generation: string | null;
  /** What this process has settled since the moment of the sum; grows until the counter is seeded. */
  readonly laterPico: () => bigint;
}

/** Whether a call that reserved nothing changes a counter: refused ones come as fast as clients send them. */
export const costsAnything = ({ spent }: SettledCall): boolean => spent.some(({ pico }) => pico !== 0n);

/** Counts in this process, in that of a supervisor, or in Valkey. */
export interface Counters {
  /**
   * Other processes count here as well. Then a window is never begun with nothing without asking the store, and what is
   * settled while a sum is read is told apart by whether the sum holds it (`counted`).
   */
  readonly isShared?: true;
  /** Why those that several servers share cannot be used now; null = they can. Absent where servers share none. */
  readonly away?: string | null;
  /** A promise only where another process is asked. @throws CountersUnavailable */
  reserve(call: ReservingCall): ReserveResult | Promise<ReserveResult>;
  /** Before the sums of counters are read. Absent where nothing is settled in a counter that is not seeded. */
  beginSums?(counters: readonly CounterName[]): Promise<SumReading>;
  /**
   * What a window had spent before; changes nothing where that is known already.
   * @param counted requests that were settled before the counter is seeded, and are in this sum
   */
  seed(
    counter: CounterName,
    pico: bigint,
    counted?: readonly string[],
    origin?: SumOrigin,
  ): void | Promise<void>;
  /** The upstream is done with it: places of parallel limits are free. The reserved amount is held until `settle`. */
  release(requestId: string): void;
  /** Once per record, also for calls that never reserved. Never throws, never waits. */
  settle(call: SettledCall): void;
  /** Of a settled call, in a later turn: its row survives this process. Only now others are told what it did cost. */
  journaled?(requestId: string): void;
  /** What this window had spent is not known any more; the next call that reserves in it seeds it again. */
  forget?(counter: CounterName): void;
  /** This process needs a window no more: it goes, unless others have used it of late. Absent where unused ones go by themselves. */
  unused?(counter: CounterName): void;
  /** The budgets in which calls of this process hold something. All of these are looked through. */
  held(): ReadonlySet<string>;
  /** For listings and forecasts; null = not seeded. */
  read(counter: CounterName): CounterState | null | Promise<CounterState | null>;
}

/** The shared counters do not answer, and the configuration says to refuse then. */
export class CountersUnavailable extends Error {
  override readonly name = 'CountersUnavailable';
}
