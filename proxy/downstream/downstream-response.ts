// One response to a client. Headers and first bytes go out in one write, each event of a stream in one write. A body that
// ends early never looks complete: its bytes are counted against Content-Length, and the connection is destroyed.
import { Buffer } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Fault } from '../errors/fault.ts';
import { headerIn } from '../headers/flat-list.ts';
import { keptResponse, type KeptResponse } from './kept-response.ts';

const { STATUS_CODES } = process.getBuiltinModule('node:http'); // see server/http-server.ts

/** Up to this many bytes a string costs the system less than a buffer; above, one copy is made. */
const STRING_BYTES = 16_384;
const LINE_END = Buffer.from('\r\n');

/** Gets what the server wants of a connection that speaks another protocol now. */
export interface UpgradeOwner {
  /** The proxy is to stop: end when that suits. */
  drain(): void;
  /** The proxy stops now: tell the client and end. */
  interrupt(fault: Fault): void;
  /** The connection has closed. */
  gone(): void;
}

/** What a response needs of its connection. */
export interface ResponseConnection {
  readonly socket: Socket;
  readonly closed: boolean;
  /** Called once for each response, when its head is made: whether the head says that the connection closes after it. */
  decideClose(): boolean;
  /** The whole request was received, so the next one may follow the response. */
  readonly requestComplete: boolean;
  /** No further request after the current one. */
  closeAfterResponse(): void;
  /** The last byte was written. If the request is not complete, Node's message stays open. */
  responseEnded(): void;
  /** The request asks for another protocol, and the socket can be handed over. */
  readonly mayUpgrade: boolean;
  /** Hands the socket over; nothing is sent on it any more but by whoever has it. */
  upgrade(owner: UpgradeOwner): void;
  /** Destroys it. @param how `reset` sends RST, so that the client notices the incomplete end; buffered bytes may be lost */
  cut(how: 'close' | 'reset'): void;
}

/** Called when the operating system has taken what was written; with an error when it never will. */
export type WriteDone = (error?: Error | null) => void;

/** Gets the events of a response. */
export interface ResponseWatcher {
  /** The client disconnected before the response ended. */
  onClose(): void;
  /** A slow client accepts bytes again. */
  onDrain(): void;
  /** The proxy shuts down and cannot wait: send this error and end. */
  onInterrupt(fault: Fault): void;
}

/** Is told what the client gets, for a recording of the call. */
export interface ResponseObserver {
  /** @param headers flat */
  onHead(status: number, headers: readonly string[]): void;
  onPiece(bytes: Buffer): void;
  onEnd(how: 'whole' | 'cut'): void;
}

type State =
  | { readonly is: 'open' }
  /** The headers are set but not sent; another response is no longer possible. */
  | {
      readonly is: 'made';
      readonly framing: Framing;
      readonly status: number;
      readonly headers: readonly string[];
    }
  | { readonly is: 'flowing'; readonly framing: Framing }
  | { readonly is: 'ended' };

/** What marks the end of the body: no body, its length, chunks, or the end of the connection (RFC 9112 section 6.3). */
type Framing = 'none' | 'length' | 'chunked' | 'close';

const OPEN: State = { is: 'open' };
const ENDED: State = { is: 'ended' };

/** `write`, `end` and `destroy` do nothing after its end, so nobody has to ask before. */
export class DownstreamResponse {
  readonly #message: ServerResponse;
  readonly #connection: ResponseConnection;
  #state: State = OPEN;
  /** Bytes of Content-Length not written yet. */
  #left = 0;
  #kept: KeptResponse | null = null;
  /** Gets the events; null = nobody. */
  watcher: ResponseWatcher | null = null;
  /** Why this response must end at once; for a watcher that is set after the interrupt. */
  interrupted: Fault | null = null;
  /** null = nobody records the call. */
  observer: ResponseObserver | null = null;
  /** Whether to keep a copy of a response that ends in one piece, even after the client has left. */
  keeps = false;

  constructor(message: ServerResponse, connection: ResponseConnection) {
    this.#message = message;
    this.#connection = connection;
  }

  /** The headers are set: another response is no longer possible. */
  get headersSent(): boolean {
    return this.#state.is !== 'open';
  }

  get ended(): boolean {
    return this.#state.is === 'ended';
  }

  /** The connection has closed. */
  get destroyed(): boolean {
    return this.#connection.closed;
  }

  /** The copy, if `keeps` was set and the response ended in one piece. */
  get kept(): KeptResponse | null {
    return this.#kept;
  }

  /** The proxy shuts down: ends this response through its watcher. */
  interrupt(fault: Fault): void {
    if (this.ended) return;
    this.interrupted = fault;
    this.watcher?.onInterrupt(fault);
  }

  /** The client asks for another protocol, and `upgrade` can give it. */
  get mayUpgrade(): boolean {
    return this.#connection.mayUpgrade;
  }

  /** Ends HTTP on this connection: the caller answers the handshake. @returns its socket */
  upgrade(owner: UpgradeOwner): Socket {
    if (this.#state.is !== 'open') throw new Error('a response has begun');
    this.#state = ENDED;
    this.#connection.upgrade(owner);
    return this.#connection.socket;
  }

  /** The connection closes after this response. */
  closeAfter(): void {
    this.#connection.closeAfterResponse();
  }

  /**
   * Sets status and headers; they go out with the first bytes of the body, or by `flushHeaders`. Without a content-length
   * among `headers` the body is chunked.
   * @param headers flat name, value list; names in lower case
   * @throws TypeError for a name, value or reason phrase that HTTP does not allow (Node checks them); nothing is sent then
   */
  writeHead(status: number, headers: readonly string[], text = STATUS_CODES[status] ?? ''): void {
    const message = this.#message;
    const framing = framingOf(status, headers, message);
    if (framing === 'close') {
      message.removeHeader('transfer-encoding'); // Node would use chunks for an HTTP/1.0 client that sends `TE: chunked`
      this.closeAfter();
    }
    const list = this.#connection.decideClose() ? [...headers, 'connection', 'close'] : (headers as string[]);
    message.writeHead(status, text, list);
    this.#left = framing === 'length' ? lengthOf(headers) : 0;
    this.#state = { is: 'made', framing, status, headers };
    this.observer?.onHead(status, headers);
  }

  /** Sends the headers alone, before any body. */
  flushHeaders(): void {
    if (this.#state.is === 'made') this.#send(this.#state.framing, null, undefined);
  }

  /**
   * Writes a piece of the body; its bytes are copied or sent when this returns.
   * @param done called when the system has the piece; not at all when the connection has closed before
   * @returns false: the client is slow, wait for the watcher's `onDrain`
   */
  write(piece: Buffer, done?: WriteDone): boolean {
    const state = this.#state;
    if (state.is === 'open' || state.is === 'ended') return true;
    const { framing } = state;
    if (framing === 'length' && piece.length > this.#left)
      throw new RangeError('the response is longer than its content-length');
    if (framing === 'length') this.#left -= piece.length;
    this.observer?.onPiece(piece);
    return this.#send(framing, piece, done);
  }

  /**
   * Ends the response; if it is shorter than its Content-Length, destroys the connection.
   * @param piece the last piece; the caller must not change its bytes any more
   */
  end(piece: Buffer | null = null): void {
    const state = this.#state;
    if (state.is === 'open' || state.is === 'ended') return;
    const { framing } = state;
    const last = framing === 'none' || piece?.length === 0 ? null : piece;
    const left = framing === 'length' ? this.#left - (last?.length ?? 0) : 0;
    if (left < 0) throw new RangeError('the response is longer than its content-length');
    if (this.observer !== null && !this.destroyed) tellEnd(this.observer, last, left > 0);
    if (this.keeps && left === 0 && state.is === 'made')
      this.#kept = keptResponse(state.status, state.headers, piece);
    // For Node the end of a response also ends its request. While the request still arrives, end the message later.
    const isLater = !this.#connection.requestComplete && (framing === 'length' || framing === 'none');
    if (isLater || left > 0) this.#send(framing, last, undefined);
    else if (!this.destroyed) this.#finish(last);
    this.#state = ENDED;
    if (left > 0) this.#connection.cut('close');
    else this.#connection.responseEnded();
  }

  /** Destroys the connection: the response is incomplete. */
  destroy(): void {
    const state = this.#state;
    if (state.is === 'ended') return; // the connection may already serve another exchange
    if (!this.destroyed) this.observer?.onEnd('cut');
    // With this framing, a normal close would mark the response as complete.
    const isFramedByClose = state.is !== 'open' && state.framing === 'close';
    this.#connection.cut(isFramedByClose ? 'reset' : 'close');
  }

  #send(framing: Framing, piece: Buffer | null, done: WriteDone | undefined): boolean {
    const isFirst = this.#state.is === 'made';
    if (isFirst) this.#state = { is: 'flowing', framing };
    const message = this.#message;
    if (this.destroyed) return true;
    if (piece === null || piece.length === 0 || framing === 'none') {
      message.flushHeaders();
      done?.();
      return true;
    }
    const { socket } = this.#connection;
    if (framing !== 'chunked') {
      socket.cork(); // Node would do it, and wait for the next tick
      if (piece.length <= STRING_BYTES) message.write(piece.toString('latin1'), 'latin1', done);
      else message.write(Buffer.from(piece), done);
      socket.uncork();
    } else if (isFirst) {
      socket.cork();
      message.flushHeaders();
      writeChunk(socket, piece, done);
      socket.uncork();
    } else writeChunk(socket, piece, done);
    return !socket.writableNeedDrain;
  }

  #finish(last: Buffer | null): void {
    if (last === null) this.#message.end();
    else if (last.length <= STRING_BYTES) this.#message.end(last.toString('latin1'), 'latin1');
    else this.#message.end(last);
  }
}

/**
 * One chunk (RFC 9112 section 7.1), in one write: Node's message makes four of it, and keeps each in an object of its own until
 * they go out together, which is a tenth of what an event costs.
 */
function writeChunk(socket: Socket, piece: Buffer, done: WriteDone | undefined): void {
  const size = `${piece.length.toString(16)}\r\n`;
  if (piece.length <= STRING_BYTES) socket.write(`${size}${piece.toString('latin1')}\r\n`, 'latin1', done);
  else socket.write(Buffer.concat([Buffer.from(size), piece, LINE_END]), done);
}

function framingOf(status: number, headers: readonly string[], { req }: ServerResponse): Framing {
  if (req.method === 'HEAD' || status === 204 || status === 304) return 'none';
  if (lengthOf(headers) >= 0) return 'length';
  return req.httpVersion === '1.1' ? 'chunked' : 'close';
}

/** -1 = no content-length. */
const lengthOf = (headers: readonly string[]): number => Number(headerIn(headers, 'content-length') ?? -1);

function tellEnd(observer: ResponseObserver, last: Buffer | null, isCut: boolean): void {
  if (last !== null) observer.onPiece(last);
  observer.onEnd(isCut ? 'cut' : 'whole');
}
