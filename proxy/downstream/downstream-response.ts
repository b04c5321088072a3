// One answer to a client. Head and first bytes leave in one write, each event of a stream in one write. A body that ends
// early is never shown as whole: it is counted against its announced length, and broken off by cutting the connection.
import { Buffer } from 'node:buffer';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Fault } from '../errors/fault.ts';
import { keptResponse, type KeptResponse } from './kept-response.ts';

/** Up to this many bytes a string costs the system less than a buffer; above, one copy is made. */
const STRING_BYTES = 16_384;

/** What an answer needs of the connection on which it goes out. */
export interface ResponseConnection {
  readonly socket: Socket;
  readonly closed: boolean;
  /** The connection ends with this answer. */
  readonly closing: boolean;
  /** The whole request has come, so the next one may follow its answer. */
  readonly requestComplete: boolean;
  /** No request after the present one. */
  closeAfterResponse(): void;
  /** The last byte was written; the message has ended only when the request was complete. */
  responseEnded(): void;
  /** Cuts it. @param how `reset`: the client gets to know that it was no proper end; bytes on their way may be lost */
  cut(how: 'close' | 'reset'): void;
}

/** Is told what becomes of an answer while it is made. */
export interface ResponseWatcher {
  /** The client left, or the connection broke, before the answer was at its end. */
  onClose(): void;
  /** A client that was slow takes bytes again. */
  onDrain(): void;
  /** The proxy ends and cannot wait for the rest: say so, and end. */
  onInterrupt(fault: Fault): void;
}

type State =
  | { readonly is: 'open' }
  /** The head is made: another answer is no longer possible. It has not left. */
  | {
      readonly is: 'made';
      readonly framing: Framing;
      readonly status: number;
      readonly headers: readonly string[];
    }
  | { readonly is: 'flowing'; readonly framing: Framing }
  | { readonly is: 'ended' };

/** How the end of the body is known: there is none, its length, chunks, or the end of the connection (RFC 9112 section 6.3). */
type Framing = 'none' | 'length' | 'chunked' | 'close';

const OPEN: State = { is: 'open' };
const ENDED: State = { is: 'ended' };

export class DownstreamResponse {
  readonly #message: ServerResponse;
  readonly #connection: ResponseConnection;
  #state: State = OPEN;
  /** Bytes of the announced length that have not come. */
  #left = 0;
  #kept: KeptResponse | null = null;
  /** Who is told; null = nobody. */
  watcher: ResponseWatcher | null = null;
  /** Why this answer must end at once; for those who begin to watch when it has been said. */
  interrupted: Fault | null = null;
  /** An answer that ends in one piece is kept, also when nobody is there to read it any more. */
  keeps = false;

  constructor(message: ServerResponse, connection: ResponseConnection) {
    this.#message = message;
    this.#connection = connection;
  }

  /** The head is made: another answer is no longer possible. */
  get headersSent(): boolean {
    return this.#state.is !== 'open';
  }

  get ended(): boolean {
    return this.#state.is === 'ended';
  }

  /** The connection is gone. */
  get destroyed(): boolean {
    return this.#connection.closed;
  }

  /** The answer, if it was to be kept and ended in one piece. */
  get kept(): KeptResponse | null {
    return this.#kept;
  }

  /** The proxy ends: whoever makes this answer ends it now. */
  interrupt(fault: Fault): void {
    if (this.ended) return;
    this.interrupted = fault;
    this.watcher?.onInterrupt(fault);
  }

  /** The connection ends with this answer. */
  closeAfter(): void {
    this.#connection.closeAfterResponse();
  }

  /**
   * Makes the head; it leaves with the first bytes of the body, or by `flushHeaders`. A body whose length is not among
   * `headers` is chunked.
   * @param headers flat name, value list; names in lower case
   * @throws TypeError when a name, a value or the text cannot stand in a head (Node checks them); nothing is sent then
   */
  writeHead(status: number, headers: readonly string[], text = STATUS_CODES[status] ?? ''): void {
    const message = this.#message;
    const framing = framingOf(status, headers, message);
    const list = [...headers];
    if (framing === 'close') {
      message.removeHeader('transfer-encoding'); // Node would chunk for an HTTP/1.0 client that sends `TE: chunked`
      this.closeAfter();
    }
    if (this.#connection.closing) list.push('connection', 'close');
    message.writeHead(status, text, list);
    this.#left = framing === 'length' ? lengthOf(headers) : 0;
    this.#state = { is: 'made', framing, status, headers };
  }

  /** Sends a lone head, when nothing of the body is there yet. */
  flushHeaders(): void {
    if (this.#state.is === 'made') this.#send(this.#state.framing, null, undefined);
  }

  /**
   * Sends a piece of the body; its bytes are copied or out when this returns.
   * @param done called when the piece has left for the system
   * @returns false: the client is slow, wait for the watcher's `onDrain`
   */
  write(piece: Buffer, done?: () => void): boolean {
    const state = this.#state;
    if (state.is === 'open' || state.is === 'ended') return true;
    const { framing } = state;
    if (framing === 'length' && piece.length > this.#left)
      throw new RangeError('the answer is longer than announced');
    if (framing === 'length') this.#left -= piece.length;
    return this.#send(framing, piece, done);
  }

  /**
   * Ends the answer properly; one that is shorter than announced is broken off.
   * @param piece the last piece, which is now this answer's: nobody may change its bytes any more
   */
  end(piece: Buffer | null = null): void {
    const state = this.#state;
    if (state.is === 'open' || state.is === 'ended') return;
    const { framing } = state;
    const last = framing === 'none' || piece?.length === 0 ? null : piece;
    const left = framing === 'length' ? this.#left - (last?.length ?? 0) : 0;
    if (left < 0) throw new RangeError('the answer is longer than announced');
    if (this.keeps && left === 0 && state.is === 'made')
      this.#kept = keptResponse(state.status, state.headers, piece);
    // To Node the end of an answer is the end of its request. While that still comes, its end is left for later.
    const isLater = !this.#connection.requestComplete && (framing === 'length' || framing === 'none');
    if (isLater || left > 0) this.#send(framing, last, undefined);
    else if (!this.destroyed) this.#finish(last);
    this.#state = ENDED;
    if (left > 0) this.#connection.cut('close');
    else this.#connection.responseEnded();
  }

  /** Breaks the connection off: what was sent is not the whole answer. */
  destroy(): void {
    const state = this.#state;
    if (state.is === 'ended') return; // the connection may be another exchange's
    // Here, a plain close says that all has come.
    const isFramedByClose = state.is !== 'open' && state.framing === 'close';
    this.#connection.cut(isFramedByClose ? 'reset' : 'close');
  }

  /** Without the cork a chunk would leave in four system calls: its size, a line end, its bytes, a line end. */
  #send(framing: Framing, piece: Buffer | null, done: (() => void) | undefined): boolean {
    this.#state = { is: 'flowing', framing };
    const message = this.#message;
    if (this.destroyed) return true;
    if (piece === null || piece.length === 0 || framing === 'none') {
      message.flushHeaders();
      done?.();
      return true;
    }
    message.cork();
    if (piece.length <= STRING_BYTES) message.write(piece.toString('latin1'), 'latin1', done);
    else message.write(Buffer.from(piece), done);
    message.uncork();
    return !this.#connection.socket.writableNeedDrain;
  }

  #finish(last: Buffer | null): void {
    if (last === null) this.#message.end();
    else if (last.length <= STRING_BYTES) this.#message.end(last.toString('latin1'), 'latin1');
    else this.#message.end(last);
  }
}

function framingOf(status: number, headers: readonly string[], { req }: ServerResponse): Framing {
  if (req.method === 'HEAD' || status === 204 || status === 304) return 'none';
  if (lengthOf(headers) >= 0) return 'length';
  return req.httpVersion === '1.1' ? 'chunked' : 'close';
}

/** -1 = not stated. */
function lengthOf(headers: readonly string[]): number {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-length') return Number(headers[i + 1]);
  }
  return -1;
}
