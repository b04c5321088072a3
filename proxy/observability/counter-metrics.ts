// Metrics of the counters that servers share, read at every scrape. Does not import the counters, which pass their figures in.
import { Counter, Gauge, type Registry } from 'prom-client';

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
      const { pending, keysUntold } = read();
      this.set(pending + keysUntold);
    },
  });
  counter(
    registry,
    'throughline_idempotency_elsewhere_total',
    'Calls whose idempotency key a call of another server had.',
    () => read().keysElsewhere,
  );
  counter(
    registry,
    'throughline_idempotency_alone_total',
    'Calls whose idempotency key was taken without asking the other servers, because the shared store did not answer.',
    () => read().keysAlone,
  );
}

function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}
