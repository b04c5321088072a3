// The connections to one upstream origin. The last one to become idle is used first, so that those beyond the need grow
// old and close; a request never waits for another one's connection.
import { Roster } from '../base/roster.ts';
import type { ReadMemory } from '../http/reading.ts';
import {
  checkRequest,
  closedEarly,
  UpstreamConnection,
  type AnswerReader,
  type Keeper,
  type UpstreamRequest,
} from './connection.ts';
import { dial, type Address, type SessionCache } from './dial.ts';
import { unbracketed, type HttpProxy } from './http-proxies.ts';

/** A request under way. */
export interface Sending {
  /** Stops reading; the upstream feels it. */
  pause(): void;
  resume(): void;
  /** Breaks it off; its reader hears nothing more. */
  destroy(): void;
}

export class Pool {
  readonly #address: Address;
  readonly #memory: ReadMemory;
  readonly #keeper: Keeper;
  readonly #sessions: SessionCache = { session: null };
  readonly #fixed: string;
  readonly #before: string;
  readonly #all = new Roster<UpstreamConnection>();
  readonly #idle: UpstreamConnection[] = [];
  #closing = false;

  constructor(origin: string, proxy: HttpProxy | null, memory: ReadMemory, mono: () => number) {
    const { protocol, hostname, host, port } = new URL(origin);
    const secure = protocol === 'https:';
    this.#address = {
      secure,
      host: unbracketed(hostname),
      port: port === '' ? (secure ? 443 : 80) : Number(port),
      proxy,
    };
    this.#memory = memory;
    const forwarded = proxy !== null && !secure;
    this.#before = forwarded ? origin : '';
    this.#fixed = `host: ${host}\r\nconnection: keep-alive\r\n${forwarded ? proxy.authorization : ''}`;
    this.#keeper = {
      free: (connection) => this.#free(connection),
      gone: (connection) => this.#all.delete(connection),
      mono,
    };
  }

  /** Connections that are open or being opened. */
  get size(): number {
    return this.#all.size;
  }

  /** Sends a request on an idle connection, else on a new one. @throws TypeError when it cannot be sent */
  send(request: UpstreamRequest, reader: AnswerReader): Sending {
    checkRequest(request); // before a connection is taken that nobody would give back
    const connection = this.#takeIdle() ?? this.#open();
    connection.send(request, reader);
    return connection;
  }

  /** Closes idle connections whose time is over; called about once a second. */
  sweep(now: number): void {
    while ((this.#idle[0]?.idleUntil ?? Infinity) <= now || this.#idle[0]?.closed === true)
      this.#idle.shift()?.destroy();
  }

  /** Takes no further request; what runs ends by itself. */
  close(): void {
    this.#closing = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Cuts everything. */
  destroy(): void {
    this.#closing = true;
    this.#all.forEach((connection) => connection.failed(closedEarly()));
  }

  #takeIdle(): UpstreamConnection | null {
    const now = this.#keeper.mono();
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      if (!connection.closed && connection.idleUntil > now) return connection;
      connection.destroy();
    }
  }

  #open(): UpstreamConnection {
    const connection = new UpstreamConnection(this.#keeper, this.#fixed, this.#before);
    this.#all.add(connection);
    const stop = dial(this.#address, this.#memory, this.#sessions, (bytes) => connection.take(bytes), {
      ready: (socket) => connection.opened(socket),
      failed: (error) => connection.failed(error),
    });
    connection.opening(stop);
    return connection;
  }

  #free(connection: UpstreamConnection): void {
    if (this.#closing) connection.destroy();
    else this.#idle.push(connection);
  }
}
