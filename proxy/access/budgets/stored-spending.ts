// What has been spent, read from the store for whoever shows it: rows of this process up to this moment, and those of others as
// far as they are stored. What is reserved comes from the counters.
import { dollarsOf } from '../../spend/record/cost.ts';
import type { Clock } from '../../base/clock.ts';
import { mapInTurns } from '../../base/turns.ts';
import type { CounterState, Counters } from '../counters.ts';
import type { BudgetWindow } from '../durations.ts';
import type { Budgets } from './budgets.ts';
import { basePico, capAt, capName, type Cap } from './caps.ts';
import { forecastOf, LOOK_BACK_MS } from './forecast.ts';
import type { Scope } from './scopes.ts';
import type { BudgetUse, Spending } from './spending.ts';
import { endOf } from './windows.ts';

interface SpendingOptions {
  readonly budgets: Budgets;
  readonly counters: Pick<Counters, 'read'>;
  readonly clock: Clock;
}

export class StoredSpending implements Spending {
  readonly #options: SpendingOptions;

  constructor(options: SpendingOptions) {
    this.#options = options;
  }

  async spentBy(scopes: readonly Scope[]): Promise<readonly bigint[]> {
    const nowMs = this.#options.clock.now();
    const { windows } = this.#options.budgets.inService;
    const asked = await mapInTurns(scopes, (scope) => {
      const cap = this.#main(scope);
      return { cap, windowStartMs: windows.at(cap, nowMs).startMs };
    });
    const sums = await this.#options.budgets.sums(asked);
    return asked.map(({ cap, windowStartMs }, i) => (sums[i] ?? 0n) + basePico(cap, windowStartMs));
  }

  spentEver(scopes: readonly Scope[]): Promise<readonly bigint[]> {
    return this.#options.budgets.sums(
      scopes.map((scope) => ({ cap: { scope, model: null }, windowStartMs: 0 })),
    );
  }

  usesOf(scope: Scope): Promise<readonly BudgetUse[]> {
    return this.#usesOf(this.#options.budgets.inService.sources.of(scope));
  }

  usesOfAll(scopes: readonly Scope[]): Promise<readonly BudgetUse[]> {
    const { sources } = this.#options.budgets.inService;
    return this.#usesOf(scopes.flatMap((scope) => sources.of(scope)));
  }

  capped(): readonly Scope[] {
    const { sources } = this.#options.budgets.inService;
    const keys = Array.from(sources.keyTerms(), ({ id }): Scope => ({ kind: 'key', id }));
    // A team that is an object and in the configuration comes twice.
    const others = new Map(Array.from(sources.others(), (scope) => [`${scope.kind}:${scope.id}`, scope]));
    return [...others.values(), ...keys];
  }

  async #usesOf(caps: readonly Cap[]): Promise<readonly BudgetUse[]> {
    const nowMs = this.#options.clock.now();
    const { windows: shared } = this.#options.budgets.inService;
    const windows = caps.map((cap) => shared.at(cap, nowMs));
    const asked = caps.flatMap((cap, i) => [
      { cap, windowStartMs: windows[i]?.startMs ?? 0 },
      ...LOOK_BACK_MS.map((ms) => ({ cap, windowStartMs: nowMs - ms })),
    ]);
    const { counters } = this.#options;
    const before: (CounterState | null)[] = [];
    // One after the other: of many at once the last one comes late where they are shared, and the server would go on alone for it.
    for (const [i, { counter }] of caps.entries())
      before.push(await counters.read({ budget: counter, windowStartMs: windows[i]?.startMs ?? 0 }));
    const sums = await this.#options.budgets.sums(asked);
    const uses: BudgetUse[] = [];
    for (const [i, cap] of caps.entries()) {
      const window = windows[i] ?? NO_WINDOW;
      const [sum = 0n, ...recent] = sums.slice(
        i * (1 + LOOK_BACK_MS.length),
        (i + 1) * (1 + LOOK_BACK_MS.length),
      );
      const spentPico = sum + basePico(cap, window.startMs);
      const state = await counters.read({ budget: cap.counter, windowStartMs: window.startMs });
      const countedBeforePico = before[i]?.spentPico ?? null;
      uses.push({ ...this.#useOf(cap, window, spentPico, state, recent, nowMs), countedBeforePico });
    }
    return uses;
  }

  resetMs(scope: Scope): number | null {
    return endOf(this.#options.budgets.inService.windows.at(this.#main(scope), this.#options.clock.now()));
  }

  #useOf(
    cap: Cap,
    window: BudgetWindow,
    spentPico: bigint,
    state: CounterState | null,
    recent: readonly bigint[],
    nowMs: number,
  ): Omit<BudgetUse, 'countedBeforePico'> {
    const capPico = capAt(cap, nowMs);
    const resetMs = endOf(window);
    const leftPico = capPico === null ? null : capPico - spentPico;
    return {
      scope: cap.scope,
      name: capName(cap),
      maxBudget: capPico === null ? null : dollarsOf(capPico),
      softBudget: cap.softPico === null ? null : dollarsOf(cap.softPico),
      budgetDuration: cap.durationText,
      model: cap.model,
      spentPico,
      reservedPico: state?.reservedPico ?? 0n,
      countedPico: state?.spentPico ?? null,
      windowStartMs: window.startMs,
      resetMs,
      forecast: forecastOf({
        nowMs,
        leftPico,
        resetMs,
        recent: LOOK_BACK_MS.map((ms, i) => ({ ms, pico: recent[i] ?? 0n })),
      }),
    };
  }

  #main(scope: Scope): Cap {
    return this.#options.budgets.inService.sources.main(scope);
  }
}

const NO_WINDOW: BudgetWindow = { startMs: 0, endMs: 0 };
