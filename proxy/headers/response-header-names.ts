// The names of our response headers, made here and nowhere else, and the lists that are written with them. Pure.
import type { Dialect } from '../../config/dialect.ts';

/** Lower-case names, `x-<brand>-...`. */
export type ResponseHeaderNames = Readonly<Record<keyof typeof SUFFIXES, string>>;

const SUFFIXES = {
  callId: 'call-id',
  sessionId: 'session-id',
  modelId: 'model-id',
  apiBase: 'model-api-base',
  version: 'version',
  cost: 'response-cost',
  keySpend: 'key-spend',
  keyMaxBudget: 'key-max-budget',
  overheadMs: 'overhead-duration-ms',
  retries: 'attempted-retries',
  fallbacks: 'attempted-fallbacks',
  errorSource: 'error-source',
  brake: 'brake',
  originalCallId: 'original-call-id',
  translated: 'translated',
  droppedParams: 'dropped-params',
  countedBy: 'counted-by',
} as const;

/** The names under one dialect; made once per configuration. */
export function responseHeaderNames({ headerPrefix }: Pick<Dialect, 'headerPrefix'>): ResponseHeaderNames {
  const named = Object.entries(SUFFIXES).map(([key, suffix]) => [key, `${headerPrefix}${suffix}`]);
  return Object.freeze(Object.fromEntries(named) as ResponseHeaderNames);
}

/** Headers that depend on the deployment alone, flat; made when the configuration is loaded. */
export function deploymentResponseHeaders(
  names: ResponseHeaderNames,
  deployment: { readonly id: string; readonly apiBase: string },
  version: string,
): readonly string[] {
  return [names.modelId, deployment.id, names.apiBase, deployment.apiBase, names.version, version];
}
