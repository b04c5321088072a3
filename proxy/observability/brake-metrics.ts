// Metrics of the runaway brake. Does not import the brake, which passes its figures in.
import { Counter, Gauge, type Registry } from 'prom-client';

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
      new Gauge({
        name: 'throughline_brake_conversations',
        help: 'Conversations that the runaway brake remembers.',
        registers,
        collect() {
          this.set(read().known);
        },
      });
      new Gauge({
        name: 'throughline_brake_stopped_conversations',
        help: 'Conversations that the runaway brake has stopped and nobody has resumed.',
        registers,
        collect() {
          this.set(read().stopped);
        },
      });
    },
  };
}
