// Metrics of recordings. Does not import them: their figures are passed in.
import { Counter, Gauge, type Registry } from 'prom-client';

interface CapsuleFigures {
  readonly rules: number;
  readonly written: number;
  readonly dropped: Readonly<Record<string, number>>;
  readonly bytes: number;
}

/** Adds the metrics to a registry. @param read its figures, at every scrape */
export function addCapsuleMetrics(registry: Registry, read: () => CapsuleFigures): void {
  const registers = [registry];
  new Gauge({
    name: 'throughline_capsule_orders',
    help: 'Keys and conversations whose calls are recorded now.',
    aggregator: 'max',
    registers,
    collect() {
      this.set(read().rules);
    },
  });
  new Counter({
    name: 'throughline_capsules_written_total',
    help: 'Recordings of calls that were written.',
    registers,
    collect() {
      this.reset();
      this.inc(read().written);
    },
  });
  new Counter({
    name: 'throughline_capsules_dropped_total',
    help: 'Recordings that were lost: too many at once (busy), or the folder cannot be written (write_failed).',
    labelNames: ['why'],
    registers,
    collect() {
      this.reset();
      for (const [why, count] of Object.entries(read().dropped)) this.inc({ why }, count);
    },
  });
  new Gauge({
    name: 'throughline_capsule_bytes',
    help: 'Bytes of all recordings in the folder, when the last one was written.',
    aggregator: 'max',
    registers,
    collect() {
      this.set(read().bytes);
    },
  });
}
