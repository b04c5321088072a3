// The rows of the list: a window over all that match, the newest first. Scrolling reads further rows at either end and lets go
// of those at the other, so that a list of any length takes the same memory. While the window is at the newest row, new
// calls come by themselves; they are counted while somebody reads something else.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get, takenUp } from '../../api/client.ts';
import type { Row, RowsAnswer } from '../../api/rows.ts';
import { messageOf } from '../../base/message.ts';
import { follow, type Follower } from './live.ts';

const PAGE = 100;
/** Some 2 MB. Enough that no screen reaches both ends. */
const MOST_KEPT = 1_000;
const MOST_WAITING = 500;
const HOUR_MS = 3_600_000;
/** Before every row there is. */
const BEGINNING = '0-0';

export const RANGES = ['1h', '24h', '7d', '30d'] as const;
export type Range = (typeof RANGES)[number];
const HOURS: Readonly<Record<Range, number>> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 };

/** Filters as they stand in the address, and as the API calls them. */
export const FILTERS = {
  model: 'model_group',
  status: 'status',
  session: 'session_id',
  user: 'user_id',
  team: 'team_id',
  tag: 'tag',
  key: 'api_key',
  endUser: 'end_user',
} as const;
export type FilterName = keyof typeof FILTERS;

export interface Wanted {
  /** An id: looked for over all time, whatever the filters. */
  readonly find: string;
  readonly range: Range;
  readonly filters: Readonly<Record<FilterName, string>>;
}

/** `newest`, `oldest`: the ends of the list. `newer`, `older`: what comes next to what is there. */
export type Towards = 'newest' | 'newer' | 'older' | 'oldest';

export interface Rows {
  readonly rows: readonly Row[];
  readonly whose: RowsAnswer['whose'];
  readonly is: 'loading' | 'ready' | 'failed';
  readonly sinceMs: number;
  readonly error: ApiError | null;
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** New calls that are not shown yet. */
  readonly waiting: number;
  /** More than `waiting` says. */
  readonly isMoreWaiting: boolean;
  readonly go: (towards: Towards) => void;
  /** Shows what waits. */
  readonly show: () => void;
  readonly again: () => void;
}

interface Window {
  readonly rows: readonly Row[];
  readonly whose: RowsAnswer['whose'];
  /** To what lies beyond either end; null = nothing. */
  readonly older: string | null;
  readonly newer: string | null;
  readonly waiting: readonly Row[];
  /** More came than is kept: the first page has to be read again. */
  readonly isMoreWaiting: boolean;
  /** Some page has been read; what comes before that waits. */
  readonly isRead: boolean;
}

type Errand = 'first' | 'further';
type State = Pick<Rows, 'is' | 'sinceMs' | 'error'>;

const NONE: Window = {
  rows: [],
  whose: 'all',
  older: null,
  newer: null,
  waiting: [],
  isMoreWaiting: false,
  isRead: false,
};
const READY: State = { is: 'ready', sinceMs: 0, error: null };

function filterOf({ filters }: Wanted): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (value !== '') query.set(FILTERS[name as FilterName], value);
  }
  return query;
}

function queryOf(wanted: Wanted): string {
  if (wanted.find !== '') return new URLSearchParams({ request_id: wanted.find }).toString();
  const query = filterOf(wanted);
  query.set('start', new Date(Date.now() - HOURS[wanted.range] * HOUR_MS).toISOString());
  return query.toString();
}

/** @param isShown new rows are put on top as they come; otherwise they wait */
export function useRows(wanted: Wanted, isShown: boolean): Rows {
  const [asked, setAsked] = useState(0);
  const [window, setWindow] = useState<Window>(NONE);
  const [state, setState] = useState<State>(loading);
  const reading = useRef<Record<Errand, AbortController | null>>({ first: null, further: null });
  const key = JSON.stringify(wanted);
  const query = useRef('');
  const shows = useRef(isShown);
  shows.current = isShown;

  const read = async (cursor: string, take: (now: Window, answer: RowsAnswer) => Window): Promise<void> => {
    const errand = cursor === '' ? 'first' : 'further';
    reading.current[errand]?.abort();
    const abort = new AbortController();
    reading.current[errand] = abort;
    try {
      const answer = await get<RowsAnswer>(
        `spend/rows?limit=${PAGE}&${query.current}${cursor}`,
        abort.signal,
      );
      if (abort.signal.aborted) return;
      setWindow((now) => take(now, answer));
      setState(READY);
    } catch (thrown) {
      if (!abort.signal.aborted) setState((now) => failedOf(now, thrown));
    } finally {
      if (reading.current[errand] === abort) reading.current[errand] = null;
    }
  };

  useEffect(() => {
    query.current = queryOf(wanted);
    setState(loading());
    setWindow(NONE);
    void read('', (now, first) => merged(now, first, true));
    const follower = wanted.find === '' ? followed() : null;
    return () => {
      follower?.stop();
      reading.current.first?.abort();
      reading.current.further?.abort();
    };
  }, [key, asked, takenUp.value]);

  /** Rows are read once more when the stream has begun, so that none comes between the two. */
  function followed(): Follower {
    return follow(filterOf(wanted), {
      begun: () => void read('', (now, first) => merged(now, first, shows.current)),
      rows: (rows) => setWindow((now) => arrived(now, rows, shows.current)),
      failed: (error) => setState((now) => failedOf(now, error)),
    });
  }

  useEffect(() => {
    if (isShown && window.waiting.length > 0 && !window.isMoreWaiting) setWindow(shown);
  }, [isShown]);

  const go = (towards: Towards): void => {
    const { older, newer } = window;
    const isFar = towards === 'newest' || towards === 'oldest';
    // Who goes to an end no longer waits for what is next.
    if (isFar) reading.current.further?.abort();
    else if (reading.current.further !== null) return;
    switch (towards) {
      case 'newest':
        if (newer !== null || window.isMoreWaiting) void read('', (_, first) => newestOf(first));
        else setWindow(shown);
        break;
      case 'newer':
        if (newer !== null) void read(`&after=${encodeURIComponent(newer)}`, withNewer);
        break;
      case 'older':
        if (older !== null) void read(`&before=${encodeURIComponent(older)}`, withOlder);
        break;
      case 'oldest':
        if (older !== null) void read(`&after=${BEGINNING}`, oldestOf);
    }
  };

  return {
    ...state,
    rows: window.rows,
    whose: window.whose,
    hasOlder: window.older !== null,
    hasNewer: window.newer !== null,
    waiting: window.waiting.length,
    isMoreWaiting: window.isMoreWaiting,
    go,
    show: () => go('newest'),
    again: () => setAsked((n) => n + 1),
  };
}

function loading(): State {
  return { is: 'loading', sinceMs: Date.now(), error: null };
}

/** What is there stays where only its refresh failed. */
function failedOf(now: State, thrown: unknown): State {
  const error = thrown instanceof ApiError ? thrown : new ApiError(messageOf(thrown), 0);
  const isKept = now.is === 'ready' && error.status !== 401 && error.status !== 403;
  return { is: isKept ? 'ready' : 'failed', sinceMs: 0, error };
}

const newestOf = ({ rows, whose, next }: RowsAnswer): Window => ({
  ...NONE,
  rows,
  whose,
  older: next,
  isRead: true,
});

function oldestOf(now: Window, { rows, newest }: RowsAnswer): Window {
  return { ...now, rows, older: null, newer: newest, waiting: [], isMoreWaiting: now.isMoreWaiting };
}

function withOlder(now: Window, { rows: older, next }: RowsAnswer): Window {
  const rows = [...now.rows, ...older];
  const kept = rows.slice(-MOST_KEPT);
  const newer = kept.length < rows.length ? cursorOf(kept[0]) : now.newer;
  return { ...now, rows: kept, older: next, newer };
}

function withNewer(now: Window, { rows: newer, newest }: RowsAnswer): Window {
  const rows = [...newer, ...now.rows];
  const kept = rows.slice(0, MOST_KEPT);
  const older = kept.length < rows.length ? cursorOf(kept.at(-1)) : now.older;
  const waiting = now.waiting.filter(({ request_id: id }) => !isAmong(newer, id));
  // Fewer than were asked for: the newest row is among them.
  return { ...now, rows: kept, older, newer: newer.length < PAGE ? null : newest, waiting };
}

/** As the API writes the place of a row. */
const cursorOf = (row: Row | undefined): string | null =>
  row === undefined ? null : `${Date.parse(row.startTime)}-${row.request_id}`;

/** The first page, read again, with what was read before it. */
function merged(now: Window, first: RowsAnswer, isShown: boolean): Window {
  if (now.newer !== null) return now; // the newest ones are read when somebody gets there
  const isGap = first.next !== null && !first.rows.some(({ request_id: id }) => isAmong(now.rows, id));
  // Nothing is here yet, or more than a page has come: what lies between would be missing.
  if (!now.isRead || (isShown && isGap)) return shown({ ...newestOf(first), waiting: now.waiting });
  return arrived({ ...now, isMoreWaiting: now.isMoreWaiting || isGap }, first.rows, isShown);
}

const isAmong = (rows: readonly Row[], id: string): boolean => rows.some((row) => row.request_id === id);

/** New rows: on top, or among those that wait. */
function arrived(now: Window, rows: readonly Row[], isShown: boolean): Window {
  const known = new Set([...now.rows, ...now.waiting].map(({ request_id: id }) => id));
  const fresh = rows.filter(({ request_id: id }) => !known.has(id));
  if (fresh.length === 0) return now;
  const waiting = [...fresh, ...now.waiting];
  const next = {
    ...now,
    waiting: waiting.slice(0, MOST_WAITING),
    isMoreWaiting: now.isMoreWaiting || waiting.length > MOST_WAITING,
  };
  return isShown && now.isRead && now.newer === null && !next.isMoreWaiting ? shown(next) : next;
}

/** What waits, in its places: a long call stands where it began. */
function shown(now: Window): Window {
  if (now.waiting.length === 0) return now;
  const oldest = now.older === null ? null : now.rows.at(-1);
  const rows = [...now.waiting.filter(({ request_id: id }) => !isAmong(now.rows, id)), ...now.rows]
    .filter((row) => oldest === null || oldest === undefined || isBefore(row, oldest) || row === oldest)
    .toSorted((a, b) => (isBefore(a, b) ? -1 : 1))
    .slice(0, MOST_KEPT);
  const isCut = now.rows.length + now.waiting.length > MOST_KEPT;
  return { ...now, rows, older: isCut ? cursorOf(rows.at(-1)) : now.older, waiting: [] };
}

/** Whether a row stands above another one. */
const isBefore = (a: Row, b: Row): boolean =>
  a.startTime > b.startTime || (a.startTime === b.startTime && a.request_id > b.request_id);
