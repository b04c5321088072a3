// What a client is told of its limits with an answer: OpenAI's headers of the scope with the least room, and the dialect's of
// every scope. Absent where nothing is limited.
import type { ScopedLimit } from './claims.ts';

const MINUTE_MS = 60_000;

/** Flat. @param remaining of each limit after the call, in their order; @param prefix `x-litellm-` */
export function limitHeaders(
  limits: readonly ScopedLimit[],
  remaining: readonly number[],
  prefix: string,
): string[] {
  const headers: string[] = [];
  for (const kind of ['requests', 'tokens'] as const) {
    const tightest = tightestOf(limits, remaining, kind);
    if (tightest === null) continue;
    headers.push(`x-ratelimit-limit-${kind}`, String(tightest.most));
    headers.push(`x-ratelimit-remaining-${kind}`, String(tightest.left));
    // A bucket that leaks evenly is empty again after the part of a minute that it is full.
    headers.push(
      `x-ratelimit-reset-${kind}`,
      duration(((tightest.most - tightest.left) / tightest.most) * MINUTE_MS),
    );
  }
  for (const [index, { claim, scope, model }] of limits.entries()) {
    const left = String(remaining[index] ?? 0);
    if (claim.kind === 'parallel') {
      headers.push(`x-ratelimit-${scope}-limit-max_parallel_requests`, String(claim.most));
      headers.push(`x-ratelimit-${scope}-remaining-max_parallel_requests`, left);
      continue;
    }
    headers.push(`x-ratelimit-${scope}-limit-${claim.kind}`, String(claim.perMinute));
    headers.push(`x-ratelimit-${scope}-remaining-${claim.kind}`, left);
    const short = claim.kind === 'requests' ? 'rpm' : 'tpm';
    if (scope === 'api_key') headers.push(`${prefix}key-${short}-limit`, String(claim.perMinute));
    if (scope === 'model_per_key' && model !== null)
      headers.push(`${prefix}key-remaining-${claim.kind}-${token(model)}`, left);
  }
  return headers;
}

function tightestOf(
  limits: readonly ScopedLimit[],
  remaining: readonly number[],
  kind: 'requests' | 'tokens',
): { readonly most: number; readonly left: number } | null {
  let tightest: { readonly most: number; readonly left: number } | null = null;
  for (const [index, { claim }] of limits.entries()) {
    if (claim.kind !== kind || claim.perMinute <= 0) continue;
    const left = remaining[index] ?? 0;
    if (tightest === null || left < tightest.left) tightest = { most: claim.perMinute, left };
  }
  return tightest;
}

/** As OpenAI writes it: `6m0s`, `1.5s`, `20ms`. */
function duration(ms: number): string {
  if (ms <= 0) return '0s';
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 100) / 10;
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${Math.round(seconds % 60)}s`;
}

/** A model's name as part of a header's: the dialect replaces `/` and `:`, and nothing else that is no token may stand there. */
const token = (model: string): string => model.replaceAll(/[^\w!#$%&'*+.^`|~-]/g, '-');
