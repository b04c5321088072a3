// One request on a connection that served others before. Upstreams close idle connections when they like, and such a close
// may cross the request on its way. A request of which the upstream cannot have the whole is sent again, once, on a fresh
// connection; nobody above notices. Proof is either of two things, decided in connection.ts:
//
//   - bytes of the request never left this process: a write failed, or some still waited when the connection closed. What is
//     not complete is no request (RFC 9112 section 8), so the upstream did nothing. Go's net/http and Envoy
//     (`reset-before-request`) repeat a POST on the same ground alone.
//   - the method is GET, which may be repeated (RFC 9110 section 9.2.2).
//
// A POST that was written in full is not repeated, whoever closed: TCP does not tell whether it was read, and a model may
// be working on it. So that few requests come to that, a connection that was idle is read once before it is used: a close
// that has arrived by then costs nothing.
import type { UpstreamConnection } from './connection.ts';
import type { HttpRequest, ResponseReader, UpstreamExchange } from './exchange.ts';
import { ForwardingExchange } from './forwarding-exchange.ts';
import { Undelivered } from './undelivered.ts';

/** A connection used again sooner than this is not read first: waiting for it costs some 50 us of each call. */
const FRESH_ENOUGH_MS = 100;

export class ReusedExchange extends ForwardingExchange {
  readonly #request: HttpRequest;
  readonly #sendFresh: (reader: ResponseReader) => UpstreamExchange;
  #isOver = false;

  /** @param sendFresh sends the request on a new connection */
  constructor(
    request: HttpRequest,
    reader: ResponseReader,
    sendFresh: (reader: ResponseReader) => UpstreamExchange,
  ) {
    super(reader);
    this.#request = request;
    this.#sendFresh = sendFresh;
  }

  /** @param idleMs how long the connection was idle */
  start(connection: UpstreamConnection, idleMs: number): void {
    if (idleMs < FRESH_ENOUGH_MS) this.exchange = connection.send(this.#request, this);
    // What has arrived is read between the two: setImmediate calls back before the event loop reads, or after it.
    else setImmediate(() => setImmediate(() => this.#sendIfOpen(connection)));
  }

  override destroy(): void {
    this.#isOver = true;
    super.destroy();
  }

  override onError(error: Error): void {
    if (!(error instanceof Undelivered)) {
      this.reader.onError(error);
      return;
    }
    this.reader.onResend?.();
    this.exchange = this.#sendFresh(this.reader);
  }

  #sendIfOpen(connection: UpstreamConnection): void {
    if (this.#isOver) connection.close();
    else if (connection.isClosed) this.exchange = this.#sendFresh(this.reader);
    else this.exchange = connection.send(this.#request, this);
  }
}
