// Metrics of the span export, read at every scrape; only while tracing is on. Does not import the exporter, which passes
// its figures in.
import { Counter, Gauge, type Registry } from 'prom-client';

/** What the exporter counts. */
interface TraceFigures {
  readonly exported: number;
  readonly dropped: number;
  readonly waiting: number;
}

/** Adds the metrics to a registry; `read` is called at every scrape. */
export function addTraceMetrics(registry: Registry, read: () => TraceFigures): void {
  const registers = [registry];
  new Counter({
    name: 'throughline_trace_spans_exported_total',
    help: 'Spans that the collector has accepted.',
    registers,
    collect() {
      this.reset();
      this.inc(read().exported);
    },
  });
  new Counter({
    name: 'throughline_trace_spans_dropped_total',
    help: 'Spans dropped: the collector did not accept them, or the queue was full.',
    registers,
    collect() {
      this.reset();
      this.inc(read().dropped);
    },
  });
  new Gauge({
    name: 'throughline_trace_spans_waiting',
    help: 'Spans that are not exported yet.',
    registers,
    collect() {
      this.set(read().waiting);
    },
  });
}
