// Metrics of the platform, read at every scrape. Does not import the platform, which passes its figures in.
import { Counter, Gauge, type Registry } from 'prom-client';

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
  new Counter({
    name: 'throughline_platform_requests_total',
    help: 'Requests to the platform API, by the status of the response.',
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
    help: 'Conversation keys that are accepted.',
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
