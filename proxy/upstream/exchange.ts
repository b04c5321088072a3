// One request on an undici connection and its response. Translates undici's handler calls into those of a ResponseReader,
// and turns incomplete responses that llhttp or undici would accept into errors.
import { Buffer } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { ownCode } from './failures.ts';
import { asError } from '../base/as-error.ts';
import { BadResponse, closedEarly } from './bad-response.ts';
import { Undelivered } from './undelivered.ts';
import { receivedHead, type ReceivedHead } from './response-head.ts';

/** One request, ready to send. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  /** Flat name, value list; without host, content-length and what belongs to the connection. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** Receives the response. Nothing follows `onEnd` or `onError`. */
export interface ResponseReader {
  /** The connection is open and the request is being sent. */
  onSent(): void;
  /** The request did not reach the upstream in full; it is sent again on a fresh connection, and `onSent` follows again. */
  onResend?(): void;
  onHead(head: ReceivedHead): void;
  /** Bytes of the body; small chunks of one read are joined. */
  onData(bytes: Buffer): void;
  /**
   * The response is complete according to its framing.
   * @param written the whole request was written to the socket, so its memory may be reused
   */
  onEnd(written: boolean): void;
  onError(error: Error): void;
}

/** A request under way. Once its reader was told the end, nothing here does anything. */
export interface UpstreamExchange {
  /** Stops reading (back-pressure). */
  pause(): void;
  resume(): void;
  /** Aborts it; its reader gets no further calls. */
  destroy(): void;
}

/** The connection that carries an exchange. */
export interface ExchangeConnection {
  /** undici starts to send it, synchronously. */
  sendBegins(exchange: DispatchedExchange): void;
  /** Ends what undici has begun to send. */
  abort(exchange: DispatchedExchange, controller: Dispatcher.DispatchController, error: Error): void;
  /** Called when undici reports the end of a response: calls back, now or later, with whether it is complete; the first call counts. */
  checkEnd(exchange: DispatchedExchange, tell: (isWhole: boolean) => void): void;
  /** @throws an error instead of a response that does not come from the upstream */
  checkHead(head: ReceivedHead): void;
  /** An error in the words of the configuration. */
  explained(error: Error): Error;
  /** The upstream closed the connection, not undici. */
  readonly hasPeerEnded: boolean;
  /** The connection served requests before this one, and closed before the upstream had the whole of this one. */
  isUndelivered(): boolean;
  /** All bytes of the request were written to the socket and are not needed any more. */
  readonly hasWritten: boolean;
  /** The response ended normally. @param idleMs see `ReceivedHead` */
  ended(exchange: DispatchedExchange, idleMs: number): void;
  /** The exchange ended with an error or was aborted. */
  broke(exchange: DispatchedExchange): void;
}

/** undici has no limit on interim (1xx) responses, and each one resets its count of header bytes. */
const MOST_INTERIM = 128;
/** undici's code for malformed headers after Content-Length, and for a body that ended early. */
const LENGTH_MISMATCH = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
/** undici's code for a closed connection, and for one that it closes after an unexpected 100 or 101. */
const SOCKET = 'UND_ERR_SOCKET';
/** Chunks up to this size from one read are joined: undici makes one call per chunk, so chunks of one byte would cost 50
 * times as much per byte as large ones. */
const SMALL_BYTES = 1_024;

export class DispatchedExchange implements UpstreamExchange, Dispatcher.DispatchHandler {
  readonly #connection: ExchangeConnection;
  #reader: ResponseReader | null;
  #controller: Dispatcher.DispatchController | null = null;
  /** `ReceivedHead.idleMs`, once there is a head; the rest of it is not kept while a stream runs. */
  #idleMs: number | null = null;
  #interim = 0;
  /** Small pieces of the current read: the first one, and others if there are any. Of an event stream there mostly are none. */
  #piece: Buffer | null = null;
  #morePieces: Buffer[] | null = null;
  readonly #whenParsed = (): void => this.#flushLater();

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
    this.#leave(closedEarly());
  }

  /** Ends it with an error of ours. Before it has begun, undici drops it when its turn comes. */
  fail(error: Error): void {
    this.#leave(error)?.onError(error);
  }

  /** @returns the reader that it had until now */
  #leave(error: Error): ResponseReader | null {
    const reader = this.#reader;
    if (reader === null) return null;
    this.#reader = null;
    if (this.#controller !== null) this.#connection.abort(this, this.#controller, error);
    this.#connection.broke(this);
    return reader;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isAgain = this.#controller !== null; // HTTP/2: the upstream had refused the stream unprocessed
    this.#controller = controller;
    if (this.#reader === null) controller.abort(closedEarly());
    else {
      this.#connection.sendBegins(this);
      if (!isAgain) this.#reader.onSent();
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    text = '',
  ): void {
    controller.rawHeaders = null; // a Buffer for each name and value
    try {
      this.#takeHead(status, headers, text);
    } catch (error) {
      this.fail(asError(error));
    }
  }

  #takeHead(status: number, headers: IncomingHttpHeaders, text: string): void {
    if (this.#reader === null) return;
    if (status >= 200) {
      const head = receivedHead(status, text, headers);
      this.#idleMs = head.idleMs;
      this.#connection.checkHead(head);
      this.#reader.onHead(head);
      return;
    }
    if (status < 100) throw new BadResponse(`The status ${status} is none of HTTP.`);
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
    if (this.#piece !== null) (this.#morePieces ??= []).push(bytes);
    else {
      this.#piece = bytes;
      queueMicrotask(this.#whenParsed); // runs when undici has parsed all that it has read
    }
  }

  onResponseEnd(): void {
    this.#flush();
    if (this.#reader !== null) this.#connection.checkEnd(this, (isWhole) => this.#finish(isWhole));
  }

  #finish(isWhole: boolean): void {
    const [reader, idleMs] = [this.#reader, this.#idleMs];
    if (reader === null || idleMs === null) return;
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
      reader.onError(asError(error)); // a bug in its reader: that ends one exchange, not the process
      return;
    }
    this.#connection.ended(this, idleMs);
  }

  onResponseError(_: unknown, error: Error): void {
    this.#flushLater();
    const reader = this.#reader;
    if (reader === null) return;
    const { hasPeerEnded } = this.#connection;
    const isUndelivered = this.#idleMs === null && this.#interim === 0 && this.#connection.isUndelivered();
    this.#reader = null;
    this.#connection.broke(this);
    if (isUndelivered) {
      reader.onError(new Undelivered('the request did not reach the upstream', { cause: error }));
      return;
    }
    const code = ownCode(error);
    const isMalformed =
      (code === LENGTH_MISMATCH && this.#idleMs === null) || (code === SOCKET && !hasPeerEnded);
    reader.onError(
      isMalformed
        ? new BadResponse('The head is malformed.', { cause: error })
        : this.#connection.explained(error),
    );
  }

  #flush(): void {
    const [first, more] = [this.#piece, this.#morePieces];
    if (first === null) return;
    this.#piece = this.#morePieces = null;
    this.#reader?.onData(more === null ? first : Buffer.concat([first, ...more]));
  }

  /** For use outside of undici's handler calls, which already abort an exchange whose reader throws. */
  #flushLater(): void {
    try {
      this.#flush();
    } catch (error) {
      this.#controller?.abort(asError(error));
    }
  }
}
