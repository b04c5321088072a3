// What of a capsule is replayed: the request that went to the gateway or came from the client, and the response to it.
import { Buffer } from 'node:buffer';
import type { CapsuleContent, CapsuleMetadata, KeptHeader, RecordedBytes } from '../format.ts';
import { CannotOpen } from '../seal.ts';
import type { ComparedResponse } from './compare.ts';

/** A request as it is made again. */
export interface RecordedRequest {
  readonly headers: readonly KeptHeader[];
  readonly body: Buffer;
}

/** Where an exchange was recorded: between client and proxy, or between proxy and gateway. */
export type Side = { readonly is: 'client' } | { readonly is: 'gateway'; readonly attempt: number };

/** @throws CannotOpen when the request was not kept whole */
export function requestOf(metadata: CapsuleMetadata, content: CapsuleContent, side: Side): RecordedRequest {
  const { message, body } =
    side.is === 'client'
      ? { message: metadata.request, body: content.request }
      : {
          message: attemptAt(metadata, side.attempt).request,
          body: content.attempts[side.attempt]?.request ?? Buffer.alloc(0),
        };
  if (message.body.kept_bytes < message.body.bytes)
    throw new CannotOpen(
      `the request is of ${message.body.bytes} bytes and was not kept: raise capsules.max_capsule_bytes and record again`,
    );
  return { headers: message.headers, body };
}

/** Times count from the request on. @throws CannotOpen */
export function responseOf(metadata: CapsuleMetadata, content: CapsuleContent, side: Side): ComparedResponse {
  if (side.is === 'client') {
    const { head, body, end } = metadata.response;
    const last = end === 'whole' ? 'whole' : 'broken';
    return responseFrom(head, body, content.response, last, 0);
  }
  const { head, response, end, started_ms } = attemptAt(metadata, side.attempt);
  const bytes = content.attempts[side.attempt]?.response ?? Buffer.alloc(0);
  return responseFrom(head, response, bytes, end === 'whole' ? 'whole' : 'broken', started_ms);
}

/** @throws CannotOpen */
export function attemptAt({ attempts }: CapsuleMetadata, index: number): CapsuleMetadata['attempts'][number] {
  const found = attempts[index];
  if (found !== undefined) return found;
  throw new CannotOpen(
    attempts.length === 0
      ? 'nothing went to a gateway in this call'
      : `there is no attempt ${index + 1}: the call had ${attempts.length}`,
  );
}

function responseFrom(
  head: CapsuleMetadata['response']['head'],
  recorded: RecordedBytes,
  body: Buffer,
  end: 'whole' | 'broken',
  zeroMs: number,
): ComparedResponse {
  return {
    status: head?.status ?? null,
    headers: head?.headers ?? [],
    headMs: head === null ? null : head.at_ms - zeroMs,
    body,
    pieces: recorded.pieces.map(([at, bytes]) => [at - zeroMs, bytes]),
    end,
    isCut: recorded.kept_bytes < recorded.bytes,
  };
}
