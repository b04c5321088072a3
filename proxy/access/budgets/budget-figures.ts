// Figures of budgets for the metrics: those that the configuration names one by one, of whatever size the rest is.
import type { BudgetFigure } from '../../observability/budget-metrics.ts';
import type { Budgets } from './budgets.ts';
import { capName } from './caps.ts';

const PICO_PER_USD = 1e12;

export async function figuresOf(budgets: Budgets): Promise<readonly BudgetFigure[]> {
  const figures: BudgetFigure[] = [];
  for await (const { cap, state } of budgets.states()) {
    if (!budgets.isNamed(cap)) continue;
    const { capPico } = cap; // rules of the configuration know no increase
    figures.push({
      scope: cap.scope.kind,
      id: cap.scope.id,
      budget: capName(cap),
      spentUsd: Number(state.spentPico) / PICO_PER_USD,
      reservedUsd: Number(state.reservedPico) / PICO_PER_USD,
      maxUsd: capPico === null ? null : Number(capPico) / PICO_PER_USD,
    });
  }
  return figures;
}
