// HTTP/2 to one upstream origin: few connections with many requests each (`allow_h2`). If the upstream does not choose it
// in TLS (ALPN), requests go to a pool of HTTP/1.1 connections.
import type { LookupFunction } from 'node:net';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { Connector } from './connector.ts';
import type { UpstreamExchange, ResponseReader, HttpRequest } from './exchange.ts';
import { ForwardingExchange } from './forwarding-exchange.ts';
import type { HttpProxy } from './http-proxies.ts';
import { Http1Only, MOST_STREAMS, MultiplexedConnection, NoFreeStream } from './multiplexed-connection.ts';
import { ConnectionPool, type Pool } from './pool.ts';

/** After this time HTTP/2 is tried again: the upstream may have been replaced. */
const HTTP1_MS = 600_000;

export class MultiplexedPool implements Pool {
  readonly #connector: Connector;
  readonly #http1: ConnectionPool;
  readonly #mono: () => number;
  readonly #connections = new Set<MultiplexedConnection>();
  #isClosing = false;
  /** Monotonic ms; until then the upstream is assumed to speak only HTTP/1.1. */
  #http1Until = -Infinity;
  /** Streams per connection, as the upstream has said last. */
  #mostStreams = MOST_STREAMS;

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
    const exchange = new MovableExchange(reader, {
      http1: () => {
        this.#http1Until = this.#mono() + HTTP1_MS;
        return this.#http1.send(request, reader);
      },
      anotherConnection: (again) => this.#connection(request).send(request, again, 'stays'),
    });
    exchange.follow(this.#connection(request).send(request, exchange, 'moves'));
    return exchange;
  }

  sweep(now: number): void {
    this.#http1.sweep(now);
    for (const connection of this.#connections)
      if (connection.isIdle && connection.size === 0) this.#remove(connection);
      else connection.sweep();
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

  #connection({ body }: HttpRequest): MultiplexedConnection {
    for (const connection of this.#connections)
      if (connection.hasFreeStream(this.#mostStreams, body?.length ?? 0)) return connection;
    const opened = new MultiplexedConnection(this.#connector, {
      idle: () => {
        if (this.#isClosing && opened.isIdle) this.#remove(opened);
      },
      // One at least: a connection of its own for each request is all that is left then.
      allows: (streams) => (this.#mostStreams = Math.max(1, Math.min(MOST_STREAMS, streams))),
    });
    this.#connections.add(opened);
    return opened;
  }

  #remove(connection: MultiplexedConnection): void {
    this.#connections.delete(connection);
    connection.destroy();
  }
}

/** How a request is sent that could not be sent where it was. */
interface OtherWays {
  http1(): UpstreamExchange;
  anotherConnection(reader: ResponseReader): UpstreamExchange;
}

/** Restarts an exchange over HTTP/1.1 if the upstream does not speak HTTP/2, or on another connection if this one is full. */
class MovableExchange extends ForwardingExchange {
  readonly #ways: OtherWays;
  #hasMoved = false;

  constructor(reader: ResponseReader, ways: OtherWays) {
    super(reader);
    this.#ways = ways;
  }

  /** The request was sent there, unless it has moved on meanwhile. */
  follow(exchange: UpstreamExchange): void {
    if (!this.#hasMoved) this.exchange = exchange;
  }

  override onError(error: Error): void {
    if (error instanceof Http1Only || error instanceof NoFreeStream) {
      this.#hasMoved = true;
      this.exchange = error instanceof Http1Only ? this.#ways.http1() : this.#ways.anotherConnection(this);
    } else this.reader.onError(error);
  }
}
