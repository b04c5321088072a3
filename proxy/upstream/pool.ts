// The connections to one upstream origin. The most recently used idle connection is used first, so that surplus ones time
// out; a request never waits for another request's connection.
import type { LookupFunction } from 'node:net';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { DenseSet } from '../base/dense-set.ts';
import { UpstreamConnection, type ConnectionOwner } from './connection.ts';
import { Connector } from './connector.ts';
import type { UpstreamExchange, ResponseReader, HttpRequest } from './exchange.ts';
import { ReusedExchange } from './reused-exchange.ts';
import type { HttpProxy } from './http-proxies.ts';

/** Where requests to one origin are sent. */
export interface Pool {
  /** Connections that are open or being opened. */
  readonly size: number;
  /** Sends a request on an idle connection, else on a new one; see reused-exchange.ts. */
  send(request: HttpRequest, reader: ResponseReader): UpstreamExchange;
  /** Closes idle connections that timed out; called about once a second. */
  sweep(now: number): void;
  /** Takes no further requests; those in flight finish. */
  close(): void;
  /** Destroys all connections; readers get an error. */
  destroy(): void;
}

/** A pool of connections of HTTP/1.1. */
export class ConnectionPool implements Pool {
  readonly #connector: Connector;
  readonly #owner: ConnectionOwner;
  readonly #all = new DenseSet<UpstreamConnection>();
  readonly #idle: UpstreamConnection[] = [];
  #isClosing = false;

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
    this.#connector = new Connector(origin, proxy, false, tls, safeLookup);
    this.#owner = {
      free: (connection) => this.#free(connection),
      gone: (connection) => this.#all.delete(connection),
      mono,
    };
  }

  get size(): number {
    return this.#all.size;
  }

  send(request: HttpRequest, reader: ResponseReader): UpstreamExchange {
    const now = this.#owner.mono();
    const idle = this.#takeIdle(now);
    if (idle === null) return this.#open().send(request, reader);
    const exchange = new ReusedExchange(request, reader, (again) => this.#open().send(request, again));
    exchange.start(idle, now - idle.idleSince);
    return exchange;
  }

  sweep(now: number): void {
    while ((this.#idle[0]?.idleUntil ?? Infinity) <= now || this.#idle[0]?.isClosed === true)
      this.#idle.shift()?.close();
  }

  close(): void {
    this.#isClosing = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  destroy(): void {
    this.close();
    this.#all.forEach((connection) => connection.close());
  }

  #takeIdle(now: number): UpstreamConnection | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      if (!connection.isClosed && connection.idleUntil > now) return connection;
      connection.close();
    }
  }

  #open(): UpstreamConnection {
    const connection = new UpstreamConnection(this.#owner, this.#connector);
    this.#all.add(connection);
    return connection;
  }

  #free(connection: UpstreamConnection): void {
    if (this.#isClosing) connection.close();
    else this.#idle.push(connection);
  }
}
