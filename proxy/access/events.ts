// What happens to budgets and the like that somebody should hear of. Whoever delivers it (logs, metrics, webhooks) takes plain
// values; whoever notices it knows no channel.
import type { Scope } from './budgets/scopes.ts';

/** A budget has come to one of its marks; once per window. */
export interface BudgetEvent {
  /** `soft_budget`: an alert, calls go on. `budget_used_up`: calls are refused from here on. */
  readonly kind: 'soft_budget' | 'budget_used_up';
  readonly scope: Scope;
  /** Names the cap within its scope: `30d`, `ever`, `1d gpt-4o`. */
  readonly budget: string;
  readonly spentPico: bigint;
  /** The mark. */
  readonly limitPico: bigint;
  readonly windowStartMs: number;
  /** When the budget resets; null = never. */
  readonly resetMs: number | null;
  /** Epoch milliseconds. */
  readonly atMs: number;
}

export type AccessEvent = BudgetEvent;

export interface AccessEvents {
  /** Never throws, never waits. */
  emit(event: AccessEvent): void;
}
