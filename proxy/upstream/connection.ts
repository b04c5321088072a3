// One HTTP/1.1 connection to an upstream: an undici Client with one request at a time. After anything unexpected the
// connection is never reused, so that bytes of one response cannot end up in another.
import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, type Dispatcher } from 'undici';
import type { Indexed } from '../base/dense-set.ts';
import type { Connector } from './connector.ts';
import {
  DispatchedExchange,
  type ExchangeConnection,
  type UpstreamExchange,
  type ResponseReader,
  type HttpRequest,
} from './exchange.ts';
import type { ReceivedHead } from './response-head.ts';

/** The pool, as its connections see it. */
export interface ConnectionOwner {
  /** The exchange has ended; the connection is reusable until `idleUntil` (monotonic ms). */
  free(connection: UpstreamConnection): void;
  gone(connection: UpstreamConnection): void;
  mono(): number;
}

const HEAD_BYTES = 65_536;
/** The pool closes idle connections itself; undici's timeout must only not be shorter. */
const UNDICI_IDLE_MS = 60_000;
/**
 * Of a body that is larger, as where curl waits for `100 Continue`, the beginning goes first, and the rest a moment later: an
 * upstream that refuses by the head alone (too large, too many) and closes is heard then. In the middle of writing, Node
 * destroys the socket, and the answer with it: of 20 calls with 9 MB that HAProxy refused with 413, none was answered so, and
 * all of them with the wait.
 */
const LARGE_BYTES = 1_048_576;
const FIRST_BYTES = 65_536;
const REFUSAL_MS = 10;

/** The request that the connection serves, until its response has ended. */
interface CurrentRequest {
  readonly exchange: UpstreamExchange;
  /** `bytesRead` of the socket when it was sent. */
  readonly readBefore: number;
  readonly isRepeatable: boolean;
  /** The rest of a large body is still to be handed to the socket. */
  isSending: boolean;
  /** Some of it never left this process. */
  hasUnwritten: boolean;
}

export class UpstreamConnection implements Indexed, ExchangeConnection {
  index = -1; // in the pool's DenseSet
  /** Monotonic ms; meaningful while idle. */
  idleUntil = 0;
  idleSince = 0;
  readonly #owner: ConnectionOwner;
  readonly #connector: Connector;
  readonly #client: Client;
  #socket: Socket | null = null;
  #stopOpening: (() => void) | null = null;
  #current: CurrentRequest | null = null;
  #isClosed = false;
  /** Requests that it served in full. */
  #served = 0;

  constructor(owner: ConnectionOwner, connector: Connector) {
    this.#owner = owner;
    this.#connector = connector;
    this.#client = new Client(connector.peer, {
      connect: (options, callback) => {
        this.#stopOpening = connector.open(options, (...opened) => {
          this.#stopOpening = null;
          this.#socket = opened[1];
          // Before undici's own listener; afterwards Node has emptied the buffers.
          this.#socket?.prependListener('error', (error) => this.#noteUnwritten(error));
          callback(...opened);
        });
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: 0, // the relay has its own timeouts
      bodyTimeout: 0,
      keepAliveTimeout: UNDICI_IDLE_MS,
      keepAliveMaxTimeout: UNDICI_IDLE_MS,
    });
    // If a request is not sent yet, undici reconnects by itself.
    this.#client.on('disconnect', () => {
      if (this.#current === null) this.close();
    });
  }

  /** It cannot take a request. */
  get isClosed(): boolean {
    return this.#isClosed || this.#socket?.destroyed === true;
  }

  get hasPeerEnded(): boolean {
    return this.#socket?.readableEnded === true;
  }

  get hasWritten(): boolean {
    return this.#current?.isSending !== true && this.#socket?.writableLength === 0;
  }

  /** Sends a request, as soon as the connection is open. */
  send({ method, path, headers, body }: HttpRequest, reader: ResponseReader): UpstreamExchange {
    const { pathPrefix, headers: ofTheWay } = this.#connector;
    const exchange = new DispatchedExchange(this, reader);
    const isLarge = body !== null && body.length > LARGE_BYTES;
    const current: CurrentRequest = {
      exchange,
      readBefore: this.#socket?.bytesRead ?? 0,
      isRepeatable: method === 'GET',
      isSending: isLarge,
      hasUnwritten: false,
    };
    this.#current = current;
    const more = isLarge ? [...ofTheWay, 'content-length', String(body.length)] : ofTheWay;
    this.#client.dispatch(
      {
        method,
        path: `${pathPrefix}${path}`,
        headers: more.length === 0 ? (headers as string[]) : [...more, ...headers],
        // undici takes it, and its types do not name it.
        body: isLarge ? (inTwo(body, current) as unknown as Readable) : body,
        reset: false, // undici would close the connection after a DELETE with a body
      },
      exchange,
    );
    return exchange;
  }

  sendBegins(): void {
    // One request at a time: nothing to record.
  }

  abort(_: UpstreamExchange, controller: Dispatcher.DispatchController, error: Error): void {
    controller.abort(error);
  }

  /** For a body that ends with its connection, undici reports a reset as a normal end. */
  checkEnd(_: UpstreamExchange, tell: (isWhole: boolean) => void): void {
    tell(this.#socket?.errored === null);
  }

  checkHead(head: ReceivedHead): void {
    this.#connector.checkHead(head);
  }

  explained(error: Error): Error {
    const isNew = this.#served === 0 && this.#socket !== null && this.#socket.bytesRead === 0;
    return this.#connector.explained(error, isNew);
  }

  isUndelivered(): boolean {
    const current = this.#current;
    if (current === null || this.#served === 0 || this.#socket?.bytesRead !== current.readBefore)
      return false;
    return current.hasUnwritten || current.isRepeatable;
  }

  ended(exchange: UpstreamExchange, idleMs: number): void {
    if (exchange !== this.#current?.exchange) return;
    // If the response ended before the whole request was sent, the rest of the request is still to be written.
    const isReusable = !this.isClosed && idleMs > 0 && this.hasWritten;
    this.#current = null;
    if (!isReusable) this.close();
    else {
      this.#served += 1;
      this.idleSince = this.#owner.mono();
      this.idleUntil = this.idleSince + idleMs;
      this.#owner.free(this);
    }
  }

  broke(): void {
    this.#current = null;
    this.close();
  }

  /** undici destroys the socket on each end of a connection, the upstream's own included, so all of them come by here. */
  #noteUnwritten(error: NodeJS.ErrnoException): void {
    if (this.#current !== null) this.#current.hasUnwritten = error.syscall === 'write' || !this.hasWritten;
  }

  /** Closes it and fails the exchange in flight. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopOpening?.();
    this.#owner.gone(this);
    this.#client.destroy(null, () => undefined);
  }
}

async function* inTwo(body: Buffer, current: CurrentRequest): AsyncGenerator<Buffer> {
  yield body.subarray(0, FIRST_BYTES);
  await wait(REFUSAL_MS);
  yield body.subarray(FIRST_BYTES);
  current.isSending = false;
}
