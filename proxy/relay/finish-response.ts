// How an answer is ended towards the client: in one piece when it was gathered, with last words when it broke. Decides
// nothing; relay.ts does.
import { Buffer } from 'node:buffer';
import type { ResponseSink } from './response-sink.ts';

/** A client that does not read its error event is cut all the same. */
const LAST_WORDS_MS = 5_000;
/** fetch() drops what its caller has not read yet when the connection breaks; who has read the event leaves by itself. */
const LISTENING_MS = 250;

/** Sends an answer of which nothing has been sent. @param writeHead makes its head, with these headers more (flat) */
export function finishResponse(
  reply: ResponseSink,
  status: number,
  streams: boolean,
  pieces: readonly Buffer[],
  writeHead: (more: readonly string[]) => void,
): void {
  if (streams && status < 400) {
    writeHead([]);
    for (const piece of pieces) reply.write(piece);
    reply.end();
    return;
  }
  const body = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  const bodiless = status === 204 || status === 304;
  writeHead(bodiless ? [] : ['content-length', String(body.length)]);
  reply.end(body);
}

/** Sends what is left to say of a broken stream, then breaks the connection: a broken answer has no clean end. */
export function endWithEvent(reply: ResponseSink, event: Buffer): void {
  const cut = (): void => reply.destroy();
  const unread = setTimeout(cut, LAST_WORDS_MS).unref();
  reply.write(event, () => {
    clearTimeout(unread);
    setTimeout(cut, LISTENING_MS).unref();
  });
}
