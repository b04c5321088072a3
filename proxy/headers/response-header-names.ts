// The names of our response headers, made here and nowhere else, and the lists that are written with them. Pure.
import type { Dialect } from '../../config/dialect.ts';

/** Lower-case names, `x-<brand>-...`. */
export type ResponseHeaderNames = Readonly<Record<keyof typeof SUFFIXES, string>>;

const SUFFIXES = {
  callId: 'call-id',
  /** Our own id of the call, where its `call-id` is the client's. */
  requestId: 'request-id',
  sessionId: 'session-id',
  modelId: 'model-id',
  modelGroup: 'model-group',
  apiBase: 'model-api-base',
  version: 'version',
  cost: 'response-cost',
  keySpend: 'key-spend',
  keyMaxBudget: 'key-max-budget',
  keyRequestsLimit: 'key-rpm-limit',
  keyTokensLimit: 'key-tpm-limit',
  /** Goes on with what is left, and of which model. */
  keyRemaining: 'key-remaining',
  overheadMs: 'overhead-duration-ms',
  responseMs: 'response-duration-ms',
  timeout: 'timeout',
  retries: 'attempted-retries',
  maxRetries: 'max-retries',
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
  deployment: { readonly id: string; readonly group: string; readonly apiBase: string },
  maxRetries: number,
  version: string,
): readonly string[] {
  const { id, group, apiBase } = deployment;
  const list = [names.modelId, id, names.apiBase, apiBase, names.version, version];
  list.push(names.maxRetries, String(maxRetries));
  // Below a wildcard it is the name that was asked for.
  if (!group.includes('*')) list.push(...modelGroupHeader(names, group));
  return list;
}

/** Printable ASCII: Node refuses other characters in the value of a header. */
const PLAIN = /^[\x20-\x7e]*$/;

/** The name whose deployments served the call; flat. A name that no header can hold is left out. */
export const modelGroupHeader = (names: ResponseHeaderNames, group: string): readonly string[] =>
  PLAIN.test(group) ? [names.modelGroup, group] : [];
