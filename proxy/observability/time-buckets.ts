// Histograms of times: their buckets, and how prom-client gets them.
import type { Metric, Registry } from 'prom-client';
import type { SpendRecord } from '../spend/record/record.ts';
import { LabelledHistogram } from './tally.ts';

/** For whole requests and first bytes. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** For time spent in the proxy itself. */
export const OVERHEAD_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25];
/** For the time of one token. */
export const TOKEN_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5,
];

/** Milliseconds for each output token after the first one; null where the response was no whole stream of several. */
export function msPerToken({ stream, status, tokens, endMs, firstByteMs }: SpendRecord): number | null {
  if (!stream || status !== 'success' || firstByteMs === null) return null;
  if (tokens.completion === null || tokens.completion < 2) return null;
  return (endMs - firstByteMs) / (tokens.completion - 1);
}

/** A histogram by one label, added to a registry. */
export function registeredHistogram(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  bounds: readonly number[],
  isShown?: (value: string) => boolean,
): LabelledHistogram {
  const histogram = new LabelledHistogram(name, help, label, bounds, isShown);
  // The registry uses only `name` and `get`, but its type wants one of prom-client's own classes.
  registry.registerMetric(histogram as unknown as Metric);
  return histogram;
}
