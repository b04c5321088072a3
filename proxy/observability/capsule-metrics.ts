// Metrics of recordings. Does not import them: their figures are passed in.
import type { Registry } from 'prom-client';
import { scrapedCounter, scrapedCounterBy, scrapedGauge } from './scraped-metrics.ts';

interface CapsuleFigures {
  readonly rules: number;
  readonly written: number;
  readonly dropped: Readonly<Record<string, number>>;
  readonly bytes: number;
}

/** Adds the metrics to a registry. @param read its figures, at every scrape */
export function addCapsuleMetrics(registry: Registry, read: () => CapsuleFigures): void {
  scrapedGauge(
    registry,
    'throughline_capsule_orders',
    'Keys and conversations whose calls are recorded now.',
    () => read().rules,
    'max',
  );
  scrapedCounter(
    registry,
    'throughline_capsules_written_total',
    'Recordings of calls that were written.',
    () => read().written,
  );
  scrapedCounterBy(
    registry,
    'throughline_capsules_dropped_total',
    'Recordings that were lost: too many at once (busy), or the folder cannot be written (write_failed).',
    'why',
    () => Object.entries(read().dropped),
  );
  scrapedGauge(
    registry,
    'throughline_capsule_bytes',
    'Bytes of all recordings in the folder, when the last one was written.',
    () => read().bytes,
    'max',
  );
}
