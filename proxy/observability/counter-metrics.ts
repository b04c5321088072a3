// Metrics of the counters that servers share, read at every scrape. Does not import the counters, which pass their figures in.
import { Gauge, type Registry } from 'prom-client';

interface SharedCounterFigures {
  /** null = they are shared. */
  readonly away: string | null;
  readonly servers: number;
  readonly pending: number;
}

export function addCounterMetrics(registry: Registry, read: () => SharedCounterFigures): void {
  new Gauge({
    name: 'throughline_counters_degraded',
    help: '1 while the shared counters of budgets and limits do not answer and this process counts alone.',
    registers: [registry],
    collect() {
      this.set(read().away === null ? 0 : 1);
    },
  });
  new Gauge({
    name: 'throughline_counters_servers',
    help: 'Processes that share the counters of budgets and limits, as this one last saw them, itself included.',
    registers: [registry],
    collect() {
      this.set(read().servers);
    },
  });
  new Gauge({
    name: 'throughline_counters_untold',
    help: 'Ends of calls that the shared counters have not acknowledged yet.',
    registers: [registry],
    collect() {
      this.set(read().pending);
    },
  });
}
