// Routes requests to their handlers, and drains the server at shutdown. Knows nothing about models.
import type { AddressInfo } from 'node:net';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import type { ListenerTls } from '../../config/tls-settings.ts';
import { FAULTS, type FaultCode } from '../errors/codes.ts';
import { Fault, toFault } from '../errors/fault.ts';
import { levelOf } from '../observability/failure.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import { sendFault, corsHeaders, rawResponse } from '../pipeline/respond.ts';
import { callerFor } from '../pipeline/caller-for.ts';
import { openExchange, type Exchange } from '../pipeline/exchange.ts';
import { errorsAt } from '../api/absent-routes.ts';
import { MountRoutes } from '../api/mounted.ts';
import type { FoundRoute, Routes } from '../api/route.ts';
import { RouteTable } from '../api/route-table.ts';
import { urlOf, type Address } from './addresses.ts';
import { boundTo, type BoundAddress } from './allowed-hosts.ts';
import { checkRequest } from './check-request.ts';
import type { DownstreamRequest } from '../downstream/downstream-request.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';
import { HttpServer } from './http-server.ts';
import { isReplaceable } from './listener-tls.ts';
import { SETTLE_MS, TELL_MS } from './stop-times.ts';

/** After these it is uncertain where the next request begins (RFC 9112 section 6.3), so the connection closes. */
const UNTRUSTED: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'bad_framing',
  'bad_request_target',
  'malformed_request',
]);

/** How long a shutdown may take, ms from the stop signal. */
export interface Drain {
  /** New connections are served for this long. */
  readonly minMs: number;
  /** Requests in flight may run this long; then they are interrupted. */
  readonly maxMs: number;
}

/** All segments of a path below `/key/` but the names of calls (`/key/generate`), in any spelling. */
const KEY_IN_PATH = /\/key\/(?!(?!sk-)[a-z_-]+$)(?!service-account\/generate$)[^/]*/i;
const KEY = /sk-[\w-]{6,}/gi;
const BEHIND_A_PATH = /(?:[;=&#@]|%(?:3b|3d|3f|26|23|25)).*$/i;

/** What is listened on. What has no port of its own is served on `main`; probes are answered there in any case. */
export type PortName = 'main' | 'platform' | 'admin' | 'health';

interface Port {
  readonly http: HttpServer;
  bound: BoundAddress;
}

export class ProxyServer {
  readonly #reloader: ConfigReloader;
  /** At the start. */
  readonly #tls: ListenerTls | null;
  readonly #ports: ReadonlyMap<PortName, Port>;
  readonly #state: { draining: boolean; ownUrl: string | null } = { draining: false, ownUrl: null };
  #inFlight = 0;
  #begun = 0;
  /** Requests whose handler has not returned; one whose client has left still writes its record. */
  #running = 0;
  #hurried = false;
  #over: Fault | null = null;
  /** Called whenever a request ends while a drain waits. */
  #onProgress: (() => void) | null = null;

  /**
   * @param own what is served on a port of its own; null = on the port of the proxy
   * @param consoleFolder of the built console; null = the one that is shipped
   */
  constructor(
    reloader: ConfigReloader,
    own: Readonly<Record<Exclude<PortName, 'main'>, unknown>>,
    consoleFolder: string | null = null,
  ) {
    this.#reloader = reloader;
    const { mount, callers } = reloader.active.services;
    this.#tls = reloader.active.snapshot.tls;
    const owner = { reloader, state: this.#state, hasSessions: callers !== null, consoleFolder };
    const mountRoutes = mount === null ? null : new MountRoutes(mount);
    const ports = new Map<PortName, Port>();
    const open = (name: PortName, routes: Routes): void => void ports.set(name, this.#createPort(routes));
    const role = own.admin === null ? 'all' : 'main';
    open('main', new RouteTable(owner, own.platform === null ? mountRoutes : null, role));
    if (own.platform !== null && mountRoutes !== null) open('platform', mountRoutes);
    if (own.admin !== null) open('admin', new RouteTable(owner, null, 'admin'));
    if (own.health !== null) open('health', new RouteTable(owner, null, 'health'));
    this.#ports = ports;
  }

  /** Requests whose response has not ended. */
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

  /** Binds a port. @returns the address in use; null when the proxy has no such port. @throws the system's error (EADDRINUSE, EACCES) */
  async listen(name: PortName, { host, port }: Address): Promise<AddressInfo | null> {
    const opened = this.#ports.get(name);
    if (opened === undefined) return null;
    opened.bound = boundTo(host);
    const address = await opened.http.listen({ host, port });
    // With TLS the certificate is for a name that this process does not know.
    if (name === 'main') this.#state.ownUrl = this.#tls === null ? urlOf({ host, port: address.port }) : null;
    return address;
  }

  /** New connections of all ports get another certificate, unless the change needs a restart. */
  useTls(tls: ListenerTls | null): void {
    if (this.takesTls(tls)) this.#each((http) => http.useTls(tls));
  }

  /** Whether open ports can go on with it. */
  takesTls(tls: ListenerTls | null): boolean {
    return isReplaceable(this.#tls, tls);
  }

  /** Closes at once, before anything is served. */
  close(): void {
    this.#each((http) => {
      http.stopAccepting();
      http.close();
    });
  }

  /**
   * Graceful shutdown. From now on readiness is 503, liveness stays 200 and every response closes its connection. New
   * connections are accepted for `minMs`; requests run until `maxMs`. Then each client is told, and each record settled.
   */
  async drain({ minMs, maxMs }: Drain): Promise<void> {
    const { mono } = this.#reloader.active.services.clock;
    const startedAt = mono();
    this.#state.draining = true;
    this.#each((http) => http.announceClose());
    // Connections that no response has said to close stay open meanwhile: a load balancer that has not noticed yet sends
    // the next request on one, and a request that meets the close on its way is lost.
    if (minMs > 0) await this.#until(minMs, () => this.#hurried);
    this.#each((http) => http.stopAccepting());
    await whatHasArrived();
    this.#each((http) => http.closeWhenIdle());
    await this.#until(startedAt + maxMs - mono(), () => this.#hurried || this.#isQuiet);
    this.#interrupt();
    await this.#until(TELL_MS, () => this.#inFlight === 0);
    this.#each((http) => http.close());
    await this.#until(SETTLE_MS, () => this.#isQuiet);
  }

  /** On the second signal: interrupts requests in flight now. */
  hurry(): void {
    this.#hurried = true;
    this.#onProgress?.();
  }

  get #isQuiet(): boolean {
    return this.#inFlight === 0 && this.#running === 0;
  }

  #interrupt(): void {
    if (this.#isQuiet) return;
    const text =
      'Connection lost: the proxy is stopping, and the response is not complete. Send the request again.';
    const over = new Fault('shutting_down', text, { headers: [['retry-after', '1']] });
    this.#over = over;
    this.#each((http) => http.interrupt(over));
    this.#reloader.active.services.detachedStreams.giveUp();
  }

  /** Resolves when `isOver` returns true, or after `withinMs`. */
  async #until(withinMs: number, isOver: () => boolean): Promise<void> {
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const cap = setTimeout(resolve, Math.max(0, withinMs)); // the wait for a load balancer may have taken all of it
      this.#onProgress = () => {
        if (!isOver()) return;
        clearTimeout(cap);
        resolve();
      };
    });
    this.#onProgress = null;
  }

  #createPort(routes: Routes): Port {
    const reloader = this.#reloader;
    const { log, metrics } = reloader.active.services;
    const handler = {
      get limits() {
        return reloader.active.snapshot.limits;
      },
      request: (request: DownstreamRequest, response: DownstreamResponse) =>
        this.#serve(request, response, routes, port.bound),
      upgrades: (path: string) => routes.upgrades(path),
      errorResponse: (fault: Fault) => this.#errorResponse(fault),
      exchangeEnded: () => this.#exchangeEnded(),
      failed: (err: unknown) => log.error({ err }, 'a connection failed'),
      connectionRefused: () => metrics.connectionRefused(),
      handshakeFailed: (why: string) => log.info({ why }, 'a TLS handshake failed'),
    };
    const port: Port = { http: new HttpServer(handler, {}, this.#tls), bound: boundTo('') };
    return port;
  }

  #each(act: (http: HttpServer) => void): void {
    for (const { http } of this.#ports.values()) act(http);
  }

  #serve(
    request: DownstreamRequest,
    response: DownstreamResponse,
    routes: Routes,
    bound: BoundAddress,
  ): void {
    this.#inFlight += 1;
    this.#begun += 1;
    if (this.#over !== null) response.interrupt(this.#over);
    void this.#handle(openExchange(request, response, this.#reloader.active), routes, bound);
  }

  #exchangeEnded(): void {
    this.#inFlight -= 1;
    this.#onProgress?.();
  }

  async #handle(x: Exchange, routes: Routes, bound: BoundAddress): Promise<void> {
    x.active.enter();
    this.#running += 1;
    let denied: FoundRoute['route']['denied'];
    let errors: FoundRoute['route']['errors'];
    try {
      const { req: request, headers, query } = x;
      checkRequest({ request, headers, query, bound, rules: x.active.snapshot });
      if (x.req.method === 'OPTIONS' && preflight(x)) return;
      const { route, param }: FoundRoute = routes.find(x.req.method, x.path);
      ({ denied, errors } = route);
      const found = callerFor(x, route.access, routes.isAdminPort);
      const caller = found instanceof Promise ? await found : found;
      denied = undefined;
      await route.handle(x, caller, param);
    } catch (thrown) {
      const fault = toFault(thrown);
      denied?.(x, fault);
      const { log, metrics } = x.active.services;
      metrics.rejected(fault.code);
      const { method } = x.req;
      const request = { call_id: x.id, method, path: loggedPath(x.path), status: fault.status };
      const line = { ...request, ...rejectionOf(fault) };
      if (fault.code === 'internal_error') log.error({ ...line, err: fault.cause }, 'rejected');
      else log[levelOf(fault)](line, 'rejected');
      if (UNTRUSTED.has(fault.code)) x.res.closeAfter();
      sendFault(x, fault, errors ?? errorsAt(x));
    } finally {
      x.active.leave();
      this.#running -= 1;
      this.#onProgress?.();
    }
  }

  /** Malformed input gets an error in the same format as everything else. */
  #errorResponse(fault: Fault): string {
    const { active } = this.#reloader;
    active.services.metrics.rejected(fault.code);
    active.services.log.info({ status: fault.status, ...rejectionOf(fault), why: fault.message }, 'rejected');
    return rawResponse(active.snapshot.dialect, fault);
  }
}

/** Why a request got a response without a record. The text of a client's mistake may quote what it sent, the table does not. */
function rejectionOf({ code, source, message, cause }: Fault): Readonly<Record<string, string>> {
  const because = cause instanceof StoreUnavailable ? ` (${cause.message})` : '';
  return { fault: source, error: code, why: source === 'client' ? FAULTS[code].means : message + because };
}

/** What may be a query in another spelling is not logged: it may hold a key. So may a path, as `/key/{key}/regenerate` does. */
function loggedPath(path: string): string {
  if (!path.startsWith('/')) return '';
  return path
    .slice(0, 200)
    .replace(KEY_IN_PATH, '/key/{key}')
    .replaceAll(KEY, '{key}')
    .replace(BEHIND_A_PATH, '');
}

/** Two turns of the event loop: by then, requests that were waiting in the kernel have been read. */
async function whatHasArrived(): Promise<void> {
  for (let n = 0; n < 2; n += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Answers a CORS preflight; false when CORS is off. */
function preflight(x: Exchange): boolean {
  if (x.active.snapshot.cors === null) return false;
  x.res.writeHead(204, [
    ...corsHeaders(x),
    'access-control-allow-methods',
    'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers',
    x.req.header('access-control-request-headers') ?? '*',
    'access-control-max-age',
    '600',
  ]);
  x.res.end();
  return true;
}
