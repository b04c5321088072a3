// The rows of the list: the newest first, older ones as somebody scrolls down, and new ones on top while the list is live.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from '../../api/client.ts';
import type { Row, RowsAnswer } from '../../api/rows.ts';

const PAGE = 100;
/** Rows are shipped to the store once a second. */
const LIVE_MS = 2_000;
const HOUR_MS = 3_600_000;

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

export interface Rows {
  readonly rows: readonly Row[];
  readonly whose: RowsAnswer['whose'];
  readonly is: 'loading' | 'ready' | 'failed';
  readonly sinceMs: number;
  readonly error: ApiError | null;
  /** Older rows are there. */
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly again: () => void;
}

const NONE = { rows: [], whose: 'all', next: null, newest: null } as const satisfies RowsAnswer;

function queryOf({ find, range, filters }: Wanted): string {
  const query = new URLSearchParams();
  if (find !== '') query.set('request_id', find);
  else {
    query.set('start', new Date(Date.now() - HOURS[range] * HOUR_MS).toISOString());
    for (const [name, value] of Object.entries(filters)) {
      if (value !== '') query.set(FILTERS[name as FilterName], value);
    }
  }
  return query.toString();
}

/** @param isLive new rows are put on top as they come */
export function useRows(wanted: Wanted, isLive: boolean): Rows {
  const [asked, setAsked] = useState(0);
  const [answer, setAnswer] = useState<RowsAnswer>(NONE);
  const [state, setState] = useState<Pick<Rows, 'is' | 'sinceMs' | 'error'>>(loading);
  const isReading = useRef(false);
  const key = JSON.stringify(wanted);
  const query = useRef('');

  useEffect(() => {
    const abort = new AbortController();
    query.current = queryOf(wanted);
    setState(loading());
    setAnswer(NONE);
    get<RowsAnswer>(`spend/rows?limit=${PAGE}&${query.current}`, abort.signal)
      .then((first) => {
        setAnswer(first);
        setState({ is: 'ready', sinceMs: 0, error: null });
        return null;
      })
      .catch((thrown: unknown) => {
        if (!abort.signal.aborted) setState({ is: 'failed', sinceMs: 0, error: errorOf(thrown) });
      });
    return () => abort.abort();
  }, [key, asked]);

  useEffect(() => {
    if (!isLive || state.is !== 'ready') return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // The first page again: a call that began before the newest one may have ended after it.
      get<RowsAnswer>(`spend/rows?limit=${PAGE}&${query.current}`, abort.signal)
        .then((first) => {
          setAnswer(withNewer(answer, first));
          return null;
        })
        .catch((thrown: unknown) => {
          if (!abort.signal.aborted) setState({ is: 'ready', sinceMs: 0, error: errorOf(thrown) });
        });
    }, LIVE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [isLive, state.is, answer]);

  const more = (): void => {
    if (answer.next === null || isReading.current) return;
    isReading.current = true;
    get<RowsAnswer>(`spend/rows?limit=${PAGE}&${query.current}&before=${encodeURIComponent(answer.next)}`)
      .then((older) => {
        setAnswer((now) => ({ ...now, rows: [...now.rows, ...older.rows], next: older.next }));
        return null;
      })
      .catch((thrown: unknown) => setState({ is: 'ready', sinceMs: 0, error: errorOf(thrown) }))
      .finally(() => {
        isReading.current = false;
      });
  };

  return {
    ...state,
    rows: answer.rows,
    whose: answer.whose,
    hasMore: answer.next !== null,
    more,
    again: () => setAsked((n) => n + 1),
  };
}

function loading(): Pick<Rows, 'is' | 'sinceMs' | 'error'> {
  return { is: 'loading', sinceMs: Date.now(), error: null };
}

/**
 * What is on the first page now, and the older rows that were read before. A new value even where nothing came, so that the
 * next look is set.
 */
function withNewer(now: RowsAnswer, first: RowsAnswer): RowsAnswer {
  const shown = new Set(first.rows.map(({ request_id: id }) => id));
  const oldest = first.rows.at(-1);
  // More than a page has come since the last look: what lies between would be missing.
  const isGap = now.rows.length > 0 && !now.rows.some(({ request_id: id }) => shown.has(id));
  if (oldest === undefined || isGap || first.next === null) return first;
  const older = now.rows.filter(
    ({ request_id: id, startTime }) => !shown.has(id) && startTime <= oldest.startTime,
  );
  return { ...first, rows: [...first.rows, ...older], next: older.length === 0 ? first.next : now.next };
}

function errorOf(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError(String(thrown), 0);
}
