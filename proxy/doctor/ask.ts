// One request of the doctor, sent as calls are: over the proxy's own pools, so that what it sees is what a call would
// meet. Bounded in time and size; notes when each piece arrived.
import { Buffer } from 'node:buffer';
import { asObject, parseObject, type Json } from '../bodies/json.ts';
import { GetTimeout } from '../upstream/get.ts';
import type { Pool } from '../upstream/pool.ts';

export interface Question {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Flat. */
  readonly headers: readonly string[];
  readonly body?: unknown;
}

export interface Reply {
  readonly status: number;
  /** Lower-case names; of a repeated one the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The body was longer than what was kept. */
  readonly truncated: boolean;
  /** Milliseconds since the request began: of the head, of each piece, of the end. */
  readonly headMs: number;
  readonly pieceMs: readonly number[];
  readonly endMs: number;
  /** The stream broke off after its head. */
  readonly broken: Error | null;
}

export type Asked =
  { readonly ok: true; readonly reply: Reply } | { readonly ok: false; readonly error: Error };

interface AskLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly mono: () => number;
}

export function ask(pool: Pool, question: Question, limits: AskLimits): Promise<Asked> {
  const { method, path, headers, body } = question;
  const { timeoutMs, maxBytes, mono } = limits;
  const startedAt = mono();
  const since = (): number => Math.round(mono() - startedAt);
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const pieceMs: number[] = [];
    let bytes = 0;
    let head: Pick<Reply, 'status' | 'headers' | 'headMs'> | null = null;
    let settled = false;
    const end = (error: Error | null): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (head === null) return resolve({ ok: false, error: error ?? new Error('no head') });
      const text = Buffer.concat(pieces).toString('utf8');
      resolve({
        ok: true,
        reply: { ...head, text, truncated: bytes > maxBytes, pieceMs, endMs: since(), broken: error },
      });
    };
    const payload = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const list = payload === null ? headers : [...headers, 'content-type', 'application/json'];
    const sending = pool.send(
      { method, path, headers: list, body: payload },
      {
        onSent: () => undefined,
        onHead: ({ status, list: received }) => {
          const named = new Map<string, string>();
          for (let i = 0; i < received.length; i += 2)
            named.set((received[i] ?? '').toLowerCase(), received[i + 1] ?? '');
          head = { status, headers: named, headMs: since() };
        },
        onData: (piece) => {
          bytes += piece.length;
          pieceMs.push(since());
          if (bytes <= maxBytes) pieces.push(Buffer.from(piece)); // a copy: the piece's memory is taken back
        },
        onEnd: () => end(null),
        onError: (error) => end(error),
      },
    );
    const timer = setTimeout(() => {
      sending.destroy();
      end(new GetTimeout());
    }, timeoutMs);
  });
}

/** The JSON object that a body is, or {}. */
export const objectOf = (text: string): Json => parseObject(text) ?? {};

export const recordOf = (value: unknown): Json => asObject(value) ?? {};

/** A web page instead of an API. */
export function isPage({ headers, text }: Pick<Reply, 'headers' | 'text'>): boolean {
  return (
    /\bhtml\b/i.test(headers.get('content-type') ?? '') || /^\s*<(?:!doctype|html|head|body)\b/i.test(text)
  );
}

const LONGEST_MESSAGE = 240;

/** What an error response says, in any of the usual shapes; '' = nothing. */
export function messageOf({ text }: Pick<Reply, 'text'>): string {
  const body = objectOf(text);
  const error = recordOf(body['error']);
  const detail = recordOf(body['detail']);
  const candidates = [error['message'], body['message'], detail['error'], body['detail'], body['error']];
  const said = candidates.find((one) => typeof one === 'string' && one !== '');
  return typeof said === 'string' ? said.slice(0, LONGEST_MESSAGE) : '';
}

/** `answered 401: "no such key"` */
export function shownReply(reply: Reply): string {
  const message = messageOf(reply);
  const kind = (reply.headers.get('content-type') ?? 'no content-type').split(';', 1)[0] ?? '';
  const server = reply.headers.get('server');
  const by = server === undefined || message !== '' ? '' : `, server ${server.slice(0, 40)}`;
  return message === ''
    ? `answered ${reply.status} (${kind}${by})`
    : `answered ${reply.status}: "${message}"`;
}
