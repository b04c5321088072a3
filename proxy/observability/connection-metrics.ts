// Metrics of clients' connections, of what is left out of their requests, and of faults that they ask for.
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

/** Adds the metric to a registry. @returns a function that counts one parameter; its name is the client's to choose */
export function countDroppedParameters(registry: Registry): () => void {
  const counter = new Counter({
    name: 'throughline_query_parameters_dropped_total',
    help: 'Query parameters that did not go upstream because the API does not document them.',
    registers: [registry],
  });
  return () => counter.inc();
}

/** Adds the metric to a registry. @returns a function that counts one call; faults are of a closed table */
export function countChaos(registry: Registry): (fault: string) => void {
  const counter = new Counter({
    name: 'throughline_chaos_calls_total',
    help: 'Calls of test keys that asked for a fault by name, by the fault. No other metric counts them.',
    labelNames: ['fault'],
    registers: [registry],
  });
  return (fault) => counter.inc({ fault });
}
