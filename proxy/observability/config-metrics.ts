// Metrics of the configuration: which one is served, and what became of the attempts to change it.
import { Counter, Gauge, type Registry } from 'prom-client';

export type ReloadResult = 'applied' | 'unchanged' | 'refused';

interface ConfigMetrics {
  readonly reloads: Counter<'result'>;
  readonly lastOk: Gauge;
  readonly version: Gauge<'version'>;
}

/** Adds the metrics to a registry. */
export function addConfigMetrics(registry: Registry): ConfigMetrics {
  const registers = [registry];
  return {
    reloads: new Counter({
      name: 'throughline_config_reloads_total',
      help: 'Attempts to change the configuration, by result (applied, unchanged, refused).',
      labelNames: ['result'],
      registers,
    }),
    lastOk: new Gauge({
      name: 'throughline_config_last_reload_successful',
      help: '1 when the files on disk are served, 0 when the last change was refused.',
      aggregator: 'min',
      registers,
    }),
    version: new Gauge({
      name: 'throughline_config_info',
      help: 'The version of the configuration that is served: the beginning of a hash of all that it says.',
      aggregator: 'max',
      labelNames: ['version'],
      registers,
    }),
  };
}
