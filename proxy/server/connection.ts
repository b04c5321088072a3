// One client connection. Serves its requests one at a time, in order; Node parses, frames and sends. Owns the queue of
// pipelined requests, unread bodies, malformed input, and how the connection closes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Indexed } from '../base/dense-set.ts';
import type { BodyMemory } from '../bodies/body-memory.ts';
import { Fault } from '../errors/fault.ts';
import { CredentialDigest } from '../downstream/credential-digest.ts';
import {
  DownstreamRequest,
  type Expectation,
  type RequestConnection,
} from '../downstream/downstream-request.ts';
import {
  DownstreamResponse,
  type ResponseConnection,
  type UpgradeOwner,
} from '../downstream/downstream-response.ts';
import type { Clocks } from './client-clocks.ts';
import type { Exchange, State } from './connection-state.ts';

/** What a connection needs of its server. */
export interface ConnectionHost {
  readonly bodies: BodyMemory;
  readonly clocks: Clocks;
  /** Requests on this connection, after which it ends. */
  readonly maxRequests: number;
  /** Pipelined requests of all connections that wait for earlier ones. */
  readonly waiting: { count: number };
  /** A request's headers were received; its body may still be arriving. */
  request(request: DownstreamRequest, response: DownstreamResponse): void;
  /** An exchange has ended: its response was written to the socket, or the connection closed. */
  exchangeEnded(): void;
  /** The complete response to malformed input, or to a request that timed out. */
  errorResponse(fault: Fault): string;
  /** Something was thrown, which is a bug: no client input may cause it. The connection is destroyed. */
  failed(error: unknown): void;
  closed(connection: Connection): void;
}

/** How much of an unread body is discarded so that the connection can serve the next request. */
const DISCARD_BYTES = 8 * 1024 * 1024;
/** Stop reading the socket at this many waiting requests. One 64 KiB read may contain 2,500 of the shortest ones. */
const PAUSE_AT = 64;
/**
 * Waiting requests of all connections, 2 to 3 KB each. Beyond, a connection with more than `PAUSE_AT` of them is cut: no
 * client of ours pipelines, and Node keeps what it has parsed until the connection is gone. 300 connections that each
 * sent one read full of them held another client up for 60 s and took 1.8 GB while they were served on.
 */
const MOST_WAITING = 5_000;

/** The connection of a socket. */
const OWNER = Symbol('connection');
type OwnedSocket = Socket & { [OWNER]: Connection };
export const connectionOf = (socket: Socket): Connection | null =>
  (socket as Partial<OwnedSocket>)[OWNER] ?? null;

// The same functions for all sockets: closures of each would take 0.4 KB.
const onError = (): void => undefined; // a reset; 'close' follows
function onEnd(this: OwnedSocket): void {
  this[OWNER].clientEnded();
}
function onClose(this: OwnedSocket): void {
  this[OWNER].gone();
}
function onDrain(this: OwnedSocket): void {
  this[OWNER].drained();
}
function onResume(this: OwnedSocket): void {
  this[OWNER].holdBack();
}

export class Connection implements Indexed, RequestConnection, ResponseConnection {
  index = -1; // in the server's DenseSet
  readonly socket: Socket;
  readonly credentialDigest = new CredentialDigest();
  readonly #host: ConnectionHost;
  #state: State = { is: 'idle', readBytes: 0 };
  readonly #waiting: Exchange[] = [];
  #served = 0;
  /** Only ever moves on, from left to right. `with the next head`: that head says that the connection closes after it. */
  #closing: 'no' | 'with the next head' | 'after the response' | 'when idle' = 'no';
  /** The error response to malformed input, sent after all other responses; null = no malformed input. */
  #finalError: Fault | null = null;
  #address: string | null = null;

  constructor(socket: Socket, host: ConnectionHost) {
    this.#host = host;
    this.socket = socket;
    (socket as OwnedSocket)[OWNER] = this;
    socket.on('error', onError);
    socket.on('end', onEnd);
    socket.on('close', onClose);
    socket.on('drain', onDrain);
    socket.on('resume', onResume);
  }

  get closed(): boolean {
    return this.#state.is === 'closed';
  }

  decideClose(): boolean {
    // If the body may not end within the limit, it is unknown where the next request begins.
    const isLong = (this.#exchange?.request.outstanding ?? 0) > DISCARD_BYTES;
    if (isLong || this.#closing === 'with the next head') this.closeAfterResponse();
    return this.#closes;
  }

  get bodies(): BodyMemory {
    return this.#host.bodies;
  }

  get clientAddress(): string | null {
    return (this.#address ??= this.socket.remoteAddress ?? null);
  }

  get requestComplete(): boolean {
    return this.#exchange?.request.complete ?? true;
  }

  sendContinue(): void {
    this.#exchange?.out.writeContinue();
  }

  closeAfterResponse(): void {
    if (this.#closing !== 'when idle') this.#closing = 'after the response';
  }

  get #closes(): boolean {
    return this.#closing === 'after the response' || this.#closing === 'when idle';
  }

  /** Closes after the next response that can say so: a client that was promised more may send its next request at once. */
  announceClose(): void {
    if (this.#closing === 'no') this.#closing = 'with the next head';
  }

  /** @param onEarly of a request for another protocol */
  accept(
    message: IncomingMessage,
    out: ServerResponse,
    expectation: Expectation,
    onEarly: (() => void) | null = null,
  ): void {
    if (this.#state.is === 'lingering' || this.#state.is === 'closed' || this.#finalError !== null) return;
    const request = new DownstreamRequest(message, this, expectation);
    const exchange = { out, request, response: new DownstreamResponse(out, this) };
    if (this.#state.is === 'idle' && this.#waiting.length === 0) this.#serve(exchange, onEarly);
    else this.#wait(exchange);
  }

  get isFree(): boolean {
    return this.#state.is === 'idle' && this.#waiting.length === 0 && this.#finalError === null;
  }

  /** Takes a request for another protocol; Node parses no further. Its client must wait for the answer (RFC 6455 section 4.1). */
  acceptUpgrade(message: IncomingMessage, out: ServerResponse, early: Buffer): void {
    if (early.length > 0) return this.malformed(tooEarly());
    this.closeAfterResponse();
    const onEarly = (): void => this.#exchange?.response.interrupt(tooEarly());
    this.socket.on('data', onEarly);
    out.assignSocket(this.socket);
    this.accept(message, out, 'none', onEarly);
  }

  get mayUpgrade(): boolean {
    return this.#state.is === 'serving' && this.#state.onEarly !== null;
  }

  upgrade(owner: UpgradeOwner): void {
    const state = this.#state;
    if (state.is !== 'serving' || state.onEarly === null)
      throw new Error('this connection cannot be upgraded');
    state.exchange.out.detachSocket(this.socket);
    this.socket.off('data', state.onEarly);
    this.socket.pause();
    this.socket.setTimeout(0);
    this.#state = { is: 'upgraded', owner };
    if (this.#closing === 'when idle') queueMicrotask(() => owner.drain());
  }

  /** The input is malformed, or did not arrive in time. */
  malformed(fault: Fault): void {
    if (this.#state.is === 'lingering' || this.#state.is === 'closed' || this.#finalError !== null) return;
    const last = this.#waiting.at(-1) ?? this.#exchange;
    this.#finalError = fault;
    if (last === null) this.#sendFinalError();
    else if (!last.request.complete) {
      // It is unknown where this request ends, so nothing can follow it, not even an error response.
      this.closeAfterResponse();
      last.request.fail(fault);
      if (this.#state.is === 'discarding') this.#linger();
    }
  }

  /** No byte was received since the last request, or since the connection opened. */
  get idle(): boolean {
    return this.#state.is === 'idle' && this.socket.bytesRead === this.#state.readBytes;
  }

  responseEnded(): void {
    const state = this.#state;
    if (state.is !== 'serving') return;
    const { stallMs, discardMs } = this.#host.clocks;
    if (this.socket.writableLength > 0) this.socket.setTimeout(stallMs); // each write progress resets it; then Node destroys the socket
    if (state.exchange.out.writableEnded) return; // 'finish' follows
    const { exchange } = state;
    const timer = setTimeout(() => this.#stopDiscarding(), discardMs).unref();
    this.#state = { is: 'discarding', exchange, timer };
    this.#whenSent(() => this.#host.exchangeEnded());
    exchange.request.discard(DISCARD_BYTES, {
      whole: () => this.#requestEnded(),
      tooMuch: () => this.#tooMuch(exchange.request),
    });
    if (this.#finalError !== null || exchange.request.outstanding > DISCARD_BYTES) this.#linger();
  }

  cut(how: 'close' | 'reset'): void {
    // In TLS a close without close_notify says the same (RFC 8446 section 6.1), and Node resets plain sockets only.
    if (how === 'reset' && !('encrypted' in this.socket)) this.socket.resetAndDestroy();
    else this.socket.destroy();
    this.gone();
  }

  closeWhenIdle(): void {
    this.#closing = 'when idle';
    if (this.#state.is === 'upgraded') this.#state.owner.drain();
    else if (this.#state.is === 'discarding' || this.idle) this.#linger(); // without the rest of its body
  }

  /** The proxy shuts down: the current exchange ends with `fault`, if it can still be sent. */
  interrupt(fault: Fault): void {
    this.closeAfterResponse();
    if (this.#state.is === 'upgraded') this.#state.owner.interrupt(fault);
    this.#exchange?.request.fail(fault);
    this.#exchange?.response.interrupt(fault);
  }

  get #exchange(): Exchange | null {
    return this.#state.is === 'serving' || this.#state.is === 'discarding' ? this.#state.exchange : null;
  }

  #serve(exchange: Exchange, onEarly: (() => void) | null = null): void {
    this.#state = { is: 'serving', exchange, onEarly };
    this.#served += 1;
    // After an Upgrade request llhttp skips received bytes, so the next request could begin in the middle of one.
    if (
      exchange.request.asksUpgrade ||
      closesAnyway(exchange.request) ||
      this.#served >= this.#host.maxRequests
    )
      this.closeAfterResponse();
    exchange.out.on('finish', () => this.#finished());
    try {
      this.#host.request(exchange.request, exchange.response);
    } catch (error) {
      this.#host.failed(error);
      this.cut('close');
    }
  }

  #wait(exchange: Exchange): void {
    const { waiting } = this.#host;
    if (waiting.count >= MOST_WAITING && this.#waiting.length >= PAUSE_AT) {
      this.cut('close');
      return;
    }
    this.#waiting.push(exchange);
    waiting.count += 1;
    if (this.#waiting.length >= PAUSE_AT) this.socket.pause();
  }

  /** Node resumes a socket whenever a request is complete or its body is read. */
  holdBack(): void {
    if (this.#waiting.length >= PAUSE_AT) this.socket.pause();
  }

  #forgetWaiting(): void {
    this.#host.waiting.count -= this.#waiting.length;
    this.#waiting.length = 0;
  }

  #finished(): void {
    const state = this.#state;
    if (state.is === 'discarding') clearTimeout(state.timer);
    else if (state.is === 'serving') this.#host.exchangeEnded();
    else return;
    this.#state = { is: 'idle', readBytes: this.socket.bytesRead };
    if (this.#closes) {
      this.#linger();
    } else if (this.#waiting.length > 0) {
      this.socket.setTimeout(0);
      setImmediate(() => this.#next()); // other connections run in between
    } else if (this.#finalError !== null) this.#sendFinalError();
  }

  #next(): void {
    if (this.#state.is !== 'idle') return;
    const exchange = this.#waiting.shift();
    if (exchange === undefined) return;
    this.#host.waiting.count -= 1;
    if (this.#waiting.length === PAUSE_AT - 1) this.socket.resume();
    this.#serve(exchange);
  }

  #tooMuch({ received }: DownstreamRequest): void {
    if (this.#state.is === 'lingering' && received > 2 * DISCARD_BYTES) this.cut('close');
    else this.#stopDiscarding();
  }

  #stopDiscarding(): void {
    if (this.#state.is === 'discarding') this.#linger();
  }

  #requestEnded(): void {
    if (this.#state.is === 'discarding') this.#state.exchange.out.end();
  }

  drained(): void {
    if (this.#state.is === 'serving') this.#state.exchange.response.watcher?.onDrain();
  }

  #sendFinalError(): void {
    if (this.#finalError !== null && this.socket.writable)
      this.socket.write(this.#host.errorResponse(this.#finalError), 'latin1');
    this.#linger();
  }

  #linger(): void {
    if (this.#state.is === 'discarding') clearTimeout(this.#state.timer);
    this.#forgetWaiting();
    const timer = setTimeout(() => this.#lingered(), this.#host.clocks.lingerMs).unref();
    this.#state = { is: 'lingering', timer };
    if (this.socket.writableLength > 0) this.socket.setTimeout(this.#host.clocks.stallMs);
    this.socket.end();
    this.socket.resume();
  }

  /** The client had time to read the response. If it has not read all of it, wait as long as it makes progress. */
  #lingered(): void {
    if (this.socket.writableLength === 0) this.socket.destroy();
    else this.#whenSent(() => this.socket.destroy());
  }

  /** Calls back when everything was written to the socket, or the connection has closed. */
  #whenSent(then: () => void): void {
    if (this.socket.writableLength === 0) {
      then();
      return;
    }
    let called = false;
    const once = (): void => {
      if (called) return;
      called = true;
      this.socket.off('close', once);
      then();
    };
    this.socket.once('close', once);
    this.socket.write('', once); // its callback runs after all earlier writes
  }

  /** The client sent FIN. A killed agent sends nothing else, so this also ends its exchange. */
  clientEnded(): void {
    if (this.#state.is === 'serving' && !this.#state.exchange.response.ended) this.cut('close');
  }

  gone(): void {
    const state = this.#state;
    if (state.is === 'closed') return;
    this.#state = { is: 'closed' };
    this.#forgetWaiting();
    if (state.is === 'discarding' || state.is === 'lingering') clearTimeout(state.timer);
    this.#host.closed(this);
    if (state.is === 'upgraded') {
      state.owner.gone();
      this.#host.exchangeEnded();
    }
    if (state.is !== 'serving') return;
    const { request, response } = state.exchange;
    request.fail(new Fault('client_gone', 'The client left before its request was complete.'));
    if (!response.ended) response.watcher?.onClose();
    this.#host.exchangeEnded();
  }
}

const tooEarly = (): Fault =>
  new Fault('bad_handshake', 'Bytes follow the handshake before it was answered.');

/** `close` wins over `keep-alive` (RFC 9112 section 9.3); llhttp gets this wrong on HTTP/1.0. */
const closesAnyway = (request: DownstreamRequest): boolean =>
  request.version === '1.0' && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(request.header('connection') ?? '');
