// New rows as they come, by `GET /spend/rows/live`: one stream while the page is seen. A stream that breaks goes on where it
// was. Where streams do not get through, or the server has no place for one more, the first page is asked for again and again.
import { ApiError, open } from '../../api/client.ts';
import { eventsOf } from '../../api/events.ts';
import type { Row } from '../../api/rows.ts';
import { messageOf } from '../../base/message.ts';

const AGAIN_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

interface Told {
  /** From now on nothing is missed; what came before has to be read. Also after rows were missed. */
  readonly begun: () => void;
  readonly rows: (rows: readonly Row[]) => void;
  readonly failed: (error: ApiError) => void;
}

export interface Follower {
  readonly stop: () => void;
}

/** @param filter as the API takes it */
export function follow(filter: URLSearchParams, told: Told): Follower {
  const path = `spend/rows/live${filter.size === 0 ? '' : `?${filter}`}`;
  let place = '';
  let failures = 0;
  let abort: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;

  const begin = async (): Promise<void> => {
    const mine = new AbortController();
    abort = mine;
    try {
      const headers = { accept: 'text/event-stream', ...(place === '' ? {} : { 'last-event-id': place }) };
      const response = await open('GET', path, { signal: mine.signal, headers });
      for await (const event of eventsOf(response)) {
        if (mine.signal.aborted) return;
        failures = 0;
        const isFirst = place === '';
        place = event.id;
        const data = JSON.parse(event.data) as { readonly missed?: boolean; readonly rows?: readonly Row[] };
        if (event.name === 'missed' || (event.name === 'start' && (isFirst || data.missed === true)))
          told.begun();
        if (event.name === 'rows') told.rows(data.rows ?? []);
      }
      again(AGAIN_MS / 10);
    } catch (thrown) {
      if (mine.signal.aborted) return;
      failures += 1;
      const error = thrown instanceof ApiError ? thrown : new ApiError(messageOf(thrown), 0);
      if (error.status === 401 || error.status === 403) return told.failed(error);
      // Lists that cannot be followed can still be read; that fails by itself where it does.
      if (error.status !== 0) told.begun();
      else if (failures > 1) told.failed(error);
      again(Math.min(AGAIN_MS * failures, LONGEST_PAUSE_MS));
    }
  };

  const again = (ms: number): void => {
    abort = null;
    timer = setTimeout(() => void begin(), ms);
  };

  const stop = (): void => {
    abort?.abort();
    abort = null;
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };

  /** A page that nobody sees takes no place among the listeners. */
  const attend = (): void => {
    stop();
    if (document.visibilityState === 'visible') void begin();
  };

  document.addEventListener('visibilitychange', attend);
  attend();
  return {
    stop: () => {
      document.removeEventListener('visibilitychange', attend);
      stop();
    },
  };
}
