// Reading spend rows, in the dialect's shapes: `/spend/logs`, `/spend/logs/ui` (= `/v2`), `/spend/logs/session/ui`,
// `/spend/logs/ui/{request_id}`. Rows of requests that have been answered are there: the reader waits for the ship.
import { Fault } from '../errors/fault.ts';
import { dollarsOf, picoDollars } from '../record/cost.ts';
import { rowOf } from '../record/row.ts';
import { answerJson } from '../request/answer.ts';
import type { Exchange } from '../request/exchange.ts';
import type { DaySpend, SpendFilter, SpendPage } from '../store/store.ts';

const DAY_MS = 86_400_000;
const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1000;
/** `/spend/logs` has no paging in the dialect; more rows than this are asked for by page. */
const MAX_ROWS = 10_000;

/** `GET /spend/logs`: rows; with dates and `summarize` (the default) one object per day. */
export async function spendLogs(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const filter: SpendFilter = {
    ...text(query, 'api_key', 'apiKeyHash'),
    ...text(query, 'request_id', 'requestId'),
    ...text(query, 'user_id', 'user'),
    ...text(query, 'session_id', 'sessionId'),
    ...text(query, 'end_user', 'endUser'),
    ...between(query, false),
  };
  const dated = filter.startMs !== undefined && filter.endMs !== undefined;
  if (dated && query.get('summarize') !== 'false') {
    const days = await read(x.live.house.ledger.reader.summarize(filter));
    answerJson(x, days.map(daySummary));
    return;
  }
  const paging = { page: 1, pageSize: MAX_ROWS, order: 'newest' } as const;
  const page = await read(x.live.house.ledger.reader.query(filter, paging));
  answerJson(x, page.rows.map(rowOf));
}

/** `GET /spend/logs/ui`, `/spend/logs/v2`: a page of rows, newest first; both dates are required. */
export async function spendLogsPage(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const filter: SpendFilter = {
    ...text(query, 'api_key', 'apiKeyHash'),
    ...text(query, 'request_id', 'requestId'),
    ...text(query, 'user_id', 'user'),
    ...text(query, 'end_user', 'endUser'),
    ...text(query, 'session_id', 'sessionId'),
    ...text(query, 'model', 'modelGroup'),
    ...text(query, 'tag', 'tag'),
    ...status(query),
    ...usd(query, 'min_spend', 'minSpendPico'),
    ...usd(query, 'max_spend', 'maxSpendPico'),
    ...between(query, true),
  };
  const paging = { ...pages(query), order: 'newest' } as const;
  answerPage(x, await read(x.live.house.ledger.reader.query(filter, paging)), paging);
}

/** `GET /spend/logs/session/ui`: the calls of one session, oldest first. */
export async function spendLogsOfSession(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const sessionId = query.get('session_id');
  if (sessionId === null || sessionId === '') throw wrong('session_id', 'is required');
  const paging = { ...pages(query), order: 'oldest' } as const;
  answerPage(x, await read(x.live.house.ledger.reader.query({ sessionId }, paging)), paging);
}

/** `GET /spend/logs/ui/{request_id}`: one row. */
export async function spendLog(x: Exchange, requestId: string): Promise<void> {
  const paging = { page: 1, pageSize: 1, order: 'newest' } as const;
  const { rows } = await read(x.live.house.ledger.reader.query({ requestId }, paging));
  const [row] = rows;
  if (row === undefined) throw wrong('request_id', 'names no row');
  answerJson(x, rowOf(row));
}

function answerPage(x: Exchange, page: SpendPage, paging: { page: number; pageSize: number }): void {
  answerJson(x, {
    data: page.rows.map(rowOf),
    total: page.total,
    page: paging.page,
    page_size: paging.pageSize,
    total_pages: Math.ceil(page.total / paging.pageSize),
  });
}

function daySummary(day: DaySpend): Record<string, unknown> {
  const sums = (of: Readonly<Record<string, bigint>>): Record<string, number> =>
    Object.fromEntries(Object.entries(of).map(([name, pico]) => [name, dollarsOf(pico)]));
  return {
    startTime: day.day,
    spend: dollarsOf(day.spendPico),
    users: sums(day.byEndUser),
    models: sums(day.byModel),
    ...sums(day.byApiKey),
  };
}

async function read<T>(rows: Promise<T>): Promise<T> {
  try {
    return await rows;
  } catch (cause) {
    throw new Fault('store_unavailable', 'The spend store does not answer; the journal keeps the rows.', {
      cause,
    });
  }
}

function wrong(param: string, what: string): Fault {
  return new Fault('invalid_parameter', `The query parameter ${param} ${what}.`, { param });
}

function text<K extends string>(query: URLSearchParams, name: string, key: K): Partial<Record<K, string>> {
  const value = query.get(name);
  return value === null || value === '' ? {} : ({ [key]: value } as Record<K, string>);
}

function usd<K extends string>(query: URLSearchParams, name: string, key: K): Partial<Record<K, number>> {
  const value = query.get(name);
  if (value === null || value === '') return {};
  const pico = picoDollars(value);
  if (pico === null) throw wrong(name, 'must be a number of US dollars, 0 or more');
  return { [key]: pico } as Record<K, number>;
}

function status(query: URLSearchParams): Pick<SpendFilter, 'status'> {
  const value = query.get('status_filter');
  if (value === null || value === '') return {};
  if (value === 'success' || value === 'failure') return { status: value };
  throw wrong('status_filter', 'must be success or failure');
}

function pages(query: URLSearchParams): { page: number; pageSize: number } {
  return {
    page: whole(query, 'page', 1, Number.MAX_SAFE_INTEGER),
    pageSize: whole(query, 'page_size', DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE),
  };
}

function whole(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const value = query.get(name);
  if (value === null || value === '') return fallback;
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1 || count > most)
    throw wrong(name, `must be a number from 1 to ${most}`);
  return count;
}

/** Half open: an end that is a plain day includes that day, an end with a time includes that second. */
function between(query: URLSearchParams, required: boolean): Pick<SpendFilter, 'startMs' | 'endMs'> {
  const start = query.get('start_date');
  const end = query.get('end_date');
  if (required && (start === null || end === null)) {
    throw new Fault('invalid_parameter', 'Start date and end date are required.', { param: 'start_date' });
  }
  const from = start === null ? null : instant('start_date', start);
  const to = end === null ? null : instant('end_date', end);
  if (from !== null && to !== null && to.ms < from.ms) throw wrong('end_date', 'is before start_date');
  return {
    ...(from === null ? {} : { startMs: from.ms }),
    ...(to === null ? {} : { endMs: to.ms + (to.plainDay ? DAY_MS : 1000) }),
  };
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}))?Z?$/;

function instant(name: string, value: string): { ms: number; plainDay: boolean } {
  const match = INSTANT.exec(value);
  const ms = match === null ? NaN : Date.parse(`${match[1]}T${match[2] ?? '00:00:00'}Z`);
  const exact = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(match?.[1] ?? '?');
  if (!exact) throw wrong(name, 'must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, UTC');
  return { ms, plainDay: match?.[2] === undefined };
}
