// Which headers a capsule keeps: by allowlist. Of all others the name alone stands there, so that a missing or doubled one can
// still be seen. No value that holds a secret of this call is kept, whatever its name.
import type { KeptHeader } from './format.ts';

const REQUEST: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'user-agent',
  'transfer-encoding',
  'traceparent',
  'x-request-id',
  'x-session-id',
  'session-id',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
]);
const REQUEST_PREFIXES: readonly string[] = ['x-stainless-'];

const RESPONSE: ReadonlySet<string> = new Set([
  'cache-control',
  'cf-ray',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'server',
  'transfer-encoding',
  'via',
  'x-accel-buffering',
  'x-request-id',
  'x-should-retry',
]);
const RESPONSE_PREFIXES: readonly string[] = ['x-ratelimit-', 'anthropic-ratelimit-', 'ratelimit'];

/** Of the dialect's own headers, `x-litellm-...`. */
const OWN: ReadonlySet<string> = new Set([
  'call-id',
  'session-id',
  'trace-id',
  'timeout',
  'stream-timeout',
  'num-retries',
  'model-id',
  'model-group',
  'version',
  'overhead-duration-ms',
  'response-duration-ms',
  'attempted-retries',
  'attempted-fallbacks',
  'response-cost',
  'error-source',
]);

const MOST_HEADERS = 200;
const LONGEST_NAME = 200;
const LONGEST_VALUE = 1_000;
/** Shorter ones would be found by chance. */
const SHORTEST_SECRET = 8;

/** @param list flat, name and value. @param secrets of this call. @param ownPrefix `x-litellm-` */
export function keptHeaders(
  list: readonly string[],
  of: 'request' | 'response',
  secrets: readonly string[],
  ownPrefix: string,
): readonly KeptHeader[] {
  const [names, prefixes] = of === 'request' ? [REQUEST, REQUEST_PREFIXES] : [RESPONSE, RESPONSE_PREFIXES];
  const kept: KeptHeader[] = [];
  for (let i = 0; i < list.length && kept.length < MOST_HEADERS; i += 2) {
    const name = (list[i] ?? '').toLowerCase().slice(0, LONGEST_NAME);
    const value = list[i + 1] ?? '';
    const isAllowed =
      names.has(name) ||
      prefixes.some((prefix) => name.startsWith(prefix)) ||
      (name.startsWith(ownPrefix) && OWN.has(name.slice(ownPrefix.length)));
    const isSecret = secrets.some((one) => one.length >= SHORTEST_SECRET && value.includes(one));
    kept.push([name, isAllowed && !isSecret ? value.slice(0, LONGEST_VALUE) : null]);
  }
  return kept;
}
