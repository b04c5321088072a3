// Histograms of times: their usual buckets, and how prom-client gets them.
import type { Metric, Registry } from 'prom-client';
import { LabelledHistogram } from './tally.ts';

/** For whole requests and first bytes. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** A histogram by one label, added to a registry. */
export function registeredHistogram(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  bounds: readonly number[],
): LabelledHistogram {
  const histogram = new LabelledHistogram(name, help, label, bounds);
  // The registry uses only `name` and `get`, but its type wants one of prom-client's own classes.
  registry.registerMetric(histogram as unknown as Metric);
  return histogram;
}
