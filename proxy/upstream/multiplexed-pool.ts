// HTTP/2 to one upstream origin: few connections with many requests each (`allow_h2`). If the upstream does not choose it
// in TLS (ALPN), requests go to a pool of HTTP/1.1 connections.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';
import type { LookupFunction, Socket } from 'node:net';
import { Client } from 'undici';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { Connector } from './connector.ts';
import {
  DispatchedExchange,
  type ExchangeConnection,
  type UpstreamExchange,
  type ResponseReader,
  type HttpRequest,
} from './exchange.ts';
import type { HttpProxy } from './http-proxies.ts';
import { ConnectionPool, type Pool } from './pool.ts';

/** Streams per connection: the minimum that RFC 9113 section 6.5.2 recommends servers to allow. */
const MOST_STREAMS = 100;
/** HTTP/2 announces the end of a connection (GOAWAY), so an idle one may live as long as common load balancers keep it. */
const IDLE_MS = 25_000;
/** After this time HTTP/2 is tried again: the upstream may have been replaced. */
const HTTP1_MS = 600_000;
const HEAD_BYTES = 65_536;
/** https://nodejs.org/api/diagnostics_channel.html#http2 */
const OPENED = 'http2.client.stream.created';

/** The upstream chose HTTP/1.1; nothing was sent. */
class Http1Only extends Error {
  override readonly name = 'Http1Only';
}

export class MultiplexedPool implements Pool {
  readonly #connector: Connector;
  readonly #http1: ConnectionPool;
  readonly #mono: () => number;
  readonly #connections = new Set<MultiplexedConnection>();
  #isClosing = false;
  /** Monotonic ms; until then the upstream is assumed to speak only HTTP/1.1. */
  #http1Until = -Infinity;

  /**
   * @param mono monotonic milliseconds.
   * @param tls see Connector
   * @param safeLookup see Connector
   */
  constructor(
    origin: string,
    proxy: HttpProxy | null,
    mono: () => number,
    tls: UpstreamTls | null = null,
    safeLookup: LookupFunction | null = null,
  ) {
    this.#connector = new Connector(origin, proxy, true, tls, safeLookup);
    this.#http1 = new ConnectionPool(origin, proxy, mono, tls, safeLookup);
    this.#mono = mono;
  }

  get size(): number {
    let size = this.#http1.size;
    for (const connection of this.#connections) size += connection.size;
    return size;
  }

  send(request: HttpRequest, reader: ResponseReader): UpstreamExchange {
    if (this.#mono() < this.#http1Until) return this.#http1.send(request, reader);
    const exchange = new Http1Fallback(reader, () => {
      this.#http1Until = this.#mono() + HTTP1_MS;
      return this.#http1.send(request, reader);
    });
    exchange.follow(this.#connection().send(request, exchange));
    return exchange;
  }

  sweep(now: number): void {
    this.#http1.sweep(now);
    for (const connection of this.#connections)
      if (connection.isIdle && connection.size === 0) this.#remove(connection);
  }

  close(): void {
    this.#isClosing = true;
    this.#http1.close();
    for (const connection of this.#connections) if (connection.isIdle) this.#remove(connection);
  }

  destroy(): void {
    this.#isClosing = true;
    this.#http1.destroy();
    for (const connection of this.#connections) this.#remove(connection);
  }

  #connection(): MultiplexedConnection {
    for (const connection of this.#connections) if (connection.hasFreeStream) return connection;
    const opened = new MultiplexedConnection(this.#connector, () => {
      if (this.#isClosing && opened.isIdle) this.#remove(opened);
    });
    this.#connections.add(opened);
    return opened;
  }

  #remove(connection: MultiplexedConnection): void {
    this.#connections.delete(connection);
    connection.destroy();
  }
}

/** Restarts an exchange over HTTP/1.1 if the upstream does not speak HTTP/2. */
class Http1Fallback implements UpstreamExchange, ResponseReader {
  readonly #reader: ResponseReader;
  readonly #sendHttp1: () => UpstreamExchange;
  #exchange: UpstreamExchange | null = null;
  #isHttp1 = false;

  constructor(reader: ResponseReader, sendHttp1: () => UpstreamExchange) {
    this.#reader = reader;
    this.#sendHttp1 = sendHttp1;
  }

  follow(exchange: UpstreamExchange): void {
    if (!this.#isHttp1) this.#exchange = exchange;
  }

  pause(): void {
    this.#exchange?.pause();
  }

  resume(): void {
    this.#exchange?.resume();
  }

  destroy(): void {
    this.#exchange?.destroy();
  }

  onSent(): void {
    this.#reader.onSent();
  }

  onResend(): void {
    this.#reader.onResend?.();
  }

  onHead(head: Parameters<ResponseReader['onHead']>[0]): void {
    this.#reader.onHead(head);
  }

  onData(bytes: Parameters<ResponseReader['onData']>[0]): void {
    this.#reader.onData(bytes);
  }

  onEnd(written: boolean): void {
    this.#reader.onEnd(written);
  }

  onError(error: Error): void {
    if (!(error instanceof Http1Only)) {
      this.#reader.onError(error);
      return;
    }
    this.#isHttp1 = true;
    this.#exchange = this.#sendHttp1();
  }
}

/** undici does not expose its streams; Node publishes each one on a diagnostics channel when it is created. */
class OpenedStreams {
  #take: ((stream: ClientHttp2Stream) => void) | null = null;
  readonly #published = (message: unknown): void => {
    this.#take?.((message as { readonly stream: ClientHttp2Stream }).stream);
    this.#take = null;
  };

  constructor() {
    subscribe(OPENED, this.#published);
  }

  /** Passes on the next stream, which undici creates right after `onRequestStart`. */
  next(take: (stream: ClientHttp2Stream) => void): void {
    this.#take = take;
  }

  close(): void {
    unsubscribe(OPENED, this.#published);
  }
}

/** An undici Client for HTTP/2. It reconnects by itself when its connection has ended. */
class MultiplexedConnection implements ExchangeConnection {
  readonly hasPeerEnded = true;
  /** Frames may still wait inside the HTTP/2 session, so a request's memory is never reused. */
  readonly hasWritten = false;
  readonly #connector: Connector;
  readonly #client: Client;
  readonly #onIdle: () => void;
  readonly #sockets = new Set<Socket>();
  readonly #opened = new OpenedStreams();
  readonly #streams = new Map<DispatchedExchange, ClientHttp2Stream>();
  #stopOpening: (() => void) | null = null;
  #running = 0;

  constructor(connector: Connector, onIdle: () => void) {
    this.#connector = connector;
    this.#onIdle = onIdle;
    this.#client = new Client(connector.peer, {
      connect: (options, callback) => {
        this.#stopOpening = connector.open(options, (...opened) => {
          this.#stopOpening = null;
          const [, socket] = opened;
          if (socket === null) callback(...opened);
          else if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') {
            this.#keep(socket);
            callback(...opened);
          } else {
            socket.destroy();
            callback(new Http1Only('the upstream speaks HTTP/1.1'), null);
          }
        });
      },
      allowH2: true,
      h2Options: { maxConcurrentStreams: MOST_STREAMS },
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: 0, // the relay has its own timeouts
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
    });
  }

  /** Sockets that are open or being opened. */
  get size(): number {
    return this.#sockets.size + (this.#stopOpening === null ? 0 : 1);
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Whether the next request can start without waiting; requests pending on an open connection wait for a stream. */
  get hasFreeStream(): boolean {
    if (this.#running >= MOST_STREAMS) return false;
    const { connected, pending, running } = this.#client.stats;
    // After a GOAWAY undici reconnects only when all requests on the old connection have ended.
    return connected ? pending === 0 : running === 0;
  }

  send({ method, path, headers, body }: HttpRequest, reader: ResponseReader): UpstreamExchange {
    const exchange = new DispatchedExchange(this, reader);
    this.#running += 1;
    this.#client.dispatch(
      { method, path, headers: [...this.#connector.headers, ...headers], body },
      exchange,
    );
    return exchange;
  }

  sendBegins(exchange: DispatchedExchange): void {
    this.#opened.next((stream) => this.#streams.set(exchange, stream));
  }

  /** undici reports a reset stream (RST_STREAM) as complete, so the reset code is checked; only a closed stream has one. */
  checkEnd(exchange: DispatchedExchange, tell: (isWhole: boolean) => void): void {
    const stream = this.#streams.get(exchange);
    if (stream === undefined)
      tell(false); // a Node version without the channel: unknown
    else if (stream.closed) tell(stream.rstCode === 0);
    else stream.once('close', () => tell(stream.rstCode === 0));
  }

  checkHead(): void {
    // HTTP/2 needs TLS, so a forward proxy opens a tunnel and answers nothing in between.
  }

  explained(error: Error): Error {
    return this.#connector.explained(error, false);
  }

  /** undici itself repeats, once, what a GOAWAY or REFUSED_STREAM says was not processed (RFC 9113 section 8.7). */
  isUndelivered(): boolean {
    return false;
  }

  ended(exchange: DispatchedExchange): void {
    this.#streams.delete(exchange);
    this.#running -= 1;
    if (this.#running === 0) this.#onIdle();
  }

  broke(exchange: DispatchedExchange): void {
    this.ended(exchange);
  }

  destroy(): void {
    this.#opened.close();
    this.#stopOpening?.();
    this.#client.destroy(null, () => undefined);
    for (const socket of this.#sockets) socket.destroy(); // includes sockets detached by a GOAWAY
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
