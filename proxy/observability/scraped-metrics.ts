// Metrics of figures that are kept elsewhere: read at every scrape.
import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * How the gauges of several workers become one: loads and what each has for itself are added up; of a state the worst counts, and of
 * what all of them see, what one of them sees. No default: who adds a gauge decides.
 */
type Aggregator = 'sum' | 'min' | 'max';
/** The values of a label, each with its figure. */
type ByValue = Iterable<readonly [value: string, figure: number]>;

export function scrapedGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
  aggregator: Aggregator,
): void {
  new Gauge({
    name,
    help,
    aggregator,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

export function scrapedCounter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/** By one label. */
export function scrapedGaugeBy(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => ByValue,
  aggregator: Aggregator,
): void {
  new Gauge({
    name,
    help,
    aggregator,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, figure] of read()) this.set({ [label]: value }, figure);
    },
  });
}

/** By one label. */
export function scrapedCounterBy(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => ByValue,
): void {
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, figure] of read()) this.inc({ [label]: value }, figure);
    },
  });
}

/** What every process of a proxy uses; of several the sum is shown. */
export function addProcessMetrics(registry: Registry): void {
  scrapedGauge(
    registry,
    'throughline_resident_memory_bytes',
    'Resident set size.',
    () => process.memoryUsage.rss(),
    'sum',
  );
  scrapedCounter(
    registry,
    'throughline_cpu_seconds_total',
    'User and system time of all threads since the start.',
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  );
}
