// Node's HTTP server on one port, configured strictly: every time and amount that a client controls has a limit. Knows
// nothing about routes.
import type { Buffer } from 'node:buffer';
import type { IncomingMessage, Server, ServerOptions, ServerResponse as HttpResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { Server as NetServer, type AddressInfo, type ListenOptions, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ListenerTls } from '../../config/tls-settings.ts';
import { DenseSet } from '../base/dense-set.ts';
import { BodyMemory } from '../bodies/body-memory.ts';
import { Fault } from '../errors/fault.ts';
import { expectationOf, oddCoding, oddTarget } from './check-request.ts';
import { handshakeTrouble, tlsOptions } from './listener-tls.ts';
import { CLOCKS, type Clocks } from './client-clocks.ts';
import { Connection, connectionOf, type ConnectionHost } from './connection.ts';
import type { Expectation } from '../downstream/downstream-request.ts';

// An `import` of its values makes Node load its own copy of undici (for `http.WebSocket`): 15 MB and 40 ms for nothing.
const { createServer, ServerResponse } = process.getBuiltinModule('node:http');
const { createServer: createSecureServer } = process.getBuiltinModule('node:https');

/** Handles the requests of a port. */
interface PortHandler extends Pick<ConnectionHost, 'request' | 'errorResponse' | 'exchangeEnded' | 'failed'> {
  /** The current limits; a reload changes them. */
  readonly limits: ConnectionLimits;
  /** Whether a WebSocket is served there; absent: nowhere. @param path as sent, without the query */
  upgrades?(path: string): boolean;
  /** A connection was refused because of the connection limit. */
  connectionRefused(): void;
  /** A client and TLS of this port did not come together. */
  handshakeFailed(why: string): void;
}

interface ConnectionLimits {
  /** Connections at once. */
  readonly connections: number;
  /** Requests on one connection, after which it closes. */
  readonly requestsPerConnection: number;
}

/** Agents send long metadata headers; Node's default of 16 KiB would reject them with an empty 431. */
const HEAD_BYTES = 65_536;
/**
 * Node 26 rejects more while parsing. Older versions silently drop the rest, so this is higher than the largest
 * `max_request_headers` (900): check-request.ts then rejects any truncated list.
 */
const MOST_HEADERS = 1_000;

export class HttpServer {
  readonly #server: Server | SecureServer;
  /** null = plain HTTP. */
  #tls: ListenerTls | null;
  /** Of TLS: those whose handshake is not over are no `Connection` yet. */
  readonly #sockets = new Set<Socket>();
  readonly #connections = new DenseSet<Connection>();
  readonly #bodies = new BodyMemory();
  #announcesClose = false;

  /** @param tls null = plain HTTP */
  constructor(handler: PortHandler, clocks: Partial<Clocks> = {}, tls: ListenerTls | null = null) {
    const allClocks = { ...CLOCKS, ...clocks };
    const options = serverOptions(handler, allClocks);
    this.#tls = tls;
    this.#server =
      tls === null ? createServer(options) : createSecureServer({ ...options, ...tlsOptions(tls) });
    this.#server.maxHeadersCount = MOST_HEADERS;
    this.#followConnections(handler, allClocks);
    this.#followRequests();
  }

  #followConnections(handler: PortHandler, clocks: Clocks): void {
    const server = this.#server;
    const limit = (): void => void (server.maxConnections = handler.limits.connections);
    const host: ConnectionHost = {
      bodies: this.#bodies,
      clocks,
      waiting: { count: 0 },
      get maxRequests() {
        return handler.limits.requestsPerConnection;
      },
      request: (request, response) => handler.request(request, response),
      exchangeEnded: () => handler.exchangeEnded(),
      errorResponse: (fault) => handler.errorResponse(fault),
      failed: (error) => handler.failed(error),
      closed: (connection) => this.#connections.delete(connection),
    };
    limit();
    server.on('connection', limit);
    if (this.#tls !== null)
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets.delete(socket));
      });
    server.on(this.#tls === null ? 'connection' : 'secureConnection', (socket: Socket) => {
      const connection = new Connection(socket, host);
      this.#connections.add(connection);
      if (this.#announcesClose) connection.announceClose();
    });
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const why = handshakeTrouble(error, socket.authorizationError);
      if (why !== null) handler.handshakeFailed(why);
    });
    server.on('drop', () => {
      limit();
      handler.connectionRefused();
    });
  }

  #followRequests(): void {
    const server = this.#server;
    const take = (message: IncomingMessage, out: HttpResponse, expectation: Expectation): void =>
      connectionOf(message.socket)?.accept(message, out, expectation);
    const expects = (message: IncomingMessage, out: HttpResponse): void =>
      take(message, out, expectationOf(message.rawHeaders));
    server.on('request', (message, out) =>
      message.httpVersion === '1.1' ? take(message, out, 'none') : expects(message, out),
    );
    // Before Node 22.21 and 24.9 a listener would take every Upgrade.
    if ('shouldUpgradeCallback' in server)
      server.on('upgrade', (message: IncomingMessage, _: unknown, early: Buffer) =>
        connectionOf(message.socket)?.acceptUpgrade(message, new ServerResponse(message), early),
      );
    server.on('checkContinue', expects);
    server.on('checkExpectation', expects);
    server.on('connect', (_, socket) => connectionOf(socket as Socket)?.malformed(notATunnel()));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuse(error, socket as Socket, connectionOf(socket as Socket)),
    );
  }

  /** New connections get the certificate of `next`, open ones go on. Only for one that is replaceable. */
  useTls(next: ListenerTls | null): void {
    if (next !== null && next.sha256 !== this.#tls?.sha256 && 'setSecureContext' in this.#server) {
      this.#server.setSecureContext(tlsOptions(next));
      this.#tls = next;
    }
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

  /** Still accepts connections; each response whose head is written from now on closes its connection. */
  announceClose(): void {
    this.#announcesClose = true;
    this.#connections.forEach((connection) => connection.announceClose());
  }

  /**
   * Accepts no further connections. http.Server's `close` would also destroy connections whose client still reads the last
   * response, and stop the timeouts; net.Server's `close` does neither.
   */
  stopAccepting(): void {
    NetServer.prototype.close.call(this.#server);
  }

  /** Leaves memory that is kept for the next bodies to the collector. */
  forgetBodies(): void {
    this.#bodies.forget();
  }

  /** Closes idle connections, those that have not had a request yet among them, and the others after their response. */
  closeWhenIdle(): void {
    this.#connections.forEach((connection) => connection.closeWhenIdle());
  }

  /** Ends every exchange with `fault`. */
  interrupt(fault: Fault): void {
    this.#connections.forEach((connection) => connection.interrupt(fault));
  }

  /** Destroys all remaining connections. */
  close(): void {
    this.#connections.forEach((connection) => connection.cut('close'));
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

function serverOptions(handler: PortHandler, clocks: Clocks): ServerOptions {
  return {
    noDelay: true,
    // What a client that stops reading holds: 64 KiB of pieces, Node's default, are 90 KB more of resident memory.
    highWaterMark: 16_384,
    insecureHTTPParser: false, // also with --insecure-http-parser
    requireHostHeader: false, // check-request.ts requires it, with our error format
    // Any other Upgrade is ignored, as RFC 9110 section 7.8 allows.
    shouldUpgradeCallback: (message) =>
      asksForWebSocket(message) &&
      connectionOf(message.socket)?.isFree === true &&
      handler.upgrades?.((message.url ?? '').split('?', 1)[0] ?? '') === true,
    maxHeaderSize: HEAD_BYTES,
    headersTimeout: clocks.headersMs,
    requestTimeout: clocks.requestMs,
    keepAliveTimeout: clocks.keepAliveMs,
    connectionsCheckingInterval: clocks.checkMs,
  };
}

function asksForWebSocket({ method, httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (method !== 'GET' || httpVersion !== '1.1' || headers.upgrade?.toLowerCase() !== 'websocket')
    return false;
  // With a body it would be uncertain where the frames begin.
  return !rawHeaders.some((name, i) => i % 2 === 0 && /^(?:content-length|transfer-encoding)$/i.test(name));
}

/** Handles an error of Node's parser or of its timeouts. */
function refuse(error: NodeJS.ErrnoException, socket: Socket, connection: Connection | null): void {
  switch (error.code) {
    case 'HPE_CLOSED_CONNECTION': // bytes after a request with `Connection: close`
      return;
    case 'HPE_INVALID_EOF_STATE': // the client closed its side within a request
      break;
    case 'HPE_HEADER_OVERFLOW':
      return connection?.malformed(
        new Fault(
          'too_many_headers',
          `The headers are longer than ${HEAD_BYTES} bytes, or more than ${MOST_HEADERS}.`,
        ),
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      if (socket.bytesRead > 0)
        return connection?.malformed(new Fault('body_timeout', 'The request did not arrive in time.'));
      break;
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return connection?.malformed(oddCoding());
    case 'HPE_INVALID_URL':
      return connection?.malformed(oddTarget());
    default:
      if (error.code?.startsWith('HPE_') === true) return connection?.malformed(malformed(error));
  }
  socket.destroy();
}

function malformed(error: Error): Fault {
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : '';
  const why = reason === '' ? '' : ` ${reason}.`;
  return new Fault('malformed_request', `The bytes received are not an HTTP/1.1 request.${why}`);
}

const notATunnel = (): Fault =>
  new Fault(
    'bad_request_target',
    'This is not a forward proxy: CONNECT is not supported. Send POST /v1/... instead.',
  );
