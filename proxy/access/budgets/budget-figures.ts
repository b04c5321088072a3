// Figures of budgets for the metrics: those that the configuration names one by one, and of the others with a cap those that
// are used up furthest, a bounded number. With when they will be used up, by rates that are read from the store every few minutes.
import { dollarsOf } from '../../spend/record/cost.ts';
import type { Clock } from '../../base/clock.ts';
import { atMost } from '../../base/within.ts';
import type { BudgetFigure } from '../../observability/budget-metrics.ts';
import type { CounterReading } from './tracked.ts';
import type { Budgets } from './budgets.ts';
import { isOfSession, isRule } from './cap-sources.ts';
import { capAt, capName, type Cap } from './caps.ts';
import { forecastOf, LOOK_BACK_MS, type RecentSpend } from './forecast.ts';
import { Furthest, shareOf } from './furthest.ts';
import { endOf, type CapWindows } from './windows.ts';

/** The rate of a day changes little in this time. */
const RATES_MS = 300_000;
/** A scrape goes on without rates that the store does not give in this time. */
const PATIENCE_MS = 1_000;

export class BudgetFiguresReader {
  readonly #budgets: Budgets;
  readonly #clock: Clock;
  /** What was spent of late, by counter. */
  #recent: ReadonlyMap<string, readonly RecentSpend[]> = new Map();
  #readMs = -Infinity;
  #reading: Promise<void> | null = null;
  /** Of which windows, and how many, the budgets are counted that are used up furthest. */
  #begun: { readonly windows: CapWindows; readonly limit: number } | null = null;
  #beginning: Promise<void> | null = null;
  #underWay: Promise<readonly BudgetFigure[]> | null = null;

  constructor(budgets: Budgets, clock: Clock) {
    this.#budgets = budgets;
    this.#clock = clock;
  }

  /** @param limit how many beside those of the configuration */
  read(limit: number): Promise<readonly BudgetFigure[]> {
    // All metrics of a scrape share one.
    this.#underWay ??= this.#read(limit).finally(() => (this.#underWay = null));
    return this.#underWay;
  }

  async #read(limit: number): Promise<readonly BudgetFigure[]> {
    await this.#begin(limit);
    const readings = await this.#chosen(limit);
    await this.#refresh(readings);
    const nowMs = this.#clock.now();
    return readings.map((reading) => this.#figureOf(reading, nowMs));
  }

  /** Since the start, and where windows are others, calls have brought only their own budgets here. */
  async #begin(limit: number): Promise<void> {
    const { windows } = this.#budgets.inService;
    if (this.#begun?.windows === windows && this.#begun.limit >= limit) return;
    this.#beginning ??= this.#budgets
      .countFurthest(limit)
      .then(() => void (this.#begun = { windows, limit }))
      .finally(() => (this.#beginning = null));
    await atMost(PATIENCE_MS, this.#beginning); // the store is away: the next scrape asks again
  }

  async #chosen(limit: number): Promise<readonly CounterReading[]> {
    const named: CounterReading[] = [];
    const others = new Furthest<CounterReading>(limit);
    const nowMs = this.#clock.now();
    const isNamed = (cap: Cap): boolean => isRule(cap) && this.#budgets.inService.sources.names(cap.scope);
    // What is stated for each end user or conversation has ids of clients, which no metric holds.
    const isOfObject = (cap: Cap): boolean => !isRule(cap) && !isOfSession(cap);
    const wanted = (cap: Cap): boolean => isNamed(cap) || (limit > 0 && isOfObject(cap));
    for await (const reading of this.#budgets.states(wanted)) {
      const { cap, state } = reading;
      const share = shareOf(cap, state.spentPico, nowMs);
      if (isNamed(cap)) named.push(reading);
      else if (share !== null) others.add(reading, share);
    }
    return [...named, ...others.items];
  }

  async #refresh(readings: readonly CounterReading[]): Promise<void> {
    const capped = readings.filter(({ cap }) => cap.capPico !== null);
    const isKnown = capped.every(({ cap }) => this.#recent.has(cap.counter));
    if (isKnown && this.#clock.mono() - this.#readMs < RATES_MS) return;
    this.#reading ??= this.#readRates(capped).finally(() => (this.#reading = null));
    await atMost(PATIENCE_MS, this.#reading); // the store is away: no forecast, or the last one
  }

  async #readRates(capped: readonly CounterReading[]): Promise<void> {
    const nowMs = this.#clock.now();
    const asked = capped.flatMap(({ cap }) => LOOK_BACK_MS.map((ms) => ({ cap, windowStartMs: nowMs - ms })));
    const sums = await this.#budgets.sums(asked);
    const recentOf = (i: number): readonly RecentSpend[] =>
      LOOK_BACK_MS.map((ms, k) => ({ ms, pico: sums[i * LOOK_BACK_MS.length + k] ?? 0n }));
    this.#recent = new Map(capped.map(({ cap }, i) => [cap.counter, recentOf(i)]));
    this.#readMs = this.#clock.mono();
  }

  #figureOf({ cap, window, state }: CounterReading, nowMs: number): BudgetFigure {
    const capPico = capAt(cap, nowMs);
    const resetMs = endOf(window);
    const leftPico = capPico === null ? null : capPico - state.spentPico;
    const recent = this.#recent.get(cap.counter);
    const forecast = recent === undefined ? null : forecastOf({ nowMs, leftPico, resetMs, recent });
    return {
      scope: cap.scope.kind,
      id: cap.scope.id,
      budget: capName(cap),
      spentUsd: dollarsOf(state.spentPico),
      reservedUsd: dollarsOf(state.reservedPico),
      maxUsd: capPico === null ? null : dollarsOf(capPico),
      resetMs,
      usedUpMs: {
        day: forecast?.usedUpMs ?? null,
        fastest: forecast?.earliestMs ?? null,
        slowest: forecast?.latestMs ?? null,
      },
    };
  }
}
