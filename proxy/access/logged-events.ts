// Events of access as lines of the log.
import type { Log } from '../observability/logger.ts';
import { dollarText } from '../spend/record/dollars.ts';
import type { AccessEvents } from './events.ts';

const TEXTS = {
  soft_budget: 'a soft budget was reached',
  budget_used_up: 'a budget is used up; calls are refused until it begins anew',
} as const;

export function loggedEvents(log: Log): AccessEvents {
  return {
    emit: ({ kind, scope, budget, spentPico, limitPico, resetMs }) =>
      log.warn(
        {
          event: kind,
          scope: scope.kind,
          id: scope.id,
          budget,
          spent_usd: dollarText(spentPico),
          limit_usd: dollarText(limitPico),
          resets: resetMs === null ? null : new Date(resetMs).toISOString(),
        },
        TEXTS[kind],
      ),
  };
}
