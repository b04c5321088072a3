// What is known of a cap while it is counted.
import type { CounterState } from '../counters.ts';
import type { BudgetWindow } from '../durations.ts';
import type { Cap } from './caps.ts';

/** A cap that a call or a person has asked for: from then on every record of its scope is counted. */
export interface Tracked {
  cap: Cap;
  /** Epoch milliseconds from which on all records are counted; Infinity = its counter was never seeded. */
  sinceMs: number;
  /** The newest window that was asked for. */
  window: BudgetWindow;
  /** Start of the newest window that has a counter; -1 = none. */
  openedMs: number;
  usedMs: number;
  /**
   * How often it will be looked whether its marks are reached, at most twice: the next look may be too early for the last
   * record. Only where other processes count.
   */
  looksDue: number;
  /** The window whose marks were told, and at which amounts; null = not yet. */
  told: { readonly windowStartMs: number; softPico: bigint | null; capPico: bigint | null };
}

export function untouched(cap: Cap, nowMs: number): Tracked {
  const told = { windowStartMs: -1, softPico: null, capPico: null };
  return {
    cap,
    sinceMs: Infinity,
    window: { startMs: 0, endMs: 0 },
    openedMs: -1,
    usedMs: nowMs,
    looksDue: 0,
    told,
  };
}

/** What the counter of a cap's present window says. */
export interface CounterReading {
  readonly cap: Cap;
  readonly window: BudgetWindow;
  readonly state: CounterState;
}
