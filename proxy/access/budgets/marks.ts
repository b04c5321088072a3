// The marks of a budget: its soft budget and its cap. Each amount is told once in a window.
import type { CounterState } from '../counters.ts';
import type { BudgetWindow } from '../durations.ts';
import type { BudgetEvent } from '../events.ts';
import { capAt, capName } from './caps.ts';
import type { Tracked } from './tracked.ts';
import { endOf } from './windows.ts';

export function tellMarks(
  tracked: Tracked,
  window: BudgetWindow,
  { spentPico }: CounterState,
  atMs: number,
  emit: (event: BudgetEvent) => void,
): void {
  const { cap } = tracked;
  if (spentPico <= 0n) return; // a budget of 0 has nothing that could be used up
  if (tracked.told.windowStartMs !== window.startMs)
    tracked.told = { windowStartMs: window.startMs, softPico: null, capPico: null };
  const { told } = tracked;
  const tell = (kind: 'soft_budget' | 'budget_used_up', limitPico: bigint): void => {
    const { scope } = cap;
    const [windowStartMs, resetMs] = [window.startMs, endOf(window)];
    emit({ kind, scope, budget: capName(cap), spentPico, limitPico, windowStartMs, resetMs, atMs });
  };
  if (cap.softPico !== null && told.softPico !== cap.softPico && spentPico >= cap.softPico) {
    told.softPico = cap.softPico;
    tell('soft_budget', cap.softPico);
  }
  const capPico = capAt(cap, atMs);
  if (capPico !== null && told.capPico !== capPico && spentPico >= capPico) {
    told.capPico = capPico;
    tell('budget_used_up', capPico);
  }
}
