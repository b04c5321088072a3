// What has been spent, as administration shows it: by scope, with what its budgets say and when they will be used up.
import type { Scope } from './scopes.ts';

export type { Scope, ScopeKind } from './scopes.ts';

/** When a budget is used up if calls go on as of late, epoch milliseconds. */
export interface Forecast {
  /** USD a day. */
  readonly perDay: number;
  /** null: not within its window, or in more than a hundred years. */
  readonly usedUpMs: number | null;
  /** The band of it: at the fastest and the slowest rate of the last hours and days. */
  readonly earliestMs: number | null;
  readonly latestMs: number | null;
}

/** One cap of a scope, or a soft budget. */
export interface BudgetUse {
  readonly scope: Scope;
  /** Names the cap within its scope: `30d`, `ever`, `1d gpt-4o`. */
  readonly name: string;
  /** USD, a temporary increase included; null = soft only. */
  readonly maxBudget: number | null;
  readonly softBudget: number | null;
  readonly budgetDuration: string | null;
  /** Of one requested model, a pattern; null = of all. */
  readonly model: string | null;
  readonly spentPico: bigint;
  /** Of calls that run. */
  readonly reservedPico: bigint;
  readonly windowStartMs: number;
  /** `budget_reset_at`; null = never. */
  readonly resetMs: number | null;
  /** null: nothing was spent of late. */
  readonly forecast: Forecast | null;
}

/** A use beside what its counter says that ended calls have cost; null = nobody has asked for it yet. */
export interface CountedUse extends BudgetUse {
  /** Read after the rows. */
  readonly countedPico: bigint | null;
  /** Read before the rows: what it holds beyond them is no call that ended meanwhile. */
  readonly countedBeforePico: bigint | null;
}

export interface Spending {
  /**
   * Pico-dollars of each scope, in their order: in the window that its main budget (`max_budget` with `budget_duration`)
   * has now, else since ever.
   * @throws StoreUnavailable
   */
  spentBy(scopes: readonly Scope[]): Promise<readonly bigint[]>;
  /** Pico-dollars of all rows of each scope, in their order. @throws StoreUnavailable */
  spentEver(scopes: readonly Scope[]): Promise<readonly bigint[]>;
  /** All caps and soft budgets of a scope; empty = it has none. @throws StoreUnavailable */
  usesOf(scope: Scope): Promise<readonly BudgetUse[]>;
  /** The same of several, some hundreds at most, and what their counters say. @throws StoreUnavailable */
  countedUsesOf(scopes: readonly Scope[]): Promise<readonly CountedUse[]>;
  /** Every scope with a budget, but those of rules for each one (`*`). Needs no store. */
  capped(): readonly Scope[];
  /** When the main budget of a scope resets, epoch milliseconds; null = never. Needs no store. */
  resetMs(scope: Scope): number | null;
}
