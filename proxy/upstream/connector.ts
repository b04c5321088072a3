// Opens sockets to upstreams: plain or TLS, direct or through the HTTP proxy of the environment. undici does the work
// (`buildConnector`, `Client#connect`); this file combines the two so that the pool has the socket and can cancel an
// attempt. It sets no timeout: the exchange that waits for the socket has one.
import { isIP, Socket, type LookupFunction } from 'node:net';
import { TLSSocket } from 'node:tls';
import { buildConnector, Client } from 'undici';
import { ownCode } from './failures.ts';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { ProxyFailure } from './bad-response.ts';
import type { HttpProxy } from './http-proxies.ts';
import type { ReceivedHead } from './response-head.ts';
import { checkAddress } from './safe-lookup.ts';
import { sharedLookup } from './shared-lookup.ts';
import { explained, secureContextOf, unanswered } from './tls.ts';

/** Parameters of undici's `connect` functions. */
type ConnectOptions = buildConnector.Options;
type ConnectCallback = buildConnector.Callback;

/** Cancels the attempt; the callback is not called then. */
type Stop = () => void;

/** Limit for the headers of a response to CONNECT. */
const TUNNEL_HEAD_BYTES = 16_384;
/** RFC 9110 section 9.3.6 allows any 2xx; proxies send 200, and undici's ProxyAgent accepts nothing else. */
const TUNNEL_OPEN = 200;

/**
 * What a response that nobody reads keeps in the socket: with 64 KiB, undici's default, 40 KB more of resident memory. Its
 * connector hands options on to `net.connect`; its types name some of them.
 */
const BUFFER = { highWaterMark: 16_384 };

export class Connector {
  /** The origin that a Client connects to: the upstream, or the forward proxy. */
  readonly peer: URL;
  /** Prefix of a request's path: the origin for a forward proxy; else ''. */
  readonly pathPrefix: string;
  /** Flat name, value list that each request needs on this route. */
  readonly headers: readonly string[];
  readonly #proxy: HttpProxy | null;
  readonly #connectPeer: buildConnector.connector;
  readonly #connectProxy: buildConnector.connector;
  readonly #isTunnel: boolean;
  readonly #tls: UpstreamTls | null;
  readonly #isTls: boolean;
  /** The address that the origin names; null = a name, or it may be any. */
  readonly #checked: string | null;
  /** The last TLS session. undici holds it by a `WeakRef` alone, so that a collection would end it: every handshake a full one. */
  readonly #sessions: Buffer[] = [];

  /**
   * @param allowH2 offers HTTP/2 in TLS; the socket's `alpnProtocol` says what was agreed on.
   * @param tls authorities and client certificate; null = as Node does by itself
   * @param safeLookup refuses addresses; null = any will do. A forward proxy resolves by itself, so it is not asked then.
   */
  constructor(
    origin: string,
    proxy: HttpProxy | null,
    allowH2: boolean,
    tls: UpstreamTls | null = null,
    safeLookup: LookupFunction | null = null,
  ) {
    const { host, protocol } = new URL(origin);
    const isForwarded = proxy !== null && protocol === 'http:';
    this.#proxy = proxy;
    this.#tls = tls;
    this.#isTls = protocol === 'https:';
    this.#isTunnel = proxy !== null && protocol === 'https:';
    this.peer = originOnly(isForwarded ? proxy.origin : origin);
    this.pathPrefix = isForwarded ? origin : '';
    this.headers = isForwarded ? ['host', host, ...authorizationOf(proxy)] : [];
    const address = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1');
    this.#checked = safeLookup !== null && isIP(address) !== 0 ? address : null; // addresses are not looked up
    const lookup = sharedLookup(safeLookup === null || proxy !== null ? undefined : safeLookup);
    const own = tls === null || isForwarded ? {} : { secureContext: secureContextOf(tls) };
    this.#connectPeer = buildConnector({
      allowH2,
      preferH2: allowH2,
      timeout: 0,
      ...BUFFER,
      ...own,
      lookup,
    });
    this.#connectProxy = buildConnector({ allowH2: false, timeout: 0, ...BUFFER, lookup });
  }

  /**
   * An error of a connection in the words of the configuration.
   * @param isNew the connection was open and had not delivered a byte
   */
  explained(error: Error, isNew: boolean): Error {
    const code = ownCode(error);
    const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
    return isNew && isClosed && this.#isTls ? unanswered(error, this.#tls) : explained(error, this.#tls);
  }

  /** Tells a refusal of a forward proxy from an answer of the upstream behind it. @throws ProxyFailure */
  checkHead({ status, list }: ReceivedHead): void {
    if (this.pathPrefix !== '' && status >= 400 && isOfProxy(status, list))
      throw new ProxyFailure(null, status, 'the request');
  }

  open(options: ConnectOptions, callback: ConnectCallback): Stop {
    const settle: ConnectCallback = (error, socket) => {
      if (socket instanceof Socket) callback(null, socket);
      else if (this.pathPrefix === '')
        callback(withoutReconnect(error), null); // undici omits the second argument
      else callback(new ProxyFailure(error), null);
    };
    const refusal = this.#checked === null ? null : checkAddress(this.#checked);
    if (refusal !== null) {
      queueMicrotask(() => callback(refusal, null));
      return () => undefined;
    }
    return this.#isTunnel && this.#proxy !== null
      ? this.#openTunnel(this.#proxy, options, settle)
      : this.#openPeer(options, settle);
  }

  #openPeer(options: ConnectOptions, callback: ConnectCallback): Stop {
    return start(this.#connectPeer, options, callback, (session) => (this.#sessions[0] = session));
  }

  /** CONNECT (RFC 9110 section 9.3.6), then TLS inside. */
  #openTunnel(proxy: HttpProxy, options: ConnectOptions, callback: ConnectCallback): Stop {
    const authority = `${options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname}:${options.port || 443}`;
    let stopOpening: Stop = () => undefined;
    const abort = new AbortController();
    const client = new Client(proxy.origin, {
      connect: (options, callback) => (stopOpening = start(this.#connectProxy, options, callback)),
      allowH2: false,
      maxHeaderSize: TUNNEL_HEAD_BYTES,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const headers = ['host', authority, ...authorizationOf(proxy)];
    client.connect({ path: authority, headers, signal: abort.signal }, (error, data) => {
      if (error !== null) {
        stopOpening();
        if (!abort.signal.aborted) callback(new ProxyFailure(error), null);
        return;
      }
      const { statusCode, socket } = data;
      socket.on('error', () => undefined); // the TLS socket around it reports the error
      // A TLS server never sends first, so bytes after the headers are invalid.
      if (statusCode !== TUNNEL_OPEN || !(socket instanceof Socket) || socket.readableLength > 0) {
        socket.destroy();
        callback(new ProxyFailure(null, statusCode), null);
        return;
      }
      const stopTls = this.#openPeer({ ...options, httpSocket: socket }, callback);
      stopOpening = () => {
        stopTls();
        socket.destroy();
      };
    });
    return () => {
      abort.abort();
      stopOpening();
    };
  }
}

/** An origin with its text kept: undici asks for that with each request, and a URL makes it anew each time. */
function originOnly(origin: string): URL {
  const url = new URL(origin);
  return Object.defineProperty(url, 'origin', { value: url.origin });
}

/** undici's connectors return the socket that they open; their types omit this, so it is checked. */
function start(
  connect: buildConnector.connector,
  options: ConnectOptions,
  callback: ConnectCallback,
  onSession?: (session: Buffer) => void,
): Stop {
  const opening: unknown = connect(options, callback);
  if (onSession !== undefined && opening instanceof TLSSocket) opening.on('session', onSession);
  return () => {
    if (opening instanceof Socket) opening.destroy();
  };
}

const RECONNECTED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'UND_ERR_INFO']);

/**
 * undici reconnects endlessly after an error with one of `RECONNECTED`, because it assumes that an open connection was lost.
 * While connecting they must end the request (https://github.com/nodejs/undici/issues/3897).
 */
function withoutReconnect(error: Error | null): Error {
  if (error !== null && !RECONNECTED.has(ownCode(error))) return error;
  return new Error('the connection was closed before it was open', { cause: error });
}

/** Products that name themselves in their own errors, and not in what they hand on. */
const PROXY_PRODUCT = /^(?:tinyproxy|squid|privoxy)\b/i;

/** 407 comes from a proxy only (RFC 9110 section 15.5.8); other errors by what common proxies put into theirs. */
function isOfProxy(status: number, list: readonly string[]): boolean {
  if (status === 407) return true;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]?.toLowerCase();
    if (name === 'x-squid-error') return true;
    if (name === 'server' && PROXY_PRODUCT.test(list[i + 1] ?? '')) return true;
  }
  return false;
}

function authorizationOf({ authorization }: HttpProxy): string[] {
  return authorization === null ? [] : ['proxy-authorization', authorization.reveal()];
}
