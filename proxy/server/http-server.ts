// The port: Node's HTTP server, set up strictly, with bounds on everything that a client may take its time or its fill
// of. Knows nothing of what is served.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type ListenOptions, type Socket } from 'node:net';
import { DenseSet } from '../base/dense-set.ts';
import { BodyMemory } from '../bodies/body-memory.ts';
import { Fault } from '../errors/fault.ts';
import { expectationOf, oddCoding, oddTarget } from './check-request.ts';
import { Connection, type Clocks, type ConnectionHost } from './connection.ts';
import type { DownstreamRequest, Expectation } from '../downstream/downstream-request.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';

/** What is served on a port. */
export interface Served {
  /** As they are now: they change with the configuration. */
  readonly limits: ConnectionLimits;
  request(request: DownstreamRequest, response: DownstreamResponse): void;
  /** See `ConnectionHost.refusal`. */
  refusal(fault: Fault): string;
  /** An exchange has ended, whole or not. */
  settled(): void;
  /** See `ConnectionHost.failed`. */
  failed(error: unknown): void;
  /** A connection was turned away: there are as many as may be. */
  turnedAway(): void;
}

export interface ConnectionLimits {
  /** Connections at once. */
  readonly connections: number;
  /** Requests on one connection, after which it ends. */
  readonly requestsPerConnection: number;
}

/** Agents send long metadata headers; Node's 16 KiB would cut them off with a bare 431. */
const HEAD_BYTES = 65_536;
/**
 * Node 26 refuses more while it parses. Older ones drop the rest and say nothing, so this lies above what
 * `max_request_headers` can be set to (900): a list that was cut short is one that check-request.ts refuses.
 */
const MOST_HEADERS = 1_000;

const CLOCKS: Clocks = {
  headersMs: 30_000,
  requestMs: 300_000,
  /** Longer than the 60 s at which common load balancers let idle connections go: they must close first. */
  keepAliveMs: 75_000,
  discardMs: 5_000,
  lingerMs: 1_000,
  stallMs: 60_000,
  checkMs: 1_000,
};

/** Whose a socket is. */
const OWNER = Symbol('connection');
type OwnedSocket = Socket & { [OWNER]?: Connection };

export class HttpServer {
  readonly #server: Server;
  readonly #connections = new DenseSet<Connection>();
  readonly #bodies = new BodyMemory();
  #retired = false;

  constructor(served: Served, clocks: Partial<Clocks> = {}) {
    const connections = this.#connections;
    const all = { ...CLOCKS, ...clocks };
    const host: ConnectionHost = {
      bodies: this.#bodies,
      clocks: all,
      waiting: { count: 0 },
      get maxRequests() {
        return served.limits.requestsPerConnection;
      },
      request: (request, response) => served.request(request, response),
      settled: () => served.settled(),
      refusal: (fault) => served.refusal(fault),
      failed: (error) => served.failed(error),
      closed: (connection) => connections.delete(connection),
    };
    const server = createServer({
      noDelay: true,
      insecureHTTPParser: false, // whatever --insecure-http-parser says
      requireHostHeader: false, // check-request.ts does, with an answer in our shape
      shouldUpgradeCallback: () => false, // passed over, as RFC 9110 section 7.8 allows
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: all.headersMs,
      requestTimeout: all.requestMs,
      keepAliveTimeout: all.keepAliveMs,
      connectionsCheckingInterval: all.checkMs,
    });
    server.maxHeadersCount = MOST_HEADERS;
    server.maxConnections = served.limits.connections;
    server.on('connection', (socket: OwnedSocket) => {
      server.maxConnections = served.limits.connections;
      const connection = new Connection(socket, host);
      socket[OWNER] = connection;
      connections.add(connection);
      if (this.#retired) connection.closeAfterAnswer();
    });
    const take = (message: IncomingMessage, out: ServerResponse, expectation: Expectation): void =>
      ownerOf(message.socket)?.take(message, out, expectation);
    const expects = (message: IncomingMessage, out: ServerResponse): void =>
      take(message, out, expectationOf(message.rawHeaders));
    server.on('request', (message, out) =>
      message.httpVersion === '1.1' ? take(message, out, 'none') : expects(message, out),
    );
    server.on('checkContinue', expects);
    server.on('checkExpectation', expects);
    server.on('connect', (_, socket) => ownerOf(socket as Socket)?.malformed(notATunnel()));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuse(error, socket as Socket, ownerOf(socket as Socket)),
    );
    server.on('drop', () => {
      server.maxConnections = served.limits.connections;
      served.turnedAway();
    });
    this.#server = server;
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
    this.#retired = true;
    this.#connections.forEach((connection) => connection.closeAfterAnswer());
  }

  /**
   * Takes no further connections. The `close` of an HTTP server would also cut connections whose last answer the client
   * is still taking, and stop the clocks; that of the server below it does neither.
   */
  shut(): void {
    NetServer.prototype.close.call(this.#server);
  }

  /** Leaves memory that is kept for the next bodies to the collector. */
  forgetBodies(): void {
    this.#bodies.forget();
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
    this.#connections.forEach((connection) => connection.cut('close'));
    this.#server.close();
  }
}

const ownerOf = (socket: OwnedSocket): Connection | null => socket[OWNER] ?? null;

/** What Node's parser or its clocks object to. */
function refuse(error: NodeJS.ErrnoException, socket: Socket, connection: Connection | null): void {
  switch (error.code) {
    case 'HPE_CLOSED_CONNECTION': // bytes behind a request that is the last one by its own word
      return;
    case 'HPE_INVALID_EOF_STATE': // the client ended its side within a request
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
  return new Fault('malformed_request', `The bytes received are no HTTP/1.1 request.${why}`);
}

const notATunnel = (): Fault =>
  new Fault(
    'bad_request_target',
    'This is no forward proxy: CONNECT is not served. Send POST /v1/... to it.',
  );
