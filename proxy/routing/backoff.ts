// How long to wait before the same entry is asked again. Another entry is asked at once. Pure but for the dice.

const FIRST_MS = 500;
const LONGEST_MS = 8_000;
/** A client waits no longer than this for an upstream that asks for patience; it is told the upstream's answer instead. */
const LONGEST_WISH_MS = 60_000;
/** Callers that were all told "in 5 s" must not come back in the same instant. */
const SPREAD = 0.25;

/**
 * Exponential, half of it jitter; never below what the upstream wishes.
 * @param repeat 1 for the first repetition
 * @param wishMs the upstream's `Retry-After`, null when it sent none
 * @param floorMs the operator's `retry_after`
 * @returns ms, or null when the upstream wishes for more patience than is had
 */
export function pauseMs(
  repeat: number,
  wishMs: number | null,
  floorMs: number,
  random: () => number,
): number | null {
  if (wishMs !== null && wishMs > LONGEST_WISH_MS) return null;
  const step = Math.min(LONGEST_MS, FIRST_MS * 2 ** (repeat - 1));
  const least = Math.max(wishMs ?? 0, floorMs);
  return Math.max(step * (0.5 + random() / 2), least * (1 + random() * SPREAD));
}

/** Seconds after which a caller that was turned away may come back; spread, so that not all come at once. */
export function retryAfter(random: () => number): number {
  return 1 + Math.floor(random() * 3);
}

/**
 * `Retry-After` (RFC 9110 section 10.2.3) as ms from now.
 * @param nowMs epoch milliseconds
 * @returns null when it is absent or neither seconds nor a date
 */
export function retryAfterMs(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  if (/^\s*\d{1,9}(\.\d+)?\s*$/.test(text)) return Number(text) * 1000;
  const at = /^\s*[a-z]{3,9}, /i.test(text) ? Date.parse(text) : NaN; // JavaScript takes `-5` for a year
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
