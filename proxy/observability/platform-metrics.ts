// Metrics of the platform wing, read at every scrape. Must not know the wing: it hands its figures over.
import { Counter, Gauge, type Registry } from 'prom-client';

/** What the platform wing counts. */
export interface PlatformFigures {
  /** Answers by their status. */
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
  new Counter({
    name: 'throughline_platform_requests_total',
    help: 'Calls of the platform interface, by the status of the answer.',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [status, count] of read().answers) this.inc({ status }, count);
    },
  });
  new Gauge({
    name: 'throughline_platform_sandboxes',
    help: 'Sandboxes by status.',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [status, count] of read().sandboxes) this.set({ status }, count);
    },
  });
  new Gauge({
    name: 'throughline_platform_keys',
    help: 'Keys of conversations that are taken.',
    registers: [registry],
    collect() {
      this.set(read().keys);
    },
  });
  new Gauge({
    name: 'throughline_platform_servers',
    help: 'Servers that share the platform data, as this one sees them, itself included.',
    registers: [registry],
    collect() {
      this.set(read().servers);
    },
  });
}
