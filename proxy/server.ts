// The node:http server: its limits, the way from a socket to a route, and its end. Knows nothing of models.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Changes } from './changes.ts';
import type { FaultCode } from './errors/codes.ts';
import { Fault, toFault } from './errors/fault.ts';
import { answerFault, corsHeaders, rawAnswer } from './request/answer.ts';
import { authenticate } from './request/authenticate.ts';
import { openExchange, type Exchange } from './request/exchange.ts';
import { checkFraming } from './request/framing.ts';
import { RouteTable, type FoundRoute } from './routes/table.ts';

/** Agents send long metadata headers; Node's default of 16 KiB cuts them off with a bare 431. */
const MAX_HEADER_BYTES = 65_536;
const HEADERS_MS = 30_000;
/** Bounds receiving one request, not answering it. */
const REQUEST_MS = 300_000;
/** Longer than the 60 s at which common load balancers let idle connections go: they must close first. */
const KEEP_ALIVE_MS = 75_000;

/** Where one request ends and the next begins is in doubt after these (RFC 9112 section 6.3): the connection closes. */
const UNTRUSTED: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'bad_framing',
  'bad_request_target',
  'malformed_request',
]);
/** Closing a socket takes the system no time; this is for what nobody thought of. */
const CUT_MS = 1_000;

const NOBODY = { keyHash: '' };

/** The answers that are under way on a socket; more than one when requests are pipelined. */
const ANSWERS = Symbol('answers under way');

/** Kept on the socket itself: a Map of sockets would keep answers alive long after their end (see base/roster.ts). */
function answersOn(socket: Socket & { [ANSWERS]?: ServerResponse[] }): ServerResponse[] {
  return (socket[ANSWERS] ??= []);
}

export class ProxyServer {
  readonly #changes: Changes;
  readonly #server: Server;
  readonly #routes: RouteTable;
  readonly #state = { draining: false };
  /** Sockets of which nothing more is believed. */
  readonly #condemned = new WeakSet<Socket>();
  #inFlight = 0;
  #idle: (() => void) | null = null;

  constructor(changes: Changes) {
    this.#changes = changes;
    this.#routes = new RouteTable(changes, this.#state);
    this.#server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requireHostHeader: false, // counted by our own rule, which answers with a body
      noDelay: true,
    });
    this.#server.maxHeadersCount = 0; // Node truncates silently at its limit; ours counts and answers 431
    this.#server.on('request', (req, res) => this.#serve(req, res, false));
    this.#server.on('checkContinue', (req, res) => this.#serve(req, res, true));
    // Without these two listeners Node answers an odd expectation and CONNECT by itself: no body, or no answer at all.
    this.#server.on('checkExpectation', (req, res) => this.#serve(req, res, false, oddExpectation()));
    this.#server.on('connect', (_, socket) => this.#refuse(socket as Socket, notATunnel()));
    this.#server.on('clientError', (error, socket) => this.#malformed(error, socket as Socket));
  }

  /** Requests that have not been answered to the end. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Binds. @returns the address in use. @throws the system's error (EADDRINUSE, EACCES). */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve(this.#server.address() as AddressInfo);
      });
    });
  }

  /**
   * Stops taking connections and lets running requests end, for at most `drainMs`; then cuts them (their records are
   * written all the same). On connections that are open readiness is 503 from now on, liveness stays 200.
   */
  async drain(drainMs: number): Promise<void> {
    this.#state.draining = true;
    this.#server.close();
    this.#server.closeIdleConnections();
    await this.#quiet(drainMs);
    this.#server.closeAllConnections();
    await this.#quiet(CUT_MS); // a socket that is cut closes some turns later, and only then its request settles
  }

  /** Cuts what still runs: the second signal. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** Settles when nothing runs any more, or after `withinMs`. */
  async #quiet(withinMs: number): Promise<void> {
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      const cap = setTimeout(resolve, withinMs);
      this.#idle = () => {
        clearTimeout(cap);
        resolve();
      };
    });
  }

  #serve(
    req: IncomingMessage,
    res: ServerResponse,
    expectsContinue: boolean,
    refusal: Fault | null = null,
  ): void {
    const { live } = this.#changes;
    const { socket } = req;
    if (this.#condemned.has(socket)) return; // closed as soon as the refusal is out; this was parsed from the same packet
    const x = openExchange(req, res, live, expectsContinue);
    live.enter();
    this.#inFlight += 1;
    const answers = answersOn(socket);
    answers.push(res);
    res.once('close', () => {
      live.leave();
      answers.splice(answers.indexOf(res), 1);
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#idle?.();
    });
    if (this.#state.draining) res.setHeader('connection', 'close');
    void this.#handle(x, refusal);
  }

  async #handle(x: Exchange, refusal: Fault | null): Promise<void> {
    try {
      if (refusal !== null) throw refusal;
      checkFraming(x);
      if (x.req.method === 'OPTIONS' && preflight(x)) return;
      const { entry, param }: FoundRoute = this.#routes.find(x.req.method as string, x.path);
      await entry.handle(x, entry.open ? NOBODY : authenticate(x), param);
    } catch (thrown) {
      const fault = toFault(thrown);
      const { log, metrics } = x.live.house;
      metrics.rejected(fault.code);
      const line = { call_id: x.id, method: x.req.method, path: x.path.slice(0, 200), error: fault.code };
      if (fault.code === 'internal_error') log.error({ ...line, err: fault.cause }, 'rejected');
      else log.info(line, 'rejected');
      if (UNTRUSTED.has(fault.code)) {
        this.#condemned.add(x.req.socket);
        if (!x.res.headersSent) x.res.setHeader('connection', 'close');
      }
      answerFault(x, fault, 'other');
    }
  }

  /** Bytes that are no request: answered in the same shape as everything else, then closed. */
  #malformed(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    this.#refuse(socket, malformation(error.code ?? ''), error.code);
  }

  /** Answers on the bare socket, unless an answer has begun there: its bytes must not be followed by another one. */
  #refuse(socket: Socket, fault: Fault, why?: string): void {
    const { live } = this.#changes;
    live.house.metrics.rejected(fault.code);
    live.house.log.info({ error: fault.code, why }, 'rejected');
    const begun = answersOn(socket).filter((res) => res.headersSent);
    if (begun.some((res) => !res.writableEnded)) socket.destroy();
    else if (begun.length > 0) socket.destroySoon();
    else socket.end(rawAnswer(live.snapshot.dialect, fault), () => socket.destroySoon());
  }
}

const oddExpectation = (): Fault =>
  new Fault('bad_framing', 'The only expectation that is understood is 100-continue.');

const notATunnel = (): Fault =>
  new Fault(
    'bad_request_target',
    'This is no forward proxy: CONNECT is not served. Send POST /v1/... to it.',
  );

function malformation(code: string): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new Fault('too_many_headers', `The headers are longer than ${MAX_HEADER_BYTES} bytes.`);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Fault('body_timeout', 'The request did not arrive in time.');
  }
  return new Fault('malformed_request', 'The bytes received are not a well-formed HTTP/1.1 request.');
}

/** Answers a CORS preflight; false when CORS is off. */
function preflight(x: Exchange): boolean {
  if (x.live.snapshot.cors === null) return false;
  const asked = x.req.headers['access-control-request-headers'];
  x.res.writeHead(204, [
    ...corsHeaders(x),
    'access-control-allow-methods',
    'GET, POST, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers',
    typeof asked === 'string' ? asked : '*',
    'access-control-max-age',
    '600',
  ]);
  x.res.end();
  return true;
}
