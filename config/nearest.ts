// "Did you mean": finds the nearest known word (key, flag) or model name. A typo is a swapped, missing, added or wrong
// letter. Pure.

/** A configuration may contain 10,000 names, and this runs while a request waits. */
const NAMES_COMPARED = 2_000;
const LONGEST_NAME = 128;

/**
 * The known word nearest to `word`, or null when none is close enough: at most a third of its letters (at least one) may
 * differ.
 */
export function nearest(word: string, known: Iterable<string>): string | null {
  if (word.length > LONGEST_NAME) return null; // the time grows with the square of it
  const lower = word.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const found = distance(lower, candidate.toLowerCase());
    if (found >= bestDistance) continue;
    best = candidate;
    bestDistance = found;
  }
  return best;
}

/** Up to `count` of `names` that are near `wanted` (a third of its length, at most 6 edits), or contain it. */
export function nearestNames(wanted: string, names: Iterable<string>, count: number): string[] {
  if (wanted.length === 0 || wanted.length > LONGEST_NAME) return [];
  const limit = Math.min(6, Math.max(2, Math.floor(wanted.length / 3)));
  const lower = wanted.toLowerCase();
  const found: { name: string; edits: number }[] = [];
  let compared = 0;
  for (const name of names) {
    compared += 1;
    if (compared > NAMES_COMPARED) break;
    const edits = editsWithin(limit, lower, name.toLowerCase());
    if (edits !== null) found.push({ name, edits });
  }
  return found
    .sort((a, b) => a.edits - b.edits)
    .slice(0, count)
    .map((one) => one.name);
}

/** Edits between the two; 1 when one contains the other; null above the limit. */
function editsWithin(limit: number, wanted: string, name: string): number | null {
  const isPart = wanted.length > 3 && name.length > 3 && (name.includes(wanted) || wanted.includes(name));
  if (isPart) return 1;
  if (Math.abs(name.length - wanted.length) > limit) return null;
  const edits = distance(wanted, name);
  return edits > limit ? null : edits;
}

/** Edit distance where swapping two neighbours counts as one edit (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
