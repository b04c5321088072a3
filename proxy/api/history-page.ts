// A page of a history as a route answers it: `limit`, and `before` with the cursor of the page before.
import type { History, HistoryEntry, HistoryFilter, HistoryPlace } from '../items/history.ts';
import { Fault } from '../errors/fault.ts';
import { stated, whole, wrong } from './spend-query.ts';

const DEFAULT_ENTRIES = 50;
const MOST_ENTRIES = 200;
const CURSOR = /^(?:(\d)\.)?(\d{1,15})-([\w-]{1,100})$/;

interface Shown<T> {
  readonly entries: readonly HistoryEntry<T>[];
  /** Cursor of the page after this one; null = there is none. */
  readonly next: string | null;
}

/**
 * @param parts what is shown, one part after the other, each with the newest first
 * @throws Fault invalid_parameter, store_unavailable
 */
export async function historyPage<T extends object>(
  history: History<T> | null,
  query: URLSearchParams,
  parts: readonly HistoryFilter[],
  nowMs: number,
): Promise<Shown<T>> {
  const limit = whole(query, 'limit', DEFAULT_ENTRIES, MOST_ENTRIES);
  const from = placeIn(query);
  if (history === null) return { entries: [], next: null };
  const entries: HistoryEntry<T>[] = [];
  let next: string | null = null;
  try {
    // What is too old goes when something new is kept; until then it is passed over.
    const sinceMs = history.keptSinceMs(nowMs);
    for (const [part, wanted] of parts.entries()) {
      if (part < from.part) continue;
      const before = part === from.part ? from.place : null;
      const page = await history.page(before, limit - entries.length, { ...wanted, sinceMs });
      entries.push(...page.entries);
      const last = page.entries.at(-1);
      if (last !== undefined) next = `${part === 0 ? '' : `${part}.`}${last.atMs}-${last.id}`;
      if (page.hasMore) return { entries, next };
    }
    return { entries, next: null };
  } catch (cause) {
    throw historyAway(cause);
  }
}

export const historyAway = (cause: unknown): Fault =>
  new Fault('store_unavailable', 'The store of the history does not answer; the log says why.', { cause });

function placeIn(query: URLSearchParams): { readonly part: number; readonly place: HistoryPlace | null } {
  const value = stated(query, 'before');
  if (value === null) return { part: 0, place: null };
  const [, part = '0', atMs, id] = CURSOR.exec(value) ?? [];
  if (atMs === undefined || id === undefined) throw wrong('before', 'is no `next` of an answer');
  return { part: Number(part), place: { atMs: Number(atMs), id } };
}
