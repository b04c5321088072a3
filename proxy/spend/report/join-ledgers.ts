// Which entries of two ledgers are the same call: by the call's id, else by the answer's id, else by session and time.
// Pure; the order in which entries are given changes nothing.
import type { LedgerEntry } from './ledger-entry.ts';

/** How a pair was found. */
export type JoinedBy = 'call_id' | 'answer_id' | 'session_and_time';

export interface Pair {
  readonly here: LedgerEntry;
  readonly there: LedgerEntry;
  readonly by: JoinedBy;
}

/** Every entry stands in it exactly once. */
export interface Joined {
  readonly pairs: readonly Pair[];
  readonly onlyHere: readonly LedgerEntry[];
  readonly onlyThere: readonly LedgerEntry[];
}

/** Calls of one session without a common id are the same when they began at most this far apart. */
export const SAME_CALL_MS = 120_000;

/** Joins one to one; of several candidates the best is taken: same model and tokens first, then the nearest in time. */
export function joinLedgers(here: readonly LedgerEntry[], there: readonly LedgerEntry[]): Joined {
  const left = new Set(here.toSorted(inOrder));
  const right = new Set(there.toSorted(inOrder));
  const pairs: Pair[] = [];
  const keys: readonly (readonly [
    by: JoinedBy,
    of: (entry: LedgerEntry) => readonly string[],
    nearMs: number,
  ])[] = [
    ['call_id', ({ callIds }) => callIds, Infinity],
    ['answer_id', ({ callIds, answerIds }) => [...answerIds, ...callIds], Infinity],
    ['session_and_time', ({ session }) => (session === '' ? [] : [session]), SAME_CALL_MS],
  ];
  for (const [by, keysOf, nearMs] of keys) {
    for (const [one, other] of bestOf(candidates([...left], [...right], keysOf, nearMs))) {
      if (!left.has(one) || !right.has(other)) continue;
      left.delete(one);
      right.delete(other);
      pairs.push({ here: one, there: other, by });
    }
  }
  pairs.sort((a, b) => inOrder(a.here, b.here));
  return { pairs, onlyHere: [...left], onlyThere: [...right] };
}

type Routable = readonly [here: LedgerEntry, there: LedgerEntry];

/** Most candidates that are weighed for one entry, the nearest in time: an id that a gateway gives to all its answers. */
const MOST_WEIGHED = 50;

function candidates(
  here: readonly LedgerEntry[],
  there: readonly LedgerEntry[],
  keysOf: (entry: LedgerEntry) => readonly string[],
  nearMs: number,
): Routable[] {
  const byKey = new Map<string, LedgerEntry[]>();
  for (const entry of there) {
    for (const key of new Set(keysOf(entry))) {
      const same = byKey.get(key);
      if (same === undefined) byKey.set(key, [entry]);
      else same.push(entry);
    }
  }
  return here.flatMap((entry) =>
    [...new Set(keysOf(entry))].flatMap((key) =>
      around(byKey.get(key) ?? [], entry.startMs, nearMs).map((other): Routable => [entry, other]),
    ),
  );
}

/** Those that began at most `nearMs` before or after; `sorted` is in the order of time. */
function around(sorted: readonly LedgerEntry[], startMs: number, nearMs: number): readonly LedgerEntry[] {
  if (sorted.length <= 1) return sorted.filter((one) => Math.abs(one.startMs - startMs) <= nearMs);
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.startMs ?? 0) < startMs) low = middle + 1;
    else high = middle;
  }
  const near = sorted.slice(Math.max(0, low - MOST_WEIGHED), low + MOST_WEIGHED);
  return near.filter((one) => Math.abs(one.startMs - startMs) <= nearMs);
}

function bestOf(found: Routable[]): Routable[] {
  const weighed = found.map((pair) => ({ pair, weight: weightOf(pair) }));
  weighed.sort(
    (a, b) =>
      a.weight.differences - b.weight.differences ||
      a.weight.apartMs - b.weight.apartMs ||
      inOrder(a.pair[0], b.pair[0]) ||
      inOrder(a.pair[1], b.pair[1]),
  );
  return weighed.map(({ pair }) => pair);
}

function weightOf([here, there]: Routable): { differences: number; apartMs: number } {
  const differs = (a: unknown, b: unknown): number => (a === b ? 0 : 1);
  return {
    differences:
      differs(here.promptTokens ?? 0, there.promptTokens ?? 0) +
      differs(here.completionTokens ?? 0, there.completionTokens ?? 0) +
      differs(here.model, there.model),
    apartMs: Math.abs(here.startMs - there.startMs),
  };
}

/** By time, then by id: the order of every list of this comparison. */
function inOrder(a: LedgerEntry, b: LedgerEntry): number {
  if (a.startMs !== b.startMs) return a.startMs - b.startMs;
  return Number(a.id > b.id) - Number(a.id < b.id);
}
