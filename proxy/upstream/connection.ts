// One connection of HTTP/1.1 to an upstream: a Client of undici's with one request at a time. A connection on which
// anything was odd is never used again: one response's bytes must not be taken for another's.
import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Indexed } from '../base/dense-set.ts';
import type { Connector } from './connector.ts';
import {
  DispatchedExchange,
  type ExchangeConnection,
  type UpstreamExchange,
  type ResponseReader,
  type HttpRequest,
} from './exchange.ts';

/** What a connection tells its pool. */
export interface ConnectionOwner {
  /** The exchange is over and the connection can take another one, until `idleUntil` (monotonic ms). */
  free(connection: UpstreamConnection): void;
  gone(connection: UpstreamConnection): void;
  mono(): number;
}

const HEAD_BYTES = 65_536;
/** The pool closes idle connections by its own clock; undici's must only not come before. */
const UNDICI_IDLE_MS = 60_000;

export class UpstreamConnection implements Indexed, ExchangeConnection {
  index = -1; // on the roster of its pool
  /** Monotonic ms; meaningful while idle. */
  idleUntil = 0;
  readonly #owner: ConnectionOwner;
  readonly #connector: Connector;
  readonly #client: Client;
  #socket: Socket | null = null;
  #stopOpening: (() => void) | null = null;
  #exchange: UpstreamExchange | null = null;
  #isClosed = false;

  constructor(owner: ConnectionOwner, connector: Connector) {
    this.#owner = owner;
    this.#connector = connector;
    this.#client = new Client(connector.peer, {
      connect: (options, callback) => {
        this.#stopOpening = connector.open(options, (...opened) => {
          this.#stopOpening = null;
          this.#socket = opened[1];
          callback(...opened);
        });
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: 0, // the clocks of the relay rule
      bodyTimeout: 0,
      keepAliveTimeout: UNDICI_IDLE_MS,
      keepAliveMaxTimeout: UNDICI_IDLE_MS,
    });
    // With a request that is not sent yet, undici connects again by itself.
    this.#client.on('disconnect', () => {
      if (this.#exchange === null) this.close();
    });
  }

  /** No request may be sent on it. */
  get isClosed(): boolean {
    return this.#isClosed || this.#socket?.destroyed === true;
  }

  get hasPeerEnded(): boolean {
    return this.#socket?.readableEnded === true;
  }

  get hasWritten(): boolean {
    return this.#socket?.writableLength === 0;
  }

  /** Sends a request, at once or when the connection is open. */
  send({ method, path, headers, body }: HttpRequest, reader: ResponseReader): UpstreamExchange {
    const { pathPrefix, headers: ofTheWay } = this.#connector;
    const exchange = new DispatchedExchange(this, reader);
    this.#exchange = exchange;
    this.#client.dispatch(
      {
        method,
        path: `${pathPrefix}${path}`,
        headers: ofTheWay.length === 0 ? (headers as string[]) : [...ofTheWay, ...headers],
        body,
        reset: false, // undici would close behind a DELETE with a body
      },
      exchange,
    );
    return exchange;
  }

  sendBegins(): void {
    // There is one at a time.
  }

  /** A reset within a body that ends with its connection is an end to undici. */
  checkEnd(_: UpstreamExchange, tell: (isWhole: boolean) => void): void {
    tell(this.#socket?.errored === null);
  }

  ended(exchange: UpstreamExchange, idleMs: number): void {
    if (exchange !== this.#exchange) return;
    this.#exchange = null;
    // A response that came before the whole request was out leaves the rest of that request on the wire.
    if (this.isClosed || idleMs === 0 || !this.hasWritten) this.close();
    else {
      this.idleUntil = this.#owner.mono() + idleMs;
      this.#owner.free(this);
    }
  }

  broke(): void {
    this.#exchange = null;
    this.close();
  }

  /** Ends it, with what is under way on it: that reader is told. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopOpening?.();
    this.#owner.gone(this);
    this.#client.destroy(null, () => undefined);
  }
}
