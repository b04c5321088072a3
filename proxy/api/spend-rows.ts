// `GET /spend/rows`: rows a page at a time, the newest first, each page beginning where the last one ended; never counted, so
// that the millionth page costs as much as the first one. Users see their own.
import { beginsWithDay } from '../../config/calendar-day.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { rowOf } from '../spend/record/row.ts';
import type { SpendFilter, SpendPaging } from '../spend/store/store.ts';
import { ownPart } from './spend-own.ts';
import { read, stated, status, text, whole, wrong } from './spend-query.ts';
import { sendTagged } from './tagged-json.ts';

const MOST_ROWS = 200;
const DEFAULT_ROWS = 50;
const DAY_MS = 86_400_000;
/** Without a filter that an index serves, a look back further than this may read all rows in between. */
const MOST_DAYS = 31;
const CURSOR = /^(\d{1,15})-([\w-]{1,100})$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/;

/** What the indices of all stores serve. */
const INDEXED = ['requestId', 'sessionId', 'apiKeyHash'] as const;

export async function spendRows(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const query = new URLSearchParams(x.query);
  const { access, ledger } = x.active.services;
  const asked = askedFilter(query);
  const { apiKeyHash = null, user = null, team = null } = asked;
  const { whose, ...own } = ownPart(caller, access.directory, { apiKeyHash, user, team });
  const filter: SpendFilter = { ...asked, ...rangeOf(query, x.startMs, asked), ...own };
  const limit = whole(query, 'limit', DEFAULT_ROWS, MOST_ROWS);
  const [before, after] = [cursorIn(query, 'before'), cursorIn(query, 'after')];
  if (before !== null && after !== null) throw wrong('after', 'and `before` exclude each other');
  const place = before ?? after;
  const paging: SpendPaging = {
    page: 1,
    pageSize: limit + 1,
    order: after === null ? 'newest' : 'oldest',
    counts: false,
    ...(place === null ? {} : { after: place }),
  };
  const { rows } = await read(ledger.reader.query(filter, paging));
  const shown = rows.slice(0, limit);
  if (after !== null) shown.reverse();
  const [first, last] = [shown[0], shown.at(-1)];
  const hasMore = after === null ? rows.length > limit : shown.length > 0;
  sendTagged(x, {
    rows: shown.map(rowOf),
    next: hasMore && last !== undefined ? cursorOf(last) : null,
    newest: first === undefined ? null : cursorOf(first),
    whose,
  });
}

/** The filter of a query, without its range. @throws Fault invalid_parameter */
export function askedFilter(query: URLSearchParams): SpendFilter {
  return {
    ...text(query, 'request_id', 'requestId'),
    ...text(query, 'session_id', 'sessionId'),
    ...text(query, 'api_key', 'apiKeyHash'),
    ...text(query, 'user_id', 'user'),
    ...text(query, 'team_id', 'team'),
    ...text(query, 'end_user', 'endUser'),
    ...text(query, 'model', 'model'),
    ...text(query, 'model_group', 'modelGroup'),
    ...text(query, 'tag', 'tag'),
    ...text(query, 'call_type', 'callType'),
    ...status(query, 'status'),
  };
}

/** The last day, unless a range is asked for or an index serves the filter. */
function rangeOf(
  query: URLSearchParams,
  nowMs: number,
  asked: SpendFilter,
): Pick<SpendFilter, 'startMs' | 'endMs'> {
  const start = instantIn(query, 'start', false);
  const end = instantIn(query, 'end', true);
  if (start !== null && end !== null && end <= start) throw wrong('end', 'is before start');
  const isIndexed = INDEXED.some((name) => asked[name] !== undefined);
  if (isIndexed)
    return { ...(start === null ? {} : { startMs: start }), ...(end === null ? {} : { endMs: end }) };
  const to = end ?? nowMs + DAY_MS; // clocks of servers differ
  const from = start ?? (end ?? nowMs) - DAY_MS;
  if ((end ?? nowMs) - from > MOST_DAYS * DAY_MS)
    throw wrong(
      'start',
      `reaches back more than ${MOST_DAYS} days; ask for less at a time, or for one session or key`,
    );
  return { startMs: from, endMs: to };
}

function instantIn(query: URLSearchParams, name: string, isEnd: boolean): number | null {
  const value = stated(query, name);
  if (value === null) return null;
  const ms = INSTANT.test(value) && beginsWithDay(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(ms))
    throw wrong(name, 'must be a day (2026-01-31) or an instant (2026-01-31T10:00:00Z), UTC');
  return isEnd && value.length === 10 ? ms + DAY_MS : ms;
}

type Place = NonNullable<SpendPaging['after']>;

const cursorOf = ({ startMs, requestId }: Place): string => `${startMs}-${requestId}`;

function cursorIn(query: URLSearchParams, name: string): Place | null {
  const value = stated(query, name);
  if (value === null) return null;
  const [, startMs, requestId] = CURSOR.exec(value) ?? [];
  if (startMs === undefined || requestId === undefined)
    throw wrong(name, 'is no `next` or `newest` of an answer');
  return { startMs: Number(startMs), requestId };
}
