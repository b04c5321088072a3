// Metrics of alerts. Does not import them; figures are passed in.
import { Counter, type Registry } from 'prom-client';
import { scrapedGauge } from './scraped-metrics.ts';

interface AlertMetrics {
  /** Both labels are words of ours. */
  count(kind: string, outcome: string): void;
  /** `read` is called at every scrape. */
  watch(read: () => number): void;
}

/** Adds the metrics to a registry. */
export function addAlertMetrics(registry: Registry): AlertMetrics {
  const registers = [registry];
  const alerts = new Counter({
    name: 'throughline_alerts_total',
    help: 'Alerts, by kind and by what became of them.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  return {
    count: (kind, outcome) => alerts.inc({ kind, outcome }),
    watch: (read) => {
      scrapedGauge(
        registry,
        'throughline_alerts_waiting',
        'Alerts that a receiver has not taken yet.',
        read,
        'sum',
      );
    },
  };
}
