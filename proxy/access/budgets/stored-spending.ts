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
import type { BudgetUse, CountedUse, Spending } from './spending.ts';
import { endOf } from './windows.ts';

interface SpendingOptions {
  readonly budgets: Budgets;
  readonly counters: Pick<Counters, 'read'>;
  readonly clock: Clock;
}

/** A cap in the window that it has at a time. */
interface CapWindow {
  readonly cap: Cap;
  readonly nowMs: number;
  readonly window: BudgetWindow;
}

interface Spent {
  /** In the window of the cap. */
  readonly pico: bigint;
  /** In each of `LOOK_BACK_MS`. */
  readonly recent: readonly bigint[];
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

  async usesOf(scope: Scope): Promise<readonly BudgetUse[]> {
    const caps = this.#windowsOf([scope]);
    const spent = await this.#spentIn(caps);
    const states = await this.#statesOf(caps);
    return caps.map((one, i) => this.#useOf(one, spent[i] ?? NOTHING_SPENT, states[i] ?? null));
  }

  async countedUsesOf(scopes: readonly Scope[]): Promise<readonly CountedUse[]> {
    const caps = this.#windowsOf(scopes);
    const before = await this.#statesOf(caps);
    const spent = await this.#spentIn(caps);
    const after = await this.#statesOf(caps);
    return caps.map((one, i) => ({
      ...this.#useOf(one, spent[i] ?? NOTHING_SPENT, after[i] ?? null),
      countedPico: after[i]?.spentPico ?? null,
      countedBeforePico: before[i]?.spentPico ?? null,
    }));
  }

  capped(): readonly Scope[] {
    const { sources } = this.#options.budgets.inService;
    const keys = Array.from(sources.keyTerms(), ({ id }): Scope => ({ kind: 'key', id }));
    // A team that is an object and in the configuration comes twice.
    const others = new Map(Array.from(sources.others(), (scope) => [`${scope.kind}:${scope.id}`, scope]));
    return [...others.values(), ...keys];
  }

  /** All caps of these scopes, in the windows that they have now. */
  #windowsOf(scopes: readonly Scope[]): readonly CapWindow[] {
    const nowMs = this.#options.clock.now();
    const { sources, windows } = this.#options.budgets.inService;
    return scopes
      .flatMap((scope) => sources.of(scope))
      .map((cap) => ({ cap, nowMs, window: windows.at(cap, nowMs) }));
  }

  /** One after the other: of many at once the last one comes late where they are shared, and the server would go on alone for it. */
  async #statesOf(caps: readonly CapWindow[]): Promise<readonly (CounterState | null)[]> {
    const states: (CounterState | null)[] = [];
    for (const { cap, window } of caps)
      states.push(await this.#options.counters.read({ budget: cap.counter, windowStartMs: window.startMs }));
    return states;
  }

  async #spentIn(caps: readonly CapWindow[]): Promise<readonly Spent[]> {
    const sums = await this.#options.budgets.sums(
      caps.flatMap(({ cap, nowMs, window }) => [
        { cap, windowStartMs: window.startMs },
        ...LOOK_BACK_MS.map((ms) => ({ cap, windowStartMs: nowMs - ms })),
      ]),
    );
    const each = 1 + LOOK_BACK_MS.length;
    return caps.map(({ cap, window }, i) => {
      const [sum = 0n, ...recent] = sums.slice(i * each, (i + 1) * each);
      return { pico: sum + basePico(cap, window.startMs), recent };
    });
  }

  resetMs(scope: Scope): number | null {
    return endOf(this.#options.budgets.inService.windows.at(this.#main(scope), this.#options.clock.now()));
  }

  #useOf({ cap, nowMs, window }: CapWindow, { pico, recent }: Spent, state: CounterState | null): BudgetUse {
    const capPico = capAt(cap, nowMs);
    const resetMs = endOf(window);
    const leftPico = capPico === null ? null : capPico - pico;
    return {
      scope: cap.scope,
      name: capName(cap),
      maxBudget: capPico === null ? null : dollarsOf(capPico),
      softBudget: cap.softPico === null ? null : dollarsOf(cap.softPico),
      budgetDuration: cap.durationText,
      model: cap.model,
      spentPico: pico,
      reservedPico: state?.reservedPico ?? 0n,
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

const NOTHING_SPENT: Spent = { pico: 0n, recent: [] };
