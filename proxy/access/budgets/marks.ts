// The marks of a budget: its soft budget and its cap. Each amount is told once in a window, when a record has brought its counter there.
import type { Clock } from '../../base/clock.ts';
import { DenseMap } from '../../base/dense-map.ts';
import type { Counters, CounterState } from '../counters.ts';
import type { BudgetWindow } from '../durations.ts';
import type { AccessEvents, BudgetEvent } from '../events.ts';
import { capAt, capName } from './caps.ts';
import type { Tracked } from './tracked.ts';
import { endOf } from './windows.ts';

/** A question to other processes for each call and budget would cost more than all the rest of them. */
const LOOK_AFTER_MS = 250;

type Emit = (event: BudgetEvent) => void;

interface MarksOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly events: AccessEvents;
}

export class Marks {
  readonly #counters: Counters;
  readonly #clock: Clock;
  readonly #emit: Emit;
  /** What records have touched whose rows are not in the journal yet; only where other processes count. */
  readonly #touched = new DenseMap<string, readonly Tracked[]>();

  constructor({ counters, clock, events }: MarksOptions) {
    this.#counters = counters;
    this.#clock = clock;
    this.#emit = (event) => events.emit(event);
  }

  /** A record was counted in these. */
  settled(requestId: string, touched: readonly Tracked[]): void {
    if (this.#counters.isShared === true) this.#touched.set(requestId, touched);
    else this.#lookAtAll(touched);
  }

  /** Its row is in the journal: only now other processes are told what it did cost. */
  journaled(requestId: string): void {
    const touched = this.#touched.get(requestId);
    if (touched === undefined) return;
    this.#touched.delete(requestId);
    this.#lookAtAll(touched);
  }

  /** Says what was reached. @param emit takes nothing where it was told before */
  look(tracked: Tracked, nowMs: number, emit: Emit = this.#emit): void {
    if (this.#counters.isShared === true) {
      if (tracked.lookDue()) this.#lookLater(tracked, emit);
      return;
    }
    const { cap, window } = tracked;
    const state = this.#counters.read({ budget: cap.counter, windowStartMs: window.startMs });
    if (state !== null && !(state instanceof Promise)) tellMarks(tracked, window, state, nowMs, emit);
  }

  #lookAtAll(touched: readonly Tracked[]): void {
    const nowMs = this.#clock.now();
    for (const tracked of touched) this.look(tracked, nowMs);
  }

  #lookLater(tracked: Tracked, emit: Emit): void {
    const look = (): void => void this.#lookAtShared(tracked, emit).catch(() => undefined); // told with the next record
    setTimeout(look, LOOK_AFTER_MS).unref();
  }

  /** What others count is asked for once for all the calls of a moment, and when it holds them. */
  async #lookAtShared(tracked: Tracked, emit: Emit): Promise<void> {
    if (tracked.looked()) this.#lookLater(tracked, emit);
    const { cap, window } = tracked;
    const state = await this.#counters.read({ budget: cap.counter, windowStartMs: window.startMs });
    if (state !== null) tellMarks(tracked, window, state, this.#clock.now(), emit);
  }
}

function tellMarks(
  tracked: Tracked,
  window: BudgetWindow,
  { spentPico }: CounterState,
  atMs: number,
  emit: Emit,
): void {
  const { cap } = tracked;
  if (spentPico <= 0n) return; // a budget of 0 has nothing that could be used up
  const [windowStartMs, resetMs] = [window.startMs, endOf(window)];
  const tell = (kind: 'soft_budget' | 'budget_used_up', limitPico: bigint): void => {
    const { scope } = cap;
    emit({ kind, scope, budget: capName(cap), spentPico, limitPico, windowStartMs, resetMs, atMs });
  };
  const { softPico } = cap;
  if (softPico !== null && spentPico >= softPico && tracked.tells('softPico', softPico, windowStartMs))
    tell('soft_budget', softPico);
  const capPico = capAt(cap, atMs);
  if (capPico !== null && spentPico >= capPico && tracked.tells('capPico', capPico, windowStartMs))
    tell('budget_used_up', capPico);
}
