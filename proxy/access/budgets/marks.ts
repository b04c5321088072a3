// The marks of a budget: its soft budget and its cap. Each is told once in a window.
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
  if (tracked.told.windowStartMs !== window.startMs)
    tracked.told = { windowStartMs: window.startMs, soft: false, usedUp: false };
  const { told } = tracked;
  const tell = (kind: 'soft_budget' | 'budget_used_up', limitPico: bigint): void => {
    const { scope } = cap;
    const [windowStartMs, resetMs] = [window.startMs, endOf(window)];
    emit({ kind, scope, budget: capName(cap), spentPico, limitPico, windowStartMs, resetMs, atMs });
  };
  if (cap.softPico !== null && !told.soft && spentPico >= cap.softPico) {
    told.soft = true;
    tell('soft_budget', cap.softPico);
  }
  const capPico = capAt(cap, atMs);
  if (capPico !== null && !told.usedUp && spentPico >= capPico) {
    told.usedUp = true;
    tell('budget_used_up', capPico);
  }
}
