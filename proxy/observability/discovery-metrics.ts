// What entries with `discover_models` have found, by gateway.
import { Counter, Gauge, type Registry } from 'prom-client';

/** Of one gateway. */
export interface DiscoveryFigure {
  readonly apiBase: string;
  readonly models: number;
  readonly failures: number;
}

/** `host` is a label whose values are bounded. */
type Figure = Omit<DiscoveryFigure, 'apiBase'> & { readonly host: string };

/** @param read the figures, at every scrape */
export function addDiscoveryMetrics(registry: Registry, read: () => Iterable<Figure>): void {
  const labelNames = ['gateway'];
  new Gauge({
    name: 'throughline_discovered_models',
    help: 'Models that a gateway lists, as far as entries with discover_models have asked it.',
    aggregator: 'max',
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { host, models } of read()) this.set({ gateway: host }, models);
    },
  });
  new Counter({
    name: 'throughline_model_discovery_failures_total',
    help: 'Times that a gateway did not answer with a list of its models; the last list is kept.',
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { host, failures } of read()) this.inc({ gateway: host }, failures);
    },
  });
}
