// The marks of a budget: its soft budget and its cap. Each amount is told once in a window.
import type { Clock } from '../../base/clock.ts';
import type { Counters, CounterState } from '../counters.ts';
import type { BudgetWindow } from '../durations.ts';
import type { BudgetEvent } from '../events.ts';
import { capAt, capName } from './caps.ts';
import type { Tracked } from './tracked.ts';
import { endOf } from './windows.ts';

type Emit = (event: BudgetEvent) => void;

/** A question to other processes for each call and budget would cost more than all the rest of them. */
const ASK_AFTER_MS = 250;

export class Marks {
  readonly #counters: Counters;
  readonly #clock: Clock;

  constructor(counters: Counters, clock: Clock) {
    this.#counters = counters;
    this.#clock = clock;
  }

  /** Tells what a counter has reached: at once, or, where other processes count as well, a moment later. */
  look(tracked: Tracked, nowMs: number, emit: Emit): void {
    const { cap, window } = tracked;
    if (this.#counters.isShared !== true) {
      const state = this.#counters.read({ budget: cap.counter, windowStartMs: window.startMs });
      if (state !== null && !(state instanceof Promise)) tell(tracked, window, state, nowMs, emit);
    } else {
      tracked.looksDue = Math.min(2, tracked.looksDue + 1);
      if (tracked.looksDue === 1) this.#askLater(tracked, emit);
    }
  }

  #askLater(tracked: Tracked, emit: Emit): void {
    const ask = (): void => void this.#ask(tracked, emit).catch(() => undefined); // told with the next record
    setTimeout(ask, ASK_AFTER_MS).unref();
  }

  /** What others count is asked for once for all the calls of a moment, and when it holds them. */
  async #ask(tracked: Tracked, emit: Emit): Promise<void> {
    tracked.looksDue -= 1;
    if (tracked.looksDue > 0) this.#askLater(tracked, emit);
    const { cap, window } = tracked;
    const state = await this.#counters.read({ budget: cap.counter, windowStartMs: window.startMs });
    if (state !== null) tell(tracked, window, state, this.#clock.now(), emit);
  }
}

function tell(
  tracked: Tracked,
  window: BudgetWindow,
  { spentPico }: CounterState,
  atMs: number,
  emit: Emit,
): void {
  const { cap } = tracked;
  if (spentPico <= 0n) return; // a budget of 0 has nothing that could be used up
  if (tracked.told.windowStartMs !== window.startMs)
    tracked.told = { windowStartMs: window.startMs, softPico: null, capPico: null };
  const { told } = tracked;
  const tellOf = (kind: 'soft_budget' | 'budget_used_up', limitPico: bigint): void => {
    const { scope } = cap;
    const [windowStartMs, resetMs] = [window.startMs, endOf(window)];
    emit({ kind, scope, budget: capName(cap), spentPico, limitPico, windowStartMs, resetMs, atMs });
  };
  if (cap.softPico !== null && told.softPico !== cap.softPico && spentPico >= cap.softPico) {
    told.softPico = cap.softPico;
    tellOf('soft_budget', cap.softPico);
  }
  const capPico = capAt(cap, atMs);
  if (capPico !== null && told.capPico !== capPico && spentPico >= capPico) {
    told.capPico = capPico;
    tellOf('budget_used_up', capPico);
  }
}
