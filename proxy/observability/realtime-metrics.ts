// Metrics of realtime sessions.
import { Counter, Gauge, type Registry } from 'prom-client';

interface RealtimeMetrics {
  /** A session was opened. */
  opened(): void;
  /** One has ended. @param reason a code of a fault, or how a relay ends */
  ended(reason: string): void;
}

/** Adds the metrics to a registry. */
export function addRealtimeMetrics(registry: Registry): RealtimeMetrics {
  const registers = [registry];
  const open = new Gauge({
    name: 'throughline_realtime_sessions',
    help: 'Realtime sessions that are open.',
    aggregator: 'sum',
    registers,
  });
  const ended = new Counter({
    name: 'throughline_realtime_sessions_ended_total',
    help: 'Realtime sessions that have ended, by how.',
    labelNames: ['reason'],
    registers,
  });
  return {
    opened: () => open.inc(),
    ended: (reason) => {
      open.dec();
      ended.inc({ reason });
    },
  };
}
