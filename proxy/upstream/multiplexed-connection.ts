// One connection of HTTP/2 to an upstream: an undici Client, as many requests at once as the upstream allows, and whether
// the upstream is still there.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type ClientHttp2Stream, type Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { Connector } from './connector.ts';
import {
  DispatchedExchange,
  type ExchangeConnection,
  type UpstreamExchange,
  type ResponseReader,
  type HttpRequest,
} from './exchange.ts';

/** Streams per connection: the minimum that RFC 9113 section 6.5.2 recommends servers to allow. Some allow fewer. */
export const MOST_STREAMS = 100;
/** HTTP/2 announces the end of a connection (GOAWAY), so an idle one may live as long as common load balancers keep it. */
const IDLE_MS = 25_000;
const HEAD_BYTES = 65_536;
/**
 * Once a session holds 10 MB (`maxSessionMemory`, which undici does not set), bodies that wait to be written among it, Node ends new
 * streams with ENHANCE_YOUR_CALM and those that get an answer with INTERNAL_ERROR: of 60 requests of 440 KB at once 37 failed.
 * Of a stream that ended before its body was written, the session keeps the bytes to its own end.
 */
const MOST_HELD_BYTES = 8_000_000;
const { NGHTTP2_CANCEL, NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE } = constants;
/** https://nodejs.org/api/diagnostics_channel.html#http2 */
const OPENED = 'http2.client.stream.created';

/** The upstream chose HTTP/1.1; nothing was sent. */
export class Http1Only extends Error {
  override readonly name = 'Http1Only';
}

/** The upstream allows fewer streams per connection than were asked for on this one; nothing was sent. */
export class NoFreeStream extends Error {
  override readonly name = 'NoFreeStream';
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

/** What a connection tells its pool. */
interface ConnectionOwner {
  /** No request is left on it. */
  idle(): void;
  /** The upstream says how many streams a connection may have. */
  allows(streams: number): void;
}

/** An undici Client for HTTP/2. It reconnects by itself when its connection has ended. */
export class MultiplexedConnection implements ExchangeConnection {
  readonly hasPeerEnded = true;
  /** Frames may still wait inside the HTTP/2 session, so a request's memory is never reused. */
  readonly hasWritten = false;
  readonly #connector: Connector;
  readonly #client: Client;
  readonly #owner: ConnectionOwner;
  readonly #sockets = new Set<Socket>();
  readonly #opened = new OpenedStreams();
  readonly #begun = new Map<DispatchedExchange, ClientHttp2Stream>();
  /** Not begun, and may be sent on another connection. */
  readonly #movable = new Set<DispatchedExchange>();
  readonly #sessions = new WeakSet<Http2Session>();
  /** Lengths of bodies that are not all written. */
  readonly #unwritten = new Map<DispatchedExchange, number>();
  /** Their sum, and what of streams that have ended was never written. */
  #heldBytes = 0;
  /** Bytes that its sockets had read at the last `sweep`. */
  #readAtSweep = 0;
  /** The same when it became suspect, and it is until there are more; null = it never was. */
  #readWhenSuspected: number | null = null;
  #stopOpening: (() => void) | null = null;
  #running = 0;

  constructor(connector: Connector, owner: ConnectionOwner) {
    this.#connector = connector;
    this.#owner = owner;
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

  /**
   * Whether the next request can start without waiting; requests pending on an open connection wait for a stream.
   * @param bodyBytes of that request; one that is larger than a session should hold has a connection to itself
   */
  hasFreeStream(mostStreams: number, bodyBytes: number): boolean {
    if (this.#running >= mostStreams || this.#isSuspect) return false;
    const isUnused = this.#running === 0 && this.#heldBytes === 0;
    if (!isUnused && this.#heldBytes + bodyBytes > MOST_HELD_BYTES) return false;
    const { connected, pending, running } = this.#client.stats;
    // After a GOAWAY undici reconnects only when all requests on the old connection have ended.
    return connected ? pending === 0 : running === 0;
  }

  /** @param kind `moves` = it ends with NoFreeStream instead of waiting for a stream of others */
  send(
    { method, path, headers, body }: HttpRequest,
    reader: ResponseReader,
    kind: 'moves' | 'stays',
  ): UpstreamExchange {
    const exchange = new DispatchedExchange(this, reader);
    this.#running += 1;
    this.#unwritten.set(exchange, body?.length ?? 0);
    this.#heldBytes += body?.length ?? 0;
    if (kind === 'moves') this.#movable.add(exchange);
    this.#client.dispatch(
      { method, path, headers: [...this.#connector.headers, ...headers], body },
      exchange,
    );
    return exchange;
  }

  sendBegins(exchange: DispatchedExchange): void {
    this.#movable.delete(exchange);
    this.#opened.next((stream) => {
      this.#begun.set(exchange, stream);
      stream.once('finish', () => this.#written(exchange));
      stream.once('close', () => this.#unwritten.delete(exchange));
      if (stream.session !== undefined) this.#follow(stream.session);
    });
  }

  /**
   * undici destroys a stream whose body is on its way without a RST_STREAM: the upstream works on, and nghttp2 asks the stream that
   * is gone for the rest of the body for ever (measured: a loop without an end). So the stream is reset before, and not in the turn
   * in which it was begun, since Node sends what belongs to it at the end of the turn.
   */
  abort(exchange: DispatchedExchange, controller: Dispatcher.DispatchController, error: Error): void {
    const stream = this.#begun.get(exchange);
    setImmediate(() => {
      stream?.close(NGHTTP2_CANCEL);
      controller.abort(error);
    });
  }

  /** undici reports a reset stream (RST_STREAM) as complete, so the reset code is checked; only a closed stream has one. */
  checkEnd(exchange: DispatchedExchange, tell: (isWhole: boolean) => void): void {
    const stream = this.#begun.get(exchange);
    if (stream === undefined)
      tell(false); // a Node version without the channel: unknown
    else if (stream.closed) tell(stream.rstCode === 0);
    else {
      stream.once('close', () => tell(stream.rstCode === 0));
      // An upstream that has answered need not read the rest of the request, and may not say so. Its state is known in the next turn.
      setImmediate(() => {
        if (stream.closed || stream.state.state !== NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE) return;
        tell(true);
        stream.close(NGHTTP2_CANCEL);
      });
    }
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
    if (!this.#begun.delete(exchange)) this.#written(exchange); // not one byte of it was
    this.#movable.delete(exchange);
    this.#running -= 1;
    if (this.#running === 0) this.#owner.idle();
  }

  /**
   * When the upstream has been silent for a while, the path to it may be dead (a NAT that forgot the connection, a host that
   * lost power), which TCP finds out after a quarter of an hour. Requests take another connection until it is heard of again.
   */
  broke(exchange: DispatchedExchange): void {
    if (this.#begun.has(exchange) && this.#readBytes === this.#readAtSweep)
      this.#readWhenSuspected = this.#readAtSweep;
    this.ended(exchange);
  }

  /** Called about once a second. */
  sweep(): void {
    this.#readAtSweep = this.#readBytes;
    // After a GOAWAY Node closes our side and waits for the other, without an end: some upstreams never close theirs.
    for (const socket of this.#sockets) if (socket.writableFinished) socket.destroy();
  }

  destroy(): void {
    this.#opened.close();
    this.#stopOpening?.();
    this.#client.destroy(null, () => undefined);
    for (const socket of this.#sockets) socket.destroy(); // includes sockets detached by a GOAWAY
  }

  get #readBytes(): number {
    let bytes = 0;
    for (const socket of this.#sockets) bytes += socket.bytesRead;
    return bytes;
  }

  get #isSuspect(): boolean {
    return this.#readWhenSuspected === this.#readBytes;
  }

  #follow(session: Http2Session): void {
    if (this.#sessions.has(session)) return;
    this.#sessions.add(session);
    // undici's own listener was called before: it has begun what the upstream allows.
    session.on('remoteSettings', ({ maxConcurrentStreams }) => {
      this.#owner.allows(maxConcurrentStreams ?? MOST_STREAMS);
      for (const exchange of this.#movable) exchange.fail(new NoFreeStream('the connection is full'));
    });
  }

  #written(exchange: DispatchedExchange): void {
    this.#heldBytes -= this.#unwritten.get(exchange) ?? 0;
    this.#unwritten.delete(exchange);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    this.#heldBytes = [...this.#unwritten.values()].reduce((sum, bytes) => sum + bytes, 0); // a session of its own begins
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
