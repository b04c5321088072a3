// Acknowledging alerts: somebody says that they have seen one, and may take it back. It holds for what is told of the same cause:
// what was told before, and what is told again within a day. It is kept with the alerts, so that all servers of a database, and
// each worker, show the same.
import type { History, HistoryEntry, HistoryPage, HistoryPlace } from '../../items/history.ts';
import { alertText, type Acknowledgement, type RaisedAlert } from './raised-alert.ts';

type Entry = HistoryEntry<RaisedAlert>;

/** What is told again later is news. Causes with a window, such as a budget's, end with it anyway. */
const HOLDS_MS = 86_400_000;
const READ_AT_ONCE = 200;

/** What an alert looks like after an attempt to change it. */
interface Changed {
  readonly entry: Entry;
  /** Whether anything was changed. */
  readonly isNew: boolean;
}

/**
 * Acknowledges an alert and what else is open of its cause. One that is acknowledged already stays as it is: who was first is
 * not overwritten.
 * @returns null: there is no such alert @throws StoreUnavailable
 */
export async function acknowledge(
  history: History<RaisedAlert>,
  id: string,
  acknowledged: Acknowledgement,
): Promise<Changed | null> {
  const set = (one: string): Promise<Changed | null> =>
    changeOne(history, one, ({ isSeen, value }) => (isSeen ? null : { ...value, acknowledged }));
  const changed = await set(id);
  if (changed !== null)
    for (const other of await othersOf(history, changed.entry, false)) await set(other.id);
  return changed;
}

/**
 * Takes the acknowledgement of an alert back, wherever it holds.
 * @returns as `acknowledge` @throws StoreUnavailable
 */
export async function reopen(history: History<RaisedAlert>, id: string): Promise<Changed | null> {
  let taken: Acknowledgement | null = null;
  const changed = await changeOne(history, id, ({ value }) => {
    taken = value.acknowledged ?? null;
    return taken === null ? null : { ...value, acknowledged: null };
  });
  if (changed === null) return null;
  for (const other of await othersOf(history, changed.entry, true))
    await changeOne(history, other.id, ({ value }) =>
      isSame(value.acknowledged ?? null, taken) ? { ...value, acknowledged: null } : null,
    );
  return changed;
}

/** The acknowledgement that holds for an alert that is told now; null = none. @throws StoreUnavailable */
export async function acknowledgementOf(
  history: History<RaisedAlert>,
  cause: string,
  atMs: number,
): Promise<Acknowledgement | null> {
  const { entries } = await history.page(null, 1, { cause, isSeen: true });
  const last = entries[0]?.value.acknowledged ?? null;
  return last !== null && atMs <= last.atMs + HOLDS_MS ? last : null;
}

/** @param next null = it stays as it is */
async function changeOne(
  history: History<RaisedAlert>,
  id: string,
  next: (before: Entry) => RaisedAlert | null,
): Promise<Changed | null> {
  let isNew = false;
  const entry = await history.change(id, (before) => {
    const value = next(before);
    isNew = value !== null;
    return value === null ? null : alertText(value, before.cause);
  });
  return entry === null ? null : { entry, isNew };
}

/** What else was told of its cause. */
async function othersOf(
  history: History<RaisedAlert>,
  { id, cause }: Entry,
  isSeen: boolean,
): Promise<readonly Entry[]> {
  if (cause === null || cause === id) return [];
  const all: Entry[] = [];
  for (let place: HistoryPlace | null = null; ; place = all.at(-1) ?? null) {
    const page: HistoryPage<RaisedAlert> = await history.page(place, READ_AT_ONCE, { cause, isSeen });
    all.push(...page.entries);
    if (!page.hasMore) return all;
  }
}

const isSame = (one: Acknowledgement | null, other: Acknowledgement | null): boolean =>
  one?.atMs === other?.atMs && one?.by === other?.by;
