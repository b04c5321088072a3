// Metrics of clients' connections.
import { Counter, type Registry } from 'prom-client';

/** Adds the metric to a registry. @returns a function that counts one refusal */
export function countRefusedConnections(registry: Registry): () => void {
  const counter = new Counter({
    name: 'throughline_connections_refused_total',
    help: 'Connections closed on arrival because max_connections were open.',
    registers: [registry],
  });
  return () => counter.inc();
}
