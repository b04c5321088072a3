// Makes a recorded request again and records the response in the same way.
import { Buffer } from 'node:buffer';
import { asError } from '../../base/as-error.ts';
import type { KeptHeader, Piece } from '../format.ts';
import type { ComparedResponse } from './compare.ts';
import type { RecordedRequest } from './recorded.ts';

interface Target {
  readonly url: string;
  readonly method: string;
  /** null = none is sent. */
  readonly key: string | null;
}

/**
 * They are of the connection, would have the response compressed, or would put the new call among those of the conversation that
 * was recorded.
 */
const NOT_SENT: ReadonlySet<string> = new Set([
  'accept-encoding',
  'content-length',
  'transfer-encoding',
  'traceparent',
]);
const OF_CALL = /^x-(?:[\w-]+-)?(?:session|trace|call)-id$/;
const MOST_BYTES = 256 * 1024 * 1024;

export interface ReplayProgress {
  head(status: number, atMs: number): void;
  bytes(soFar: number): void;
}

/** Never rejects: no response, or half of one, is a result. @param now monotonic ms */
export async function sendAgain(
  { headers, body }: RecordedRequest,
  { url, method, key }: Target,
  signal: AbortSignal,
  now: () => number,
  progress: ReplayProgress,
): Promise<ComparedResponse & { readonly why: string | null }> {
  const startedAt = now();
  const sent = new Headers();
  for (const [name, value] of headers)
    if (value !== null && !NOT_SENT.has(name) && !OF_CALL.test(name)) sent.append(name, value);
  sent.set('accept-encoding', 'identity');
  if (key !== null) {
    sent.set('authorization', `Bearer ${key}`);
    if (sent.has('anthropic-version')) sent.set('x-api-key', key);
  }
  const pieces: Piece[] = [];
  const parts: Buffer[] = [];
  let head: { status: number; headers: readonly KeptHeader[]; atMs: number } | null = null;
  let why: string | null = null;
  let size = 0;
  try {
    const response = await fetch(url, {
      method,
      headers: sent,
      body: method === 'GET' ? null : new Uint8Array(body),
      redirect: 'manual',
      signal,
    });
    head = { status: response.status, headers: [...response.headers], atMs: now() - startedAt };
    progress.head(head.status, head.atMs);
    for await (const chunk of response.body ?? []) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > MOST_BYTES) throw new Error(`the response is longer than ${MOST_BYTES} bytes`);
      pieces.push([now() - startedAt, bytes.length]);
      parts.push(bytes);
      progress.bytes(size);
    }
  } catch (error) {
    const { cause, message } = asError(error);
    why = cause instanceof Error ? cause.message || cause.name : message;
  }
  return {
    status: head?.status ?? null,
    headers: head?.headers ?? [],
    headMs: head?.atMs ?? null,
    body: Buffer.concat(parts),
    pieces,
    end: why === null ? 'whole' : 'broken',
    isCut: false,
    why,
  };
}
