// The metrics of budgets, a bounded number of them, and refusals by kind of scope.
import { Gauge, type Registry } from 'prom-client';
import { scrapedCounterBy } from './scraped-metrics.ts';

/** One budget, by its scope, id and name. */
export interface BudgetFigure {
  readonly scope: string;
  readonly id: string;
  readonly budget: string;
  readonly spentUsd: number;
  readonly reservedUsd: number;
  /** null: soft only. */
  readonly maxUsd: number | null;
  /** Epoch milliseconds; null = never. */
  readonly resetMs: number | null;
  /** Epoch milliseconds at which it is used up, at each rate; null = not within its window. */
  readonly usedUpMs: Readonly<Record<'day' | 'fastest' | 'slowest', number | null>>;
}

interface BudgetFigures {
  /** At most some hundreds. */
  readonly budgets: () => Promise<readonly BudgetFigure[]>;
  readonly refusals: ReadonlyMap<string, number>;
}

export function addBudgetMetrics(registry: Registry, read: () => BudgetFigures): void {
  const labelNames = ['scope', 'id', 'budget'];
  const gauge = (name: string, help: string, valueOf: (figure: BudgetFigure) => number | null): void => {
    new Gauge({
      name,
      help,
      labelNames,
      // Workers count the same store: the largest is the nearest to the truth.
      aggregator: 'max',
      registers: [registry],
      async collect() {
        this.reset();
        for (const figure of await read().budgets()) {
          const { scope, id, budget } = figure;
          const value = valueOf(figure);
          if (value !== null) this.set({ scope, id, budget }, value);
        }
      },
    });
  };
  gauge('throughline_budget_spent_usd', 'Spent in the present window of a budget.', (f) => f.spentUsd);
  gauge(
    'throughline_budget_reserved_usd',
    'What calls under way may cost, of that budget.',
    (f) => f.reservedUsd,
  );
  gauge('throughline_budget_max_usd', 'The cap of that budget; a soft budget has none.', (f) => f.maxUsd);
  gauge(
    'throughline_budget_reset_timestamp_seconds',
    'When that budget begins anew; one that never does has none.',
    ({ resetMs }) => (resetMs === null ? null : resetMs / 1000),
  );
  new Gauge({
    name: 'throughline_budget_used_up_timestamp_seconds',
    help: 'When that budget is used up if calls go on at the rate of the last day, or at the fastest and the slowest of late; absent when that is not before its reset.',
    labelNames: [...labelNames, 'rate'],
    aggregator: 'min', // a worker that has read the store later knows more
    registers: [registry],
    async collect() {
      this.reset();
      for (const { scope, id, budget, usedUpMs } of await read().budgets())
        for (const [rate, ms] of Object.entries(usedUpMs))
          if (ms !== null) this.set({ scope, id, budget, rate }, ms / 1000);
    },
  });
  scrapedCounterBy(
    registry,
    'throughline_budget_refused_total',
    'Calls refused because a budget had no room for them, by the kind of its scope.',
    'scope',
    () => read().refusals,
  );
}
