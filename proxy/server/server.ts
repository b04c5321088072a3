// The way from a request to its route, and the end of the server's life. Knows nothing of models.
import type { AddressInfo } from 'node:net';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import type { FaultCode } from '../errors/codes.ts';
import { Fault, toFault } from '../errors/fault.ts';
import { answerFault, corsHeaders, rawAnswer } from '../pipeline/answer.ts';
import { authenticate } from '../pipeline/authenticate.ts';
import { openExchange, type Exchange } from '../pipeline/exchange.ts';
import { RouteTable, MountRoutes, type FoundRoute, type Routes } from '../api/route-table.ts';
import { checkRequest } from './check-request.ts';
import type { DownstreamRequest } from '../downstream/downstream-request.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';
import { HttpServer } from './http-server.ts';

/** Where one request ends and the next begins is in doubt after these (RFC 9112 section 6.3): the connection closes. */
const UNTRUSTED: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'bad_framing',
  'bad_request_target',
  'malformed_request',
]);
/**
 * For last words to clients that read slowly, or not at all. Longer than the count of a broken stream's tokens may take
 * (2 s, estimate/estimator.ts): its record is settled before its client is told.
 */
const LAST_WORDS_MS = 5_000;
/** Closing a socket takes the system no time; this is for what nobody thought of. */
const CUT_MS = 1_000;

/** How long a server that ends goes on, ms from the first word of it. */
export interface Drain {
  /** New connections are served so long, whether or not there are any. */
  readonly minMs: number;
  /** Running requests may go on so long; then they are told that they end. */
  readonly maxMs: number;
}

const NOBODY = { keyHash: '' };

export class ProxyServer {
  readonly #changes: ConfigReloader;
  readonly #http: HttpServer;
  /** Where the wing is served alone; null = on the same port, if there is one. */
  readonly #wingHttp: HttpServer | null;
  readonly #state = { draining: false };
  #inFlight = 0;
  #begun = 0;
  /** Requests whose steps have not all been taken; one whose client has left still writes its record. */
  #running = 0;
  #hurried = false;
  #over: Fault | null = null;
  /** Asked whenever something has ended, while a drain waits. */
  #look: (() => void) | null = null;

  /** @param wingApart whether the wing is served on a port of its own */
  constructor(reloader: ConfigReloader, wingApart: boolean) {
    this.#changes = reloader;
    const { mount } = reloader.active.services;
    const wingRoutes = mount === null ? null : new MountRoutes(mount);
    this.#http = this.#opened(new RouteTable(reloader, this.#state, wingApart ? null : wingRoutes));
    this.#wingHttp = wingApart && wingRoutes !== null ? this.#opened(wingRoutes) : null;
  }

  /** Requests that have not been answered to the end. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests so far. */
  get begun(): number {
    return this.#begun;
  }

  /** Leaves memory that is kept for the next bodies to the collector. */
  forgetBodies(): void {
    this.#each((http) => http.forgetBodies());
  }

  /** Binds. @returns the address in use. @throws the system's error (EADDRINUSE, EACCES). */
  listen(host: string, port: number): Promise<AddressInfo> {
    return this.#http.listen({ host, port });
  }

  /** The same for the wing's own port; null when it has none. */
  async listenWing(host: string, port: number): Promise<AddressInfo | null> {
    return this.#wingHttp === null ? null : this.#wingHttp.listen({ host, port });
  }

  /** Ends at once, with nothing served yet. */
  close(): void {
    this.#each((http) => {
      http.shut();
      http.close();
    });
  }

  /**
   * Ends in order. Readiness is 503 from now on and liveness stays 200; every answer closes its connection. Connections
   * are taken for `minMs`; requests run on until `maxMs`, then each one ends with a fault, its record written.
   */
  async drain({ minMs, maxMs }: Drain): Promise<void> {
    const { mono } = this.#changes.active.services.clock;
    const startedAt = mono();
    this.#state.draining = true;
    this.#each((http) => http.retire());
    if (minMs > 0) {
      await whatHasArrived();
      this.#each((http) => http.closeIdle(false));
      await this.#until(minMs, () => this.#hurried);
    }
    this.#each((http) => http.shut());
    await whatHasArrived();
    this.#each((http) => http.closeIdle(true));
    await this.#until(startedAt + maxMs - mono(), () => this.#hurried || this.#isQuiet);
    this.#interrupt();
    await this.#until(LAST_WORDS_MS, () => this.#isQuiet);
    this.#each((http) => http.close());
    await this.#until(CUT_MS, () => this.#isQuiet);
  }

  /** The second signal: what still runs is told so now. */
  hurry(): void {
    this.#hurried = true;
    this.#look?.();
  }

  get #isQuiet(): boolean {
    return this.#inFlight === 0 && this.#running === 0;
  }

  #interrupt(): void {
    if (this.#isQuiet) return;
    const text = 'The proxy is stopping, and the answer is not complete. Send the request again.';
    const over = new Fault('shutting_down', text, { headers: [['retry-after', '1']] });
    this.#over = over;
    this.#each((http) => http.interrupt(over));
    this.#changes.active.services.detachedStreams.giveUp();
  }

  /** Settles when `isOver`, or after `withinMs`. */
  async #until(withinMs: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const cap = setTimeout(resolve, withinMs);
      this.#look = () => {
        if (!isOver()) return;
        clearTimeout(cap);
        resolve();
      };
    });
    this.#look = null;
  }

  #opened(routes: Routes): HttpServer {
    const reloader = this.#changes;
    const { log, metrics } = reloader.active.services;
    return new HttpServer({
      get limits() {
        return reloader.active.snapshot.limits;
      },
      request: (request, response) => this.#serve(request, response, routes),
      refusal: (fault) => this.#refusal(fault),
      settled: () => this.#settled(),
      failed: (err) => log.error({ err }, 'a connection failed'),
      turnedAway: () => metrics.connectionRefused(),
    });
  }

  #each(act: (http: HttpServer) => void): void {
    act(this.#http);
    if (this.#wingHttp !== null) act(this.#wingHttp);
  }

  #serve(request: DownstreamRequest, response: DownstreamResponse, routes: Routes): void {
    this.#inFlight += 1;
    this.#begun += 1;
    if (this.#over !== null) response.interrupt(this.#over);
    void this.#handle(openExchange(request, response, this.#changes.active), routes);
  }

  #settled(): void {
    this.#inFlight -= 1;
    this.#look?.();
  }

  async #handle(x: Exchange, routes: Routes): Promise<void> {
    x.active.enter();
    this.#running += 1;
    try {
      const { req: request, headers, query } = x;
      checkRequest({ request, headers, query, maxHeaders: x.active.snapshot.limits.headerCount });
      if (x.req.method === 'OPTIONS' && preflight(x)) return;
      const { entry, param }: FoundRoute = routes.find(x.req.method, x.path);
      const caller = entry.open ? NOBODY : authenticate(x);
      await entry.handle(x, caller instanceof Promise ? await caller : caller, param);
    } catch (thrown) {
      const fault = toFault(thrown);
      const { log, metrics } = x.active.services;
      metrics.rejected(fault.code);
      const line = { call_id: x.id, method: x.req.method, path: x.path.slice(0, 200), error: fault.code };
      if (fault.code === 'internal_error') log.error({ ...line, err: fault.cause }, 'rejected');
      else log.info(line, 'rejected');
      if (UNTRUSTED.has(fault.code)) x.res.closeAfter();
      answerFault(x, fault);
    } finally {
      x.active.leave();
      this.#running -= 1;
      this.#look?.();
    }
  }

  /** Bytes that are no request are answered in the same shape as everything else. */
  #refusal(fault: Fault): string {
    const { active } = this.#changes;
    active.services.metrics.rejected(fault.code);
    active.services.log.info({ error: fault.code, why: fault.message }, 'rejected');
    return rawAnswer(active.snapshot.dialect, fault);
  }
}

/** Two turns of the event loop: requests that the system held when the first began have been taken by then. */
async function whatHasArrived(): Promise<void> {
  for (let n = 0; n < 2; n += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Answers a CORS preflight; false when CORS is off. */
function preflight(x: Exchange): boolean {
  if (x.active.snapshot.cors === null) return false;
  x.res.writeHead(204, [
    ...corsHeaders(x),
    'access-control-allow-methods',
    'GET, POST, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers',
    x.req.header('access-control-request-headers') ?? '*',
    'access-control-max-age',
    '600',
  ]);
  x.res.end();
  return true;
}
