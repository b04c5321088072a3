// What entries with `discover_models` have found, by gateway.
import type { Registry } from 'prom-client';
import { scrapedCounterBy, scrapedGaugeBy } from './scraped-metrics.ts';

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
  scrapedGaugeBy(
    registry,
    'throughline_discovered_models',
    'Models that a gateway lists, as far as entries with discover_models have asked it.',
    'gateway',
    () => Array.from(read(), ({ host, models }) => [host, models]),
    'max',
  );
  scrapedCounterBy(
    registry,
    'throughline_model_discovery_failures_total',
    'Times that a gateway did not answer with a list of its models; the last list is kept.',
    'gateway',
    () => Array.from(read(), ({ host, failures }) => [host, failures]),
  );
}
