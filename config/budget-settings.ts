// Types of the resolved configuration that say what may be spent: caps by scope, and how all budgets are enforced.

/** What a rule of the configuration may be about; keys, teams, users and their like state their budgets themselves. */
const RULE_SCOPES = [
  'team',
  'user',
  'end_user',
  'tag',
  'model',
  'deployment',
  'provider',
  'profile',
  'conversation',
  'proxy',
] as const;

export type RuleScope = (typeof RULE_SCOPES)[number];

export interface BudgetRule {
  readonly scope: RuleScope;
  /** `*`: each one by itself, but those that have a rule of their own. '' for the proxy. */
  readonly id: string;
  /** USD; null = soft only. */
  readonly maxBudget: number | null;
  readonly softBudget: number | null;
  /** As it was written; null = one window that never ends. */
  readonly budgetDuration: string | null;
}

export interface BudgetSettings {
  readonly rules: readonly BudgetRule[];
  /** IANA name: where days, weeks and months of budgets begin. */
  readonly timeZone: string;
  /** Minutes after midnight at which windows of a day and longer begin. */
  readonly resetMinute: number;
  /** Of refusals; 429 makes clients try again. */
  readonly exceededStatus: number;
  /** `strict`: a call reserves the most that it may cost. `off`: it is let in while something is left. */
  readonly reservation: 'strict' | 'off';
  /** Serve calls whose budgets cannot be read. */
  readonly allowUnverified: boolean;
  /** How many budgets of keys, teams and other objects metrics show. */
  readonly metricsLimit: number;
  /** Budgets of users hold for calls with keys of teams, too. */
  readonly userBudgetsOnTeamKeys: boolean;
}
