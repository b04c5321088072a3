// What objects have spent, for their rows.
import type { BudgetUse, Scope } from '../../access/budgets/spending.ts';
import { dollarsOf } from '../../spend/record/cost.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { read } from '../spend-query.ts';
import { isoOrNull, type Row } from './rows.ts';

export { memberId } from '../../access/budgets/scopes.ts';
/** Whose spending. */
export type SpentScope = Scope;

/** US dollars of each, in the window that its budget has now, else since ever. @throws Fault store_unavailable */
export async function spentUsd(x: Exchange, scopes: readonly SpentScope[]): Promise<readonly number[]> {
  if (scopes.length === 0) return [];
  const spent = await read(x.active.services.spending.spentBy(scopes));
  return spent.map(dollarsOf);
}

/** Pico-dollars of all rows of each, whatever its budget says. @throws Fault store_unavailable */
export async function spentEver(x: Exchange, scopes: readonly SpentScope[]): Promise<readonly bigint[]> {
  return scopes.length === 0 ? [] : await read(x.active.services.spending.spentEver(scopes));
}

/** What `/key/info` says of each budget of a key: how much of it is used, and when it will be used up. */
export async function usageMembers(x: Exchange, scope: SpentScope): Promise<Row> {
  const uses = await read(x.active.services.spending.usesOf(scope));
  return {
    budget_limits_usage: tightest(uses.filter(({ model }) => model === null)),
    model_max_budget_usage: tightest(uses.filter(({ model }) => model !== null)),
  };
}

/** By name. Of caps of one length, of which each has spent the same, the one that refuses first. */
function tightest(uses: readonly BudgetUse[]): Row {
  const byName = new Map<string, BudgetUse>();
  for (const use of uses) {
    const most = byName.get(use.name)?.maxBudget ?? Infinity;
    if (!byName.has(use.name) || (use.maxBudget ?? Infinity) < most) byName.set(use.name, use);
  }
  return Object.fromEntries(Array.from(byName, ([name, use]) => [name, usageOf(use)]));
}

/** What a budget says of itself: how much is used, and when it will be used up. */
export function usageOf(use: BudgetUse): Row {
  const { forecast } = use;
  return {
    current_spend: dollarsOf(use.spentPico),
    reserved: dollarsOf(use.reservedPico),
    max_budget: use.maxBudget,
    soft_budget: use.softBudget,
    budget_duration: use.budgetDuration,
    budget_reset_at: isoOrNull(use.resetMs),
    model: use.model,
    forecast:
      forecast === null
        ? null
        : {
            per_day: forecast.perDay,
            used_up_at: isoOrNull(forecast.usedUpMs),
            earliest: isoOrNull(forecast.earliestMs),
            latest: isoOrNull(forecast.latestMs),
          },
  };
}
