// How much a model shall think, between levels (OpenAI, Gemini 3, Claude 4.6) and budgets of tokens (older Claude, Gemini 2.5).
// The numbers are LiteLLM's (litellm/constants.py), so that a gateway before or behind this one maps alike.
import type { Effort, EffortLevel } from './form.ts';

const BUDGETS: Readonly<Record<EffortLevel, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16_384,
};

const LEVELS: readonly string[] = Object.keys(BUDGETS);

/** Whether a caller's text is one of the levels. */
export function isLevel(value: string): value is EffortLevel {
  return LEVELS.includes(value);
}

/** null: nothing to state, the upstream's default holds. */
export function levelOf(effort: Effort): EffortLevel | null {
  switch (effort.kind) {
    case 'level':
      return effort.level;
    case 'budget':
      return levelOfBudget(effort.tokens);
    case 'off':
    case 'adaptive':
      return null;
  }
}

function levelOfBudget(tokens: number): EffortLevel {
  if (tokens >= BUDGETS.high) return 'high';
  if (tokens >= BUDGETS.medium) return 'medium';
  return tokens >= BUDGETS.low ? 'low' : 'minimal';
}

/** Tokens to think. */
export function budgetOfLevel(level: EffortLevel): number {
  return BUDGETS[level];
}
