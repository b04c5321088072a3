// One client's connection: heads, bodies and answers in turn, one exchange at a time (pipelined requests wait). Owns the
// order on the wire and what becomes of bytes that nobody wants; knows nothing of routes. It is the only reader and
// writer of its socket, so a second answer can never get into the middle of a first.
import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Seated } from '../base/roster.ts';
import { Fault } from '../errors/fault.ts';
import { GrowingBytes } from '../wire/growing-bytes.ts';
import {
  BadMessage,
  checkBeginning,
  EmptyLines,
  HeadCutter,
  persists,
  readRequestHead,
} from '../wire/head.ts';
import { Incoming, type Carrier } from './incoming.ts';
import type { BodyMemory } from '../wire/headroom.ts';
import type { ReadMemory } from './reading.ts';
import { Reply, type Wire } from './reply.ts';

/** What a connection needs of its surroundings. */
export interface Host {
  readonly memory: ReadMemory;
  readonly bodies: BodyMemory;
  /** A request has come, its body may still be on its way. */
  request(incoming: Incoming, reply: Reply): void;
  /** An exchange has left the wire: its answer is with the system, or the connection is gone. */
  settled(): void;
  /** Bytes that are no request, or one that did not come in time: what to answer before the connection closes. */
  refusal(why: BadMessage | 'timeout'): string;
  /** Something was thrown that no bytes of a client may cause: a bug. Its connection is cut. */
  failed(error: unknown): void;
  closed(connection: Connection): void;
  /** Monotonic milliseconds. */
  mono(): number;
  /** `date: ...` with its line end. */
  date(): string;
}

/** Agents send long metadata headers; the usual limit of 16 KiB cuts them off with a bare 431. */
const HEAD_BYTES = 65_536;
const HEAD_MS = 30_000;
/** Bounds receiving one request, not answering it. */
const REQUEST_MS = 300_000;
/** Longer than the 60 s at which common load balancers let idle connections go: they must close first. */
const KEEP_ALIVE_MS = 75_000;
/** A client that takes none of the last bytes of an answer is let go. */
const STALL_MS = 60_000;
/** Requests that come before their turn; more is not read off the socket until then. */
const HELD_BYTES = 65_536;
/** How much of a refused body is read and thrown away, so that the client gets to read the answer. */
const DISCARD_BYTES = 8 * 1024 * 1024;
/** How long a closing connection is read: closing with unread bytes resets it and takes the answer along. */
const LINGER_MS = 1_000;

const KEEP_ALIVE = `connection: keep-alive\r\nkeep-alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`;
const CLOSE = 'connection: close\r\n';

export class Connection implements Seated, Carrier, Wire {
  seat = -1; // on the roster of the listener
  readonly #host: Host;
  readonly #socket: Socket;
  readonly #cutter = new HeadCutter(HEAD_BYTES);
  readonly #emptyLines = new EmptyLines();
  #incoming: Incoming | null = null;
  #reply: Reply | null = null;
  /** Bytes of requests that must wait. */
  #held: GrowingBytes | null = null;
  #paused = false;
  #consuming = false;
  #closed = false;
  #used = false;
  /** No further request is taken. */
  #closing = false;
  /** All is said; what still comes is thrown away. */
  #lingering = false;
  #discarded = 0;
  /** When the present state began: idle, head, exchange, lingering. */
  #since: number;
  #unsent = 0;
  #unsentSince = 0;
  #address: string | null = null;

  constructor(accepted: Socket, host: Host) {
    this.#host = host;
    this.#since = host.mono();
    this.#socket = host.memory.adopt(accepted, (bytes) => this.#take(bytes));
    this.#socket.on('error', () => this.#gone()); // a reset; nobody is there to tell
    this.#socket.on('end', () => this.#ended());
    this.#socket.on('close', () => this.#gone());
    this.#socket.on('drain', () => this.#drained());
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** No exchange is under way and none has begun to come in. */
  get idle(): boolean {
    return this.#incoming === null && !this.#cutter.begun;
  }

  get bodies(): BodyMemory {
    return this.#host.bodies;
  }

  get clientAddress(): string | null {
    return (this.#address ??= this.#socket.remoteAddress ?? null);
  }

  persistence(version: string): string {
    // A body that may never come, or not within bounds, leaves open where the next request begins.
    if ((this.#incoming?.outstanding ?? 0) > DISCARD_BYTES) this.#closing = true;
    if (this.#closing) return CLOSE;
    return version === '1.1' ? KEEP_ALIVE : 'connection: keep-alive\r\n';
  }

  date(): string {
    return this.#host.date();
  }

  closeAfterAnswer(): void {
    this.#closing = true;
  }

  write(piece: string | Buffer, done?: () => void): boolean {
    if (this.#closed) return true;
    return typeof piece === 'string'
      ? this.#socket.write(piece, 'latin1', done)
      : this.#socket.write(piece, done);
  }

  answered(): void {
    if (this.#closed) return;
    this.#since = this.#host.mono();
    if (this.#incoming?.complete === true || this.#closing) this.#next();
    else if (!this.#consuming) this.#unhold(); // a body that nobody asked for
  }

  wantBody(waits: boolean): void {
    if (waits && this.#held === null) this.write('HTTP/1.1 100 Continue\r\n\r\n');
    if (!this.#consuming) this.#unhold();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#gone();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
    this.#gone();
  }

  /** Closes it when nothing is under way, after `closeAfterAnswer`. @param fresh also when it has never carried a request */
  closeIdle(fresh: boolean): void {
    if (this.#reply?.ended === true)
      this.#next(); // the rest of its body is not waited for
    else if (this.idle && !this.#lingering && (fresh || this.#used)) this.#linger();
  }

  /** The proxy ends: the exchange under way is to end with `fault`, as far as it can still be said. */
  interrupt(fault: Fault): void {
    this.#closing = true;
    this.#incoming?.fail(fault);
    this.#reply?.interrupt(fault);
  }

  /** The clocks; called about once a second. */
  check(now: number): void {
    const over = (limitMs: number): boolean => now - this.#since > limitMs;
    const incoming = this.#incoming;
    if (this.#lingering) {
      if (over(LINGER_MS) && !this.#stillSending(now)) this.destroy();
    } else if (incoming === null) {
      if (this.#cutter.begun ? over(HEAD_MS) : over(KEEP_ALIVE_MS) && !this.#stillSending(now))
        this.#expire();
    } else if (!incoming.complete && over(REQUEST_MS)) {
      this.#closing = true;
      incoming.fail(new Fault('body_timeout', 'The request did not arrive in time.'));
      if (this.#reply?.ended === true) this.destroy();
    }
  }

  #expire(): void {
    if (this.#cutter.begun) this.#refuse('timeout');
    else this.destroy();
  }

  /** The client still takes what was written. */
  #stillSending(now: number): boolean {
    const unsent = this.#socket.writableLength;
    if (unsent !== this.#unsent) this.#unsentSince = now;
    this.#unsent = unsent;
    return unsent > 0 && now - this.#unsentSince < STALL_MS;
  }

  #take(bytes: Buffer): void {
    if (this.#closed) return;
    if (this.#held === null) this.#consume(bytes);
    else this.#hold(bytes, 0);
  }

  #consume(bytes: Buffer): void {
    this.#consuming = true;
    try {
      let at = 0;
      while (at < bytes.length && at >= 0 && !this.#closed && !this.#lingering) at = this.#step(bytes, at);
      if (this.#lingering) this.#discard(bytes.length - at);
    } catch (error) {
      if (error instanceof BadMessage) this.#malformed(error);
      else this.#fail(error);
    } finally {
      this.#consuming = false;
    }
  }

  /** @returns how far it got; -1 when the rest is held or belongs to an unfinished head. */
  #step(bytes: Buffer, at: number): number {
    const incoming = this.#incoming;
    if (incoming === null && !this.#socket.writableNeedDrain) return this.#readHead(bytes, at);
    if (incoming === null) {
      // Requests of a client that takes no answers would fill the memory with these.
      this.#hold(bytes, at);
      return -1;
    }
    const isAnswered = this.#reply?.ended === true;
    if (incoming.complete || (!incoming.asked && !isAnswered)) {
      this.#hold(bytes, at);
      return -1;
    }
    const end = incoming.push(bytes, at);
    if (isAnswered) {
      this.#discard(end - at);
      if (incoming.complete && !this.#closed) this.#next();
    }
    return end;
  }

  #readHead(bytes: Buffer, at: number): number {
    const from = this.#cutter.begun ? at : this.#emptyLines.skip(bytes, at);
    if (from === bytes.length) return from;
    if (!this.#cutter.begun) this.#since = this.#host.mono();
    const end = this.#cutter.push(bytes, from);
    if (end < 0) checkBeginning(this.#cutter.beginning());
    else this.#begin();
    return end;
  }

  #begin(): void {
    const head = readRequestHead(this.#cutter.text);
    this.#incoming = new Incoming(head, this);
    this.#reply = new Reply(this, head.method, head.version);
    this.#discarded = 0;
    this.#used = true;
    if (!persists(head.version, head.connection)) this.#closing = true;
    this.#host.request(this.#incoming, this.#reply);
  }

  #hold(bytes: Buffer, at: number): void {
    this.#held ??= new GrowingBytes();
    this.#held.append(bytes, at);
    if (this.#held.length < HELD_BYTES || this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
  }

  #unhold(): void {
    const held = this.#held;
    this.#held = null;
    if (this.#paused) {
      this.#paused = false;
      this.#socket.resume();
    }
    if (held !== null) this.#consume(held.view());
  }

  #drained(): void {
    if (this.#reply !== null) this.#reply.watcher?.onDrain();
    else if (!this.#consuming) this.#unhold();
  }

  #discard(bytes: number): void {
    this.#discarded += Math.max(0, bytes);
    if (this.#discarded > DISCARD_BYTES) this.destroy();
  }

  /** The exchange is over on our side; the next request may come. */
  #next(): void {
    this.#incoming = null;
    this.#reply = null;
    this.#since = this.#host.mono();
    // Bytes that the client has not taken keep the exchange in flight: a drain waits for them.
    if (this.#socket.writableLength === 0) this.#host.settled();
    else this.#flushed(() => this.#host.settled());
    if (this.#closing) this.#linger();
    else if (!this.#consuming) this.#unhold();
  }

  #flushed(then: () => void): void {
    let called = false;
    const once = (): void => {
      if (called) return;
      called = true;
      this.#socket.off('close', once);
      then();
    };
    this.#socket.once('close', once);
    this.#socket.write('', once); // called in order, behind all that was written
  }

  #linger(): void {
    this.#lingering = true;
    this.#held = null;
    this.#since = this.#host.mono();
    this.#socket.end();
    if (this.#paused) this.#socket.resume();
  }

  #malformed(error: BadMessage): void {
    const incoming = this.#incoming;
    if (incoming === null) this.#refuse(error);
    else if (this.#reply?.ended === true || incoming.complete) this.destroy();
    else {
      // Where this request ends is not known, so nothing can follow it.
      this.#closing = true;
      incoming.fail(new Fault('malformed_request', error.message));
    }
  }

  #fail(error: unknown): void {
    this.#host.failed(error);
    this.destroy();
  }

  #refuse(why: BadMessage | 'timeout'): void {
    this.#closing = true;
    this.write(this.#host.refusal(why));
    this.#linger();
  }

  /** The client sends no more. An agent that was killed says no more than this, so its exchange ends too. */
  #ended(): void {
    const isSaid = this.#incoming === null || this.#reply?.ended === true;
    if (isSaid && this.#socket.writableLength > 0) this.#socket.destroySoon();
    else this.#gone();
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    const [incoming, reply] = [this.#incoming, this.#reply];
    this.#incoming = null;
    this.#reply = null;
    this.#held = null;
    this.#socket.destroy();
    this.#host.closed(this);
    if (incoming === null || reply === null) return;
    incoming.fail(new Fault('client_gone', 'The client left before its request was complete.'));
    if (!reply.ended) reply.watcher?.onClose();
    this.#host.settled();
  }
}
