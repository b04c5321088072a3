// The handles of one request: sockets, clock readings, the Live captured once. No state bag: each step takes values
// and returns new ones.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Live } from '../live.ts';
import { readHeaders, type RequestHeaders } from '../wire/request-headers.ts';

export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly live: Live;
  /** Our call id. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly headers: RequestHeaders;
  /** Path as sent, without the query. */
  readonly path: string;
  /** Query as sent, without the question mark; '' when there is none. */
  readonly query: string;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly expectsContinue: boolean;
}

/** Opens an exchange on the configuration that serves now. */
export function openExchange(
  req: IncomingMessage,
  res: ServerResponse,
  live: Live,
  expectsContinue: boolean,
): Exchange {
  const { clock, ids } = live.house;
  const startMs = clock.now();
  const url = req.url as string;
  const mark = url.indexOf('?');
  return {
    req,
    res,
    live,
    id: ids.next(startMs),
    startMs,
    startedAt: clock.mono(),
    headers: readHeaders(live.rules, req.rawHeaders),
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    expectsContinue,
  };
}
