// Metrics of the runaway brake. Does not import the brake, which passes its figures in.
import { Counter, type Registry } from 'prom-client';
import { scrapedGauge } from './scraped-metrics.ts';

interface BrakeFigures {
  readonly known: number;
  readonly stopped: number;
}

interface BrakeMetrics {
  /** A request has reached a rule; both labels are of the configuration. */
  count(rule: string, level: string): void;
  /** `read` is called at every scrape. */
  watch(read: () => BrakeFigures): void;
}

/** Adds the metrics to a registry. */
export function addBrakeMetrics(registry: Registry): BrakeMetrics {
  const registers = [registry];
  const actions = new Counter({
    name: 'throughline_brake_actions_total',
    help: 'Requests at which a rule of the runaway brake was reached, by the hardest level that it leads to.',
    labelNames: ['rule', 'level'],
    registers,
  });
  return {
    count: (rule, level) => actions.inc({ rule, level }),
    watch: (read) => {
      scrapedGauge(
        registry,
        'throughline_brake_conversations',
        'Conversations that the runaway brake remembers.',
        () => read().known,
        'sum',
      );
      scrapedGauge(
        registry,
        'throughline_brake_stopped_conversations',
        'Conversations that the runaway brake has stopped and nobody has resumed.',
        () => read().stopped,
        'max', // each worker knows what all have stopped
      );
    },
  };
}
