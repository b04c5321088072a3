// Metrics of clients' connections.
import { Counter, type Registry } from 'prom-client';

/** Adds the metric to a registry. @returns what counts one */
export function countRefusedConnections(registry: Registry): () => void {
  const counter = new Counter({
    name: 'throughline_connections_refused_total',
    help: 'Connections that were closed as they came, because there were max_connections of them.',
    registers: [registry],
  });
  return () => counter.inc();
}
