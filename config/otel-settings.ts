// Types of the resolved configuration that say what is traced.
import type { Secret } from './secret.ts';

/** Which spans are exported, and where to. */
export interface OtelSettings {
  /** URL that spans are posted to, with the path; without credentials. */
  readonly endpoint: string;
  /** Lower-case name -> value. */
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** Timeout of one export, including its retries. */
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** Resource attributes, including `service.name`. */
  readonly resource: readonly (readonly [name: string, value: string])[];
  /** `ratio`: share of traces to sample; `followsCaller`: the caller's sampling decision wins. */
  readonly sampler: { readonly ratio: number; readonly followsCaller: boolean };
  /** Whether `traceparent` is sent upstream. */
  readonly propagates: boolean;
  /** Longest time to wait for a batch to fill. */
  readonly delayMs: number;
  /** Most spans in the queue; further ones are dropped. */
  readonly queueSpans: number;
}
