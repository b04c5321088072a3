// One client's connection: its requests are served one at a time, in order. Owns who is next, what becomes of a body
// that nobody wants, of bytes that are no request, and how the connection ends. Node parses, frames and sends.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Indexed } from '../base/dense-set.ts';
import type { BodyMemory } from '../bodies/body-memory.ts';
import { Fault } from '../errors/fault.ts';
import {
  DownstreamRequest,
  type Expectation,
  type RequestConnection,
} from '../downstream/downstream-request.ts';
import { DownstreamResponse, type ResponseConnection } from '../downstream/downstream-response.ts';

/** What a connection needs of its server. */
export interface ConnectionHost {
  readonly bodies: BodyMemory;
  readonly clocks: Clocks;
  /** Requests on this connection, after which it ends. */
  readonly maxRequests: number;
  /** Requests of all connections that wait behind others. */
  readonly waiting: { count: number };
  /** A request has come, its body may still be on its way. */
  request(request: DownstreamRequest, response: DownstreamResponse): void;
  /** An exchange is over: its answer is with the system, or the connection is gone. */
  exchangeEnded(): void;
  /** The whole answer to bytes that are no request, or to one that did not come in time. */
  errorResponse(fault: Fault): string;
  /** Something was thrown that no bytes of a client may cause: a bug. Its connection is cut. */
  failed(error: unknown): void;
  closed(connection: Connection): void;
}

/** How long a client may take, ms. */
export interface Clocks {
  /** For the head of a request. */
  readonly headersMs: number;
  /** For a whole request. Bounds receiving it, not answering it. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly keepAliveMs: number;
  /** For the rest of a request that was answered already. */
  readonly discardMs: number;
  /** For its own end, after ours. Closing with unread bytes resets the connection and takes the answer along. */
  readonly lingerMs: number;
  /** Without taking any of the last bytes of an answer. */
  readonly stallMs: number;
  /** How often Node looks at the first two. */
  readonly checkMs: number;
}

/** How much of a refused body is read and thrown away, so that the connection can serve the next request. */
const DISCARD_BYTES = 8 * 1024 * 1024;
/** With so many requests waiting, the socket is not read. One read of 64 KiB brings up to 2,500 of the shortest ones. */
const PAUSE_AT = 64;
/** Waiting requests of all connections, 2 to 3 KB each; beyond, a connection with more than `PAUSE_AT` of them ends. */
const MOST_WAITING = 20_000;

interface Exchange {
  readonly message: IncomingMessage;
  readonly out: ServerResponse;
  readonly request: DownstreamRequest;
  readonly response: DownstreamResponse;
}

type State =
  | { readonly is: 'idle'; /** Bytes that had come by then. */ readonly readBytes: number }
  | { readonly is: 'serving'; readonly exchange: Exchange }
  /** Answered, but the request still comes. */
  | { readonly is: 'discarding'; readonly exchange: Exchange; readonly timer: NodeJS.Timeout }
  /** All is said; what still comes is thrown away. */
  | { readonly is: 'lingering'; readonly timer: NodeJS.Timeout }
  | { readonly is: 'closed' };

export class Connection implements Indexed, RequestConnection, ResponseConnection {
  index = -1; // on the roster of the server
  readonly socket: Socket;
  readonly #host: ConnectionHost;
  #state: State = { is: 'idle', readBytes: 0 };
  readonly #waiting: Exchange[] = [];
  #served = 0;
  /** No request after the present one. */
  #closing = false;
  /** What to say, behind all answers, to bytes that are no request; null = there were none. */
  #finalError: Fault | null = null;
  #address: string | null = null;

  constructor(socket: Socket, host: ConnectionHost) {
    this.#host = host;
    this.socket = socket;
    socket.on('error', () => undefined); // a reset; 'close' follows
    socket.on('end', () => this.#clientEnded());
    socket.on('close', () => this.#gone());
    socket.on('drain', () => this.#drained());
    socket.on('resume', () => this.#holdBack());
  }

  get closed(): boolean {
    return this.#state.is === 'closed';
  }

  get closing(): boolean {
    // A body that may not end within bounds leaves open where the next request begins.
    if ((this.#exchange?.request.outstanding ?? 0) > DISCARD_BYTES) this.#closing = true;
    return this.#closing;
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
    this.#closing = true;
  }

  /** A request was parsed. */
  accept(message: IncomingMessage, out: ServerResponse, expectation: Expectation): void {
    if (this.#state.is === 'lingering' || this.#state.is === 'closed' || this.#finalError !== null) return;
    const request = new DownstreamRequest(message, this, expectation);
    const exchange = { message, out, request, response: new DownstreamResponse(out, this) };
    if (this.#state.is === 'idle' && this.#waiting.length === 0) this.#serve(exchange);
    else this.#wait(exchange);
  }

  /** What came is no request, or did not come in time. */
  malformed(fault: Fault): void {
    if (this.#state.is === 'lingering' || this.#state.is === 'closed' || this.#finalError !== null) return;
    const last = this.#waiting.at(-1) ?? this.#exchange;
    this.#finalError = fault;
    if (last === null) this.#sendFinalError();
    else if (!last.request.complete) {
      // Where this request ends is not known, so nothing can follow it, not even words of ours.
      this.#closing = true;
      last.request.fail(fault);
      if (this.#state.is === 'discarding') this.#linger();
    }
  }

  /** Nothing of a request has come since the last one, or since the beginning. */
  get idle(): boolean {
    return this.#state.is === 'idle' && this.socket.bytesRead === this.#state.readBytes;
  }

  responseEnded(): void {
    const state = this.#state;
    if (state.is !== 'serving') return;
    const { stallMs, discardMs } = this.#host.clocks;
    if (this.socket.writableLength > 0) this.socket.setTimeout(stallMs); // progress puts it off; then Node cuts
    if (state.exchange.out.writableEnded) return; // 'finish' comes
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
    if (how === 'reset') this.socket.resetAndDestroy();
    else this.socket.destroy();
    this.#gone();
  }

  /** Closes it when nothing is under way. @param fresh also when it has never carried a request */
  closeIdle(fresh: boolean): void {
    if (this.#state.is === 'discarding')
      this.#linger(); // the rest of its body is not waited for
    else if (this.idle && (fresh || this.#served > 0)) this.#linger();
  }

  /** The proxy ends: the exchange under way is to end with `fault`, as far as it can still be said. */
  interrupt(fault: Fault): void {
    this.#closing = true;
    this.#exchange?.request.fail(fault);
    this.#exchange?.response.interrupt(fault);
  }

  get #exchange(): Exchange | null {
    return this.#state.is === 'serving' || this.#state.is === 'discarding' ? this.#state.exchange : null;
  }

  #serve(exchange: Exchange): void {
    this.#state = { is: 'serving', exchange };
    this.#served += 1;
    // Behind a request to upgrade, llhttp skips what has come, so the next request could begin in the middle of one.
    if (
      exchange.request.asksUpgrade ||
      closesAnyway(exchange.request) ||
      this.#served >= this.#host.maxRequests
    )
      this.#closing = true;
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
    this.#waiting.push(exchange);
    waiting.count += 1;
    if (this.#waiting.length < PAUSE_AT) return;
    this.socket.pause();
    if (waiting.count <= MOST_WAITING) return;
    this.#closing = true;
    this.#forgetWaiting();
  }

  /** Node resumes a socket whenever a request is complete or its body is read. */
  #holdBack(): void {
    if (this.#waiting.length >= PAUSE_AT) this.socket.pause();
  }

  #forgetWaiting(): void {
    this.#host.waiting.count -= this.#waiting.length;
    this.#waiting.length = 0;
  }

  /** The answer is with the system. */
  #finished(): void {
    const state = this.#state;
    if (state.is === 'discarding') clearTimeout(state.timer);
    else if (state.is === 'serving') this.#host.exchangeEnded();
    else return;
    this.#state = { is: 'idle', readBytes: this.socket.bytesRead };
    if (this.#closing) {
      this.#linger();
    } else if (this.#waiting.length > 0) {
      this.socket.setTimeout(0);
      setImmediate(() => this.#next()); // others come in between
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

  /** The rest of a request that was answered has come. */
  #requestEnded(): void {
    if (this.#state.is === 'discarding') this.#state.exchange.out.end();
  }

  #drained(): void {
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

  /** The client had time to read the answer; when it has not taken all of it, it gets as long as it takes some. */
  #lingered(): void {
    if (this.socket.writableLength === 0) this.socket.destroy();
    else this.#whenSent(() => this.socket.destroy());
  }

  /** Calls back when all that was written is with the system, or the connection is gone. */
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
    this.socket.write('', once); // called in order, behind all that was written
  }

  /** The client sends no more. An agent that was killed says no more than this, so its exchange ends too. */
  #clientEnded(): void {
    if (this.#state.is === 'serving' && !this.#state.exchange.response.ended) this.cut('close');
  }

  #gone(): void {
    const state = this.#state;
    if (state.is === 'closed') return;
    this.#state = { is: 'closed' };
    this.#forgetWaiting();
    if (state.is === 'discarding' || state.is === 'lingering') clearTimeout(state.timer);
    this.#host.closed(this);
    if (state.is !== 'serving') return;
    const { request, response } = state.exchange;
    request.fail(new Fault('client_gone', 'The client left before its request was complete.'));
    if (!response.ended) response.watcher?.onClose();
    this.#host.exchangeEnded();
  }
}

/** `close` wins over `keep-alive` (RFC 9112 section 9.3); to llhttp it does not on HTTP/1.0. */
const closesAnyway = (request: DownstreamRequest): boolean =>
  request.version === '1.0' && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(request.header('connection') ?? '');
