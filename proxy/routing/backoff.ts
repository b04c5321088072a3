// How long to wait before the same deployment is tried again; another deployment is tried at once. Pure, except that
// randomness is passed in.

const FIRST_MS = 500;
const LONGEST_MS = 8_000;
/** When an upstream asks for a longer pause than this, the client gets its response instead of a retry. */
const MAX_RETRY_AFTER_MS = 60_000;
/** Jitter: callers that all got `Retry-After: 5` must not come back in the same instant. */
const SPREAD = 0.25;

/**
 * Exponential backoff, half of it jitter; never below what the upstream asks for.
 * @param repeat 1 for the first repetition
 * @param retryAfterMs the upstream's `Retry-After`, null when it sent none
 * @param minPauseMs the operator's `retry_after`
 * @returns ms, or null when the upstream asks for a pause that is too long
 */
export function pauseMs(
  repeat: number,
  retryAfterMs: number | null,
  minPauseMs: number,
  random: () => number,
): number | null {
  if (retryAfterMs !== null && retryAfterMs > MAX_RETRY_AFTER_MS) return null;
  const step = Math.min(LONGEST_MS, FIRST_MS * 2 ** (repeat - 1));
  const least = Math.max(retryAfterMs ?? 0, minPauseMs);
  return Math.max(step * (0.5 + random() / 2), least * (1 + random() * SPREAD));
}

/** `Retry-After` for a call that was refused, in seconds; random, so that not all callers come back at once. */
export function retryAfterSeconds(random: () => number): number {
  return 1 + Math.floor(random() * 3);
}

/**
 * `Retry-After` (RFC 9110 section 10.2.3) as ms from now.
 * @param nowMs epoch milliseconds
 * @returns null when it is absent or neither seconds nor a date
 */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  if (/^\s*\d{1,9}(\.\d+)?\s*$/.test(text)) return Number(text) * 1000;
  const at = /^\s*[a-z]{3,9}, /i.test(text) ? Date.parse(text) : NaN; // JavaScript takes `-5` for a year
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
