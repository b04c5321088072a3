// Events of access as lines of the log.
import type { Log } from '../observability/logger.ts';
import { dollarText } from '../spend/record/dollars.ts';
import type { AccessEvents, BudgetEvent, SpendAnomalyEvent } from './events.ts';

const TEXTS = {
  soft_budget: 'a soft budget was reached',
  budget_used_up: 'a budget is used up; calls that it holds for are refused until it begins anew',
} as const;

export function loggedEvents(log: Log): AccessEvents {
  return {
    emit: (event) => {
      if (event.kind === 'brake') {
        const { kind, text, ...more } = event;
        log.warn({ event: kind, ...more }, text);
      } else if (event.kind === 'key_expiring') {
        const expires = new Date(event.expiresMs).toISOString();
        log.warn({ event: event.kind, key: event.keyHash, expires }, 'a key is about to expire');
      } else if (event.kind === 'spend_anomaly') {
        log.warn(anomalyLine(event), 'somebody spends far more than usual');
      } else log.warn(budgetLine(event), TEXTS[event.kind]);
    },
  };
}

const budgetLine = ({ kind, scope, budget, spentPico, limitPico, resetMs }: BudgetEvent): object => ({
  event: kind,
  scope: scope.kind,
  id: scope.id,
  budget,
  spent_usd: dollarText(spentPico),
  limit_usd: dollarText(limitPico),
  resets: resetMs === null ? null : new Date(resetMs).toISOString(),
});

const anomalyLine = ({ kind, scope, hourMs, spentPico, usualPico }: SpendAnomalyEvent): object => ({
  event: kind,
  scope: scope.kind,
  id: scope.id,
  hour: new Date(hourMs).toISOString(),
  spent_usd: dollarText(spentPico),
  usual_usd: dollarText(usualPico),
});
