// The port: takes connections, keeps their clocks on one timer, and ends them in order. Knows nothing of what is served.
import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';
import { Roster } from '../base/roster.ts';
import type { Fault } from '../errors/fault.ts';
import type { BadMessage } from '../wire/head.ts';
import { BodyMemory } from '../wire/headroom.ts';
import { Connection, type Host } from './connection.ts';
import type { Incoming } from './incoming.ts';
import { ReadMemory } from './reading.ts';
import type { Reply } from './reply.ts';

/** What is served on a port. */
export interface Served {
  request(incoming: Incoming, reply: Reply): void;
  /** See `Host.refusal`. */
  refusal(why: BadMessage | 'timeout'): string;
  /** An exchange has ended, whole or not. */
  settled(): void;
  /** See `Host.failed`. */
  failed(error: unknown): void;
}

const TICK_MS = 1_000;

export class Listener {
  readonly #server: Server;
  readonly #connections = new Roster<Connection>();
  readonly #timer: NodeJS.Timeout;
  #draining = false;

  /** @param mono monotonic milliseconds. */
  constructor(served: Served, mono: () => number) {
    const connections = this.#connections;
    const host: Host = {
      memory: new ReadMemory(),
      bodies: new BodyMemory(),
      request: (incoming, reply) => served.request(incoming, reply),
      settled: () => served.settled(),
      refusal: (why) => served.refusal(why),
      failed: (error) => served.failed(error),
      closed: (connection) => connections.delete(connection),
      mono,
      date: dates(),
    };
    this.#server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
      const connection = new Connection(socket, host);
      connections.add(connection);
      if (this.#draining) connection.closeAfterAnswer();
    });
    this.#timer = setInterval(() => this.#check(mono()), TICK_MS).unref();
  }

  /** Binds. @returns the address in use. @throws the system's error (EADDRINUSE, EACCES). */
  listen(options: ListenOptions): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(options, () => {
        this.#server.off('error', reject);
        resolve(this.#server.address() as AddressInfo);
      });
    });
  }

  /** Still takes connections; each of them, and of those there are, ends with the answer to its present request. */
  retire(): void {
    this.#draining = true;
    this.#connections.forEach((connection) => connection.closeAfterAnswer());
  }

  /** Takes no further connections. */
  shut(): void {
    this.#server.close();
  }

  /** Closes connections without an exchange. @param fresh also those that have not had one yet */
  closeIdle(fresh: boolean): void {
    this.#connections.forEach((connection) => connection.closeIdle(fresh));
  }

  /** Has every exchange end with `fault`. */
  interrupt(fault: Fault): void {
    this.#connections.forEach((connection) => connection.interrupt(fault));
  }

  /** Cuts what is left. */
  close(): void {
    clearInterval(this.#timer);
    this.#connections.forEach((connection) => connection.destroy());
  }

  #check(now: number): void {
    this.#connections.forEach((connection) => connection.check(now));
  }
}

/** The Date header (RFC 9110 section 6.6.1), made once a second. */
function dates(): () => string {
  let second = 0;
  let line = '';
  return () => {
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) {
      second = now;
      line = `date: ${new Date(now * 1000).toUTCString()}\r\n`;
    }
    return line;
  };
}
