// One request on a connection of undici's and its response: undici's calls become those of a reader, and what llhttp or
// undici would take for whole although it is not becomes an error.
import { Buffer } from 'node:buffer';
import type { Dispatcher } from 'undici';
import { BadResponse, closedEarly } from './bad-response.ts';
import { receivedHead, type ReceivedHead } from './response-head.ts';

/** One request, ready to send. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  /** Flat name, value list; without host, content-length and what belongs to the connection. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** Gets the response. After `onEnd` or `onError` nothing comes any more. */
export interface ResponseReader {
  /** The connection is open and the request goes out. */
  onSent(): void;
  onHead(head: ReceivedHead): void;
  /** Bytes of the body; small chunks that came together are one piece. */
  onData(bytes: Buffer): void;
  /**
   * The response is whole, as far as its framing tells.
   * @param written the whole request is with the system: its memory may be used for something else
   */
  onEnd(written: boolean): void;
  onError(error: Error): void;
}

/** A request under way. */
export interface UpstreamExchange {
  /** Stops reading; the upstream feels it. */
  pause(): void;
  resume(): void;
  /** Breaks it off; its reader hears nothing more. */
  destroy(): void;
}

/** The connection that carries an exchange. */
export interface ExchangeConnection {
  /** undici begins to send it, in this very call. */
  sendBegins(exchange: DispatchedExchange): void;
  /** undici says that the response ended: tells, now or later, whether it did, or whether something broke. */
  checkEnd(exchange: DispatchedExchange, tell: (isWhole: boolean) => void): void;
  /** The upstream ended the connection; else undici did. */
  readonly hasPeerEnded: boolean;
  /** The system has all bytes of the request, and nobody else will read them. */
  readonly hasWritten: boolean;
  /** The response came to its end. @param idleMs see `ReceivedHead` */
  ended(exchange: DispatchedExchange, idleMs: number): void;
  /** The exchange ended otherwise. */
  broke(exchange: DispatchedExchange): void;
}

/** undici passes interim (1xx) responses on without end; each restarts its count of header bytes. */
const MOST_INTERIM = 32;
/** undici says this of a malformed head behind its Content-Length, and of a body that ended early. */
const LENGTH_MISMATCH = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
/** undici says this of a connection that ended, and of one that it ends for a 100 or 101 that nobody asked for. */
const SOCKET = 'UND_ERR_SOCKET';
/** Pieces up to this size that come in one read are handed on as one: undici makes a call for each chunk, and chunks of one byte would cost 50 times as much per byte as large ones. */
const SMALL_BYTES = 1_024;

export class DispatchedExchange implements UpstreamExchange, Dispatcher.DispatchHandler {
  readonly #connection: ExchangeConnection;
  #reader: ResponseReader | null;
  #controller: Dispatcher.DispatchController | null = null;
  #head: ReceivedHead | null = null;
  #interim = 0;
  /** Small pieces of the present read. */
  #pieces: Buffer[] = [];

  constructor(connection: ExchangeConnection, reader: ResponseReader) {
    this.#connection = connection;
    this.#reader = reader;
  }

  pause(): void {
    if (this.#reader !== null) this.#controller?.pause();
  }

  resume(): void {
    if (this.#reader !== null) this.#controller?.resume();
  }

  destroy(): void {
    if (this.#reader === null) return;
    this.#reader = null;
    this.#controller?.abort(closedEarly());
    this.#connection.broke(this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isAgain = this.#controller !== null; // HTTP/2: the upstream had refused it unread
    this.#controller = controller;
    if (this.#reader === null) controller.abort(closedEarly());
    else {
      this.#connection.sendBegins(this);
      if (!isAgain) this.#reader.onSent();
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, text = ''): void {
    if (this.#reader === null) return;
    if (status >= 200) {
      this.#head = receivedHead(status, text, controller.rawHeaders ?? []);
      this.#reader.onHead(this.#head);
      return;
    }
    this.#interim += 1;
    if (status === 101) throw new BadResponse('The upstream changed the protocol, which nobody asked for.');
    if (this.#interim > MOST_INTERIM)
      throw new BadResponse(`There are more than ${MOST_INTERIM} interim responses.`);
  }

  onResponseData(_: unknown, bytes: Buffer): void {
    if (bytes.length > SMALL_BYTES) {
      this.#flush();
      this.#reader?.onData(bytes);
      return;
    }
    this.#pieces.push(bytes);
    // Runs when undici has parsed all that it has read.
    if (this.#pieces.length === 1) queueMicrotask(() => this.#flushLater());
  }

  onResponseEnd(): void {
    this.#flush();
    if (this.#reader !== null) this.#connection.checkEnd(this, (isWhole) => this.#finish(isWhole));
  }

  #finish(isWhole: boolean): void {
    const [reader, head] = [this.#reader, this.#head];
    if (reader === null || head === null) return;
    this.#reader = null;
    if (!isWhole) {
      this.#connection.broke(this);
      reader.onError(closedEarly());
      return;
    }
    try {
      reader.onEnd(this.#connection.hasWritten);
    } catch (error) {
      this.#connection.broke(this);
      reader.onError(error as Error); // a bug in its reader: that ends one exchange, not the process
      return;
    }
    this.#connection.ended(this, head.idleMs);
  }

  onResponseError(_: unknown, error: Error): void {
    this.#flushLater();
    const reader = this.#reader;
    if (reader === null) return;
    const { hasPeerEnded } = this.#connection;
    this.#reader = null;
    this.#connection.broke(this);
    const { code } = error as NodeJS.ErrnoException;
    const isMalformed =
      (code === LENGTH_MISMATCH && this.#head === null) || (code === SOCKET && !hasPeerEnded);
    reader.onError(isMalformed ? new BadResponse('The head is malformed.', { cause: error }) : error);
  }

  #flush(): void {
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    const [first] = pieces;
    this.#reader?.onData(pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces));
  }

  /** Outside of undici's calls, which end an exchange when its reader fails. */
  #flushLater(): void {
    try {
      this.#flush();
    } catch (error) {
      this.#controller?.abort(error as Error);
    }
  }
}
