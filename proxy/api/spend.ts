// Reading spend rows, in the dialect's shapes: `/spend/logs`, `/spend/logs/ui` (= `/v2`), `/spend/logs/session/ui`,
// `/spend/logs/ui/{request_id}`. Rows of completed requests are always there: the reader waits until the journal is shipped.
import { dollarsOf } from '../spend/record/cost.ts';
import { rowOf } from '../spend/record/row.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { DaySpend, SpendFilter, SpendPage } from '../spend/store/store.ts';
import { between, pages, read, stated, status, text, usd, wrong } from './spend-query.ts';

/** `/spend/logs` has no paging in the dialect; more rows than this need the paged endpoint. */
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
    const days = await read(x.active.services.ledger.reader.summarize(filter));
    sendJson(x, days.map(daySummary));
    return;
  }
  const paging = { page: 1, pageSize: MAX_ROWS, order: 'newest', counts: false } as const;
  const page = await read(x.active.services.ledger.reader.query(filter, paging));
  sendJson(x, page.rows.map(rowOf));
}

/** LiteLLM filters by these: whoever asks must not take all rows for those that match. */
const NOT_HERE = ['key_alias', 'model_id', 'error_code', 'error_message', 'cache_hit_filter', 'search'];

/** `GET /spend/logs/ui`, `/spend/logs/v2`: a page of rows, newest first; both dates are required. */
export async function spendLogsPage(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  for (const name of NOT_HERE) if ((query.get(name) ?? '') !== '') throw wrong(name, 'is no filter here');
  const filter: SpendFilter = {
    ...text(query, 'api_key', 'apiKeyHash'),
    ...text(query, 'request_id', 'requestId'),
    ...text(query, 'user_id', 'user'),
    ...text(query, 'team_id', 'team'),
    ...text(query, 'end_user', 'endUser'),
    ...text(query, 'session_id', 'sessionId'),
    ...text(query, 'model_group', 'modelGroup'),
    ...text(query, 'model', 'modelGroup'),
    ...text(query, 'tag', 'tag'),
    ...status(query, 'status_filter'),
    ...usd(query, 'min_spend', 'minSpendPico'),
    ...usd(query, 'max_spend', 'maxSpendPico'),
    ...between(query, true),
  };
  const paging = { ...pages(query), order: 'newest' } as const;
  sendPage(x, await read(x.active.services.ledger.reader.query(filter, paging)), paging);
}

/** `GET /spend/logs/session/ui`: the calls of one session, oldest first. */
export async function spendLogsOfSession(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const sessionId = stated(query, 'session_id');
  if (sessionId === null) throw wrong('session_id', 'is required');
  const paging = { ...pages(query), order: 'oldest' } as const;
  sendPage(x, await read(x.active.services.ledger.reader.query({ sessionId }, paging)), paging);
}

/** `GET /spend/logs/ui/{request_id}`: one row. */
export async function spendLog(x: Exchange, requestId: string): Promise<void> {
  const paging = { page: 1, pageSize: 1, order: 'newest', counts: false } as const;
  const { rows } = await read(x.active.services.ledger.reader.query({ requestId }, paging));
  const [row] = rows;
  if (row === undefined) throw wrong('request_id', 'names no row');
  sendJson(x, rowOf(row));
}

function sendPage(x: Exchange, page: SpendPage, paging: { page: number; pageSize: number }): void {
  sendJson(x, {
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
