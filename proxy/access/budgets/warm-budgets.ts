// At the start: the first call must not wait for what its budgets have spent.
import { atMost } from '../../base/within.ts';
import type { Log } from '../../observability/logger.ts';
import type { Budgets } from './budgets.ts';

/** A start goes on without the sums after this time; calls then ask for those of their own budgets. */
const WARM_MS = 5_000;

export async function warmBudgets(budgets: Pick<Budgets, 'warm'>, log: Log): Promise<void> {
  const warmed = budgets
    .warm()
    .catch((err: unknown) => log.warn({ err }, 'what budgets have spent is not known yet'));
  await atMost(WARM_MS, warmed);
}
