// Whether the stored keys, teams and users are in memory.
import type { Registry } from 'prom-client';
import { scrapedGauge } from './scraped-metrics.ts';

/** Adds the metric to a registry. */
export function addKeysMetrics(registry: Registry, areLoaded: () => boolean): void {
  const help = '1 once keys, teams and users are loaded; until then keys that are only stored get 503.';
  scrapedGauge(registry, 'throughline_keys_loaded', help, () => Number(areLoaded()), 'min');
}
