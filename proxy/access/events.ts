// What happens to budgets and the like that somebody should hear of. Whoever delivers it (logs, metrics, webhooks) takes plain
// values; whoever notices it knows no channel.
import type { Scope } from './budgets/scopes.ts';

/** A budget has come to one of its marks; once per window and process, and again after a restart. */
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

/** A conversation has reached the `alert` or `stop` level of a rule of the runaway brake. Never holds text of the call. */
export interface BrakeEvent {
  readonly kind: 'brake';
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** The session id, or `first-message:...` for a conversation that states none. */
  readonly conversation: string;
  /** SHA-256 hex of the key that called. */
  readonly keyHash: string;
  readonly rule: string;
  readonly level: 'alert' | 'stop';
  readonly count: number;
  /** One sentence. */
  readonly text: string;
}

/** A key is about to expire; once for each time that it is to. */
export interface KeyExpiringEvent {
  readonly kind: 'key_expiring';
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** SHA-256 hex. */
  readonly keyHash: string;
  readonly expiresMs: number;
}

/** Somebody has spent far more in an hour than usual; once for each scope and UTC day. */
export interface SpendAnomalyEvent {
  readonly kind: 'spend_anomaly';
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly scope: Scope;
  /** The hour, epoch milliseconds. */
  readonly hourMs: number;
  readonly spentPico: bigint;
  /** What this hour costs on other days. */
  readonly usualPico: bigint;
}

export type AccessEvent = BudgetEvent | BrakeEvent | KeyExpiringEvent | SpendAnomalyEvent;

/** Whom events are told to. */
export interface AccessEvents {
  /** Never throws, never waits. */
  emit(event: AccessEvent): void;
}
