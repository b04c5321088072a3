// Requests of the proxy's own, for checks, facts and alerts: bounded in time and size.
import { Buffer } from 'node:buffer';
import type { Pool } from './pool.ts';

/** No complete response within the time. */
export class GetTimeout extends Error {
  override readonly name = 'GetTimeout';
}

interface GetOptions {
  readonly path: string;
  /** Flat. */
  readonly headers: readonly string[];
  readonly timeoutMs: number;
  /** Of the body; what goes beyond is not kept. */
  readonly maxBytes: number;
}

interface Complete {
  readonly status: number;
  /** Flat. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** The complete response; `body` is null when it was larger than allowed. @throws GetTimeout, or as `Pool.send` reports */
export function get(pool: Pool, options: GetOptions): Promise<Complete> {
  return exchange(pool, 'GET', null, options);
}

/** The same with a body. */
export function post(pool: Pool, body: Buffer, options: GetOptions): Promise<Complete> {
  return exchange(pool, 'POST', body, options);
}

/** The same with any method. */
export function exchange(
  pool: Pool,
  method: string,
  body: Buffer | null,
  { path, headers, timeoutMs, maxBytes }: GetOptions,
): Promise<Complete> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let [status, bytes] = [0, 0];
    let received: readonly string[] = [];
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      settle();
    };
    const request = { method, path, headers, body };
    const sending = pool.send(request, {
      onSent: () => undefined,
      onHead: (head) => {
        status = head.status;
        received = head.list;
      },
      onData: (piece) => {
        bytes += piece.length;
        if (bytes <= maxBytes) pieces.push(Buffer.from(piece)); // a copy: the piece's memory is taken back
      },
      onEnd: () =>
        end(() =>
          resolve({ status, headers: received, body: bytes <= maxBytes ? Buffer.concat(pieces) : null }),
        ),
      onError: (error) => end(() => reject(error)),
    });
    const timer = setTimeout(() => {
      sending.destroy();
      reject(new GetTimeout());
    }, timeoutMs);
  });
}
