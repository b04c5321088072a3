// Metrics of the span export, read at every scrape; only while tracing is on. Does not import the exporter, which passes
// its figures in.
import type { Registry } from 'prom-client';
import { scrapedCounter, scrapedGauge } from './scraped-metrics.ts';

/** What the exporter counts. */
interface TraceFigures {
  readonly exported: number;
  readonly dropped: number;
  readonly waiting: number;
}

/** Adds the metrics to a registry; `read` is called at every scrape. */
export function addTraceMetrics(registry: Registry, read: () => TraceFigures): void {
  scrapedCounter(
    registry,
    'throughline_trace_spans_exported_total',
    'Spans that the collector has accepted.',
    () => read().exported,
  );
  scrapedCounter(
    registry,
    'throughline_trace_spans_dropped_total',
    'Spans dropped: the collector did not accept them, or the queue was full.',
    () => read().dropped,
  );
  scrapedGauge(
    registry,
    'throughline_trace_spans_waiting',
    'Spans that are not exported yet.',
    () => read().waiting,
    'sum',
  );
}
