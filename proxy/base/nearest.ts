// "Did you mean" for model names: the few closest ones, on the request path and therefore bounded.
import { distance } from '../../config/nearest.ts';

const SCANNED = 2_000; // a configuration may hold 10,000 names; a typo need not cost 10,000 comparisons
const LONGEST = 128;

/** Up to `count` of `names` that are near `wanted` (a third of its length, at most 6 edits), or contain it. */
export function nearest(wanted: string, names: Iterable<string>, count: number): string[] {
  if (wanted.length === 0 || wanted.length > LONGEST) return [];
  const limit = Math.min(6, Math.max(2, Math.floor(wanted.length / 3)));
  const lower = wanted.toLowerCase();
  const found: { name: string; far: number }[] = [];
  let scanned = 0;
  for (const name of names) {
    if (++scanned > SCANNED) break;
    const other = name.toLowerCase();
    const part = lower.length > 3 && (other.includes(lower) || lower.includes(other)) && other.length > 3;
    const far = part ? 1 : Math.abs(other.length - lower.length) > limit ? limit + 1 : distance(lower, other);
    if (far <= limit) found.push({ name, far });
  }
  return found
    .sort((a, b) => a.far - b.far)
    .slice(0, count)
    .map((one) => one.name);
}
