// Metrics of the platform, read at every scrape. Does not import the platform, which passes its figures in.
import type { Registry } from 'prom-client';
import { scrapedCounterBy, scrapedGauge, scrapedGaugeBy } from './scraped-metrics.ts';

/** What the platform counts. */
export interface PlatformFigures {
  /** Responses by status. */
  readonly answers: ReadonlyMap<string, number>;
  /** Sandboxes by their status. */
  readonly sandboxes: ReadonlyMap<string, number>;
  /** Keys of conversations. */
  readonly keys: number;
  /** Servers on the same database, this one included. */
  readonly servers: number;
}

/** Adds the metrics to a registry; `read` is called at every scrape. */
export function addPlatformMetrics(registry: Registry, read: () => PlatformFigures): void {
  scrapedCounterBy(
    registry,
    'throughline_platform_requests_total',
    'Requests to the platform API, by the status of the response.',
    'status',
    () => read().answers,
  );
  scrapedGaugeBy(
    registry,
    'throughline_platform_sandboxes',
    'Sandboxes by status.',
    'status',
    () => read().sandboxes,
    'max',
  );
  scrapedGauge(
    registry,
    'throughline_platform_keys',
    'Conversation keys that are accepted.',
    () => read().keys,
    'max',
  );
  scrapedGauge(
    registry,
    'throughline_platform_servers',
    'Servers that share the platform data, as this one sees them, itself included.',
    () => read().servers,
    'max',
  );
}
