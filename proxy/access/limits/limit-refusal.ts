// What a client is told when a limit is reached: the dialect's text, and a time to wait that is true.
import type { ScopedLimit } from './call-limits.ts';
import type { LimitNeed, LimitRefusal } from './rate-book.ts';

const TYPES = {
  requests: 'requests',
  tokens: 'tokens',
  parallel: 'max_parallel_requests',
  calls: 'max_iterations',
} as const;
/** For places of parallel limits, which are free when a call of others ends. */
const PARALLEL_WAIT_S = 1;
/** For what is never let in: nothing changes before an operator does. */
const NEVER_WAIT_S = 60;

/** Of an answer with the status 429. */
interface LimitAnswer {
  readonly message: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Why a conversation gets no further call, in the dialect's words: nothing changes by asking again. */
export const callsUsedUp = (conversation: string, most: number): string =>
  `Max iterations exceeded for session ${conversation}. Current count: ${most}, max_iterations: ${most}. ` +
  'Begin another conversation, or have max_iterations raised in the metadata of the key.';

const mostOf = (need: LimitNeed): number => ('most' in need ? need.most : need.perMinute);

export function limitAnswer(
  limit: ScopedLimit,
  refusal: Omit<LimitRefusal, 'left'>,
  nowMs: number,
): LimitAnswer {
  const { need, scope, value } = limit;
  const type = TYPES[need.kind];
  const most = mostOf(need);
  const seconds = waitSeconds(refusal);
  const resetAt = new Date(nowMs + seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
  const message =
    `Rate limit exceeded for ${scope}: ${value}. Limit type: ${type}. Current limit: ${most}, ` +
    `Remaining: ${refusal.remaining}. Limit resets at: ${resetAt}.`;
  return {
    message,
    headers: [
      ['retry-after', String(seconds)],
      ['rate_limit_type', type],
      ['reset_at', resetAt],
    ],
  };
}

function waitSeconds({ need, waitMs }: Pick<LimitRefusal, 'need' | 'waitMs'>): number {
  if (waitMs !== null) return Math.max(1, Math.ceil(waitMs / 1000));
  return need.kind === 'parallel' && need.most > 0 ? PARALLEL_WAIT_S : NEVER_WAIT_S;
}
