// Metrics of the counters that servers share, read at every scrape. Does not import the counters, which pass their figures in.
import type { Registry } from 'prom-client';
import { scrapedCounter, scrapedGauge } from './scraped-metrics.ts';

interface SharedCounterFigures {
  /** null = they are shared. */
  readonly away: string | null;
  readonly servers: number;
  readonly pending: number;
  readonly keysUntold: number;
  readonly keysElsewhere: number;
  readonly keysAlone: number;
}

export function addCounterMetrics(registry: Registry, read: () => SharedCounterFigures): void {
  scrapedGauge(
    registry,
    'throughline_counters_degraded',
    '1 while the shared counters of budgets and limits do not answer and this process counts alone.',
    () => (read().away === null ? 0 : 1),
    'max',
  );
  scrapedGauge(
    registry,
    'throughline_counters_servers',
    'Processes that share the counters of budgets and limits, as this one last saw them, itself included.',
    () => read().servers,
    'max',
  );
  scrapedGauge(
    registry,
    'throughline_counters_untold',
    'Ends of calls that the shared counters have not acknowledged yet.',
    () => {
      const { pending, keysUntold } = read();
      return pending + keysUntold;
    },
    'sum',
  );
  scrapedCounter(
    registry,
    'throughline_idempotency_elsewhere_total',
    'Calls whose idempotency key a call of another server had.',
    () => read().keysElsewhere,
  );
  scrapedCounter(
    registry,
    'throughline_idempotency_alone_total',
    'Calls whose idempotency key was taken without asking the other servers, because the shared store did not answer.',
    () => read().keysAlone,
  );
}
