// Work on long lists, in parts: between two of them the event loop runs, so that other requests go on: no call waits while
// 100,000 keys are sorted.
import { setImmediate } from 'node:timers/promises';

/** Steps over a list; more items than this wait for another turn of the event loop. */
const PER_TURN = 2_000;

/** The items that fit, in their order. */
export async function filterInTurns<T>(
  items: readonly T[],
  fits: (item: T) => boolean,
  perTurn = PER_TURN,
): Promise<T[]> {
  const found: T[] = [];
  for (const part of partsOf(items, perTurn)) {
    if (part.from > 0) await setImmediate();
    for (const item of part.items) if (fits(item)) found.push(item);
  }
  return found;
}

/** What `map` makes of each item, in their order. */
export async function mapInTurns<T, U>(
  items: readonly T[],
  map: (item: T, index: number) => U,
  perTurn = PER_TURN,
): Promise<U[]> {
  const mapped: U[] = [];
  for (const { from, items: part } of partsOf(items, perTurn)) {
    if (from > 0) await setImmediate();
    for (const [at, item] of part.entries()) mapped.push(map(item, from + at));
  }
  return mapped;
}

/** A sorted copy; equal items keep their order. */
export async function sortInTurns<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  perTurn = PER_TURN,
): Promise<T[]> {
  let runs: T[][] = [];
  for (const { from, items: part } of partsOf(items, perTurn)) {
    if (from > 0) await setImmediate();
    runs.push(part.toSorted(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare, perTurn));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  perTurn: number,
): Promise<T[]> {
  if (right.length === 0) return [...left];
  const merged: T[] = [];
  const rest = right.values();
  let next = rest.next();
  for (const item of left) {
    while (next.done !== true && compare(next.value, item) < 0) {
      merged.push(next.value);
      next = rest.next();
      if (merged.length % perTurn === 0) await setImmediate();
    }
    merged.push(item);
    if (merged.length % perTurn === 0) await setImmediate();
  }
  for (; next.done !== true; next = rest.next()) merged.push(next.value);
  return merged;
}

function* partsOf<T>(
  items: readonly T[],
  size: number,
): Generator<{ readonly from: number; readonly items: readonly T[] }> {
  for (let from = 0; from < items.length; from += size) yield { from, items: items.slice(from, from + size) };
}
