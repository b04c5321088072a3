// What a client is told of its limits with an answer: OpenAI's headers of the scope with the least room, and the dialect's of
// every scope. Absent where nothing is limited.
import type { ResponseHeaderNames } from '../../headers/response-header-names.ts';
import type { LimitScope, ScopedLimit } from './call-limits.ts';
import type { LimitNeed } from './rate-book.ts';

const MINUTE_MS = 60_000;

/** Whole names: those that a call put together would be joined, checked and hashed anew by every answer. */
interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
}

const OPENAI = {
  requests: {
    limit: 'x-ratelimit-limit-requests',
    remaining: 'x-ratelimit-remaining-requests',
    reset: 'x-ratelimit-reset-requests',
  },
  tokens: {
    limit: 'x-ratelimit-limit-tokens',
    remaining: 'x-ratelimit-remaining-tokens',
    reset: 'x-ratelimit-reset-tokens',
  },
} as const;

const named = (scope: LimitScope, what: string): HeaderNames => ({
  limit: `x-ratelimit-${scope}-limit-${what}`,
  remaining: `x-ratelimit-${scope}-remaining-${what}`,
});

const of = (scope: LimitScope): Readonly<Record<LimitNeed['kind'], HeaderNames>> => ({
  parallel: named(scope, 'max_parallel_requests'),
  requests: named(scope, 'requests'),
  tokens: named(scope, 'tokens'),
  calls: named(scope, 'max_iterations'),
});

const OF_SCOPES: Readonly<Record<LimitScope, Readonly<Record<LimitNeed['kind'], HeaderNames>>>> = {
  api_key: of('api_key'),
  user: of('user'),
  team: of('team'),
  team_member: of('team_member'),
  end_user: of('end_user'),
  organization: of('organization'),
  model_per_key: of('model_per_key'),
  model_per_team: of('model_per_team'),
  tag: of('tag'),
  session: of('session'),
};

/** Flat. @param remaining of each limit after the call, or without one that was refused, in their order */
export function limitHeaders(
  limits: readonly ScopedLimit[],
  remaining: readonly number[],
  ours: Pick<ResponseHeaderNames, 'keyRequestsLimit' | 'keyTokensLimit' | 'keyRemaining'>,
): string[] {
  const headers: string[] = [];
  addTightest(headers, 'requests', limits, remaining);
  addTightest(headers, 'tokens', limits, remaining);
  let i = 0;
  for (const { need, scope, model } of limits) {
    const left = String(remaining[i] ?? 0);
    i += 1;
    const most = String('most' in need ? need.most : need.perMinute);
    const names = OF_SCOPES[scope][need.kind];
    headers.push(names.limit, most, names.remaining, left);
    if ('most' in need) continue;
    if (scope === 'api_key')
      headers.push(need.kind === 'requests' ? ours.keyRequestsLimit : ours.keyTokensLimit, most);
    if (scope === 'model_per_key' && model !== null)
      headers.push(`${ours.keyRemaining}-${need.kind}-${token(model)}`, left);
  }
  return headers;
}

/** The first of the limits of a kind with the least room. */
function addTightest(
  headers: string[],
  kind: 'requests' | 'tokens',
  limits: readonly ScopedLimit[],
  remaining: readonly number[],
): void {
  let most = 0;
  let left = Infinity;
  for (let i = 0; i < limits.length; i += 1) {
    const need = limits[i]?.need;
    if (need?.kind !== kind) continue;
    const room = remaining[i] ?? 0;
    if (room >= left) continue;
    most = need.perMinute;
    left = room;
  }
  if (left === Infinity) return;
  const names = OPENAI[kind];
  // A bucket that leaks evenly is empty again after the part of a minute that it is full. One without room never is.
  const reset = duration(most > 0 ? ((most - left) / most) * MINUTE_MS : MINUTE_MS);
  headers.push(names.limit, String(most), names.remaining, String(left), names.reset, reset);
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
