// The metrics of budgets: those that the configuration names, so that their number is bounded, and refusals by kind of scope.
import { Counter, Gauge, type Registry } from 'prom-client';

/** One budget of the configuration, by its scope, id and name. */
export interface BudgetFigure {
  readonly scope: string;
  readonly id: string;
  readonly budget: string;
  readonly spentUsd: number;
  readonly reservedUsd: number;
  /** null: soft only. */
  readonly maxUsd: number | null;
}

export interface BudgetFigures {
  /** Of the budgets that the configuration names one by one. */
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
  gauge(
    'throughline_budget_spent_usd',
    'Spent in the present window of a budget of the configuration.',
    (f) => f.spentUsd,
  );
  gauge(
    'throughline_budget_reserved_usd',
    'What calls under way may cost, of that budget.',
    (f) => f.reservedUsd,
  );
  gauge('throughline_budget_max_usd', 'The cap of that budget; a soft budget has none.', (f) => f.maxUsd);
  new Counter({
    name: 'throughline_budget_refused_total',
    help: 'Calls refused because a budget had no room for them, by the kind of its scope.',
    labelNames: ['scope'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [scope, count] of read().refusals) this.inc({ scope }, count);
    },
  });
}
