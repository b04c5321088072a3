// Metrics of the runaway brake, read at every scrape. Does not import the brake, which passes its figures in.
import { Gauge, type Registry } from 'prom-client';

export interface BrakeFigures {
  readonly known: number;
  readonly stopped: number;
}

/** Adds the metrics to a registry; `read` is called at every scrape. */
export function addBrakeMetrics(registry: Registry, read: () => BrakeFigures): void {
  const registers = [registry];
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
}
