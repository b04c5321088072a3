// Opens sockets to upstreams: plain or TLS, straight or through the HTTP proxy that the environment names. undici does the
// work (`buildConnector`, `Client#connect`); here the two are put together so that the pool knows the socket and can break off what is being
// opened. No deadline here: the clocks of the exchange that waits for the socket bound it.
import { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import { ProxyFailure } from './bad-response.ts';
import type { HttpProxy } from './http-proxies.ts';

/** What undici asks of a `connect` function, and how it is told. */
type ConnectOptions = buildConnector.Options;
type ConnectCallback = buildConnector.Callback;

/** Breaks off what is being opened; nothing is told then. */
type Stop = () => void;

/** More of an answer to CONNECT is not read. */
const TUNNEL_HEAD_BYTES = 16_384;
/** RFC 9110 section 9.3.6: any 2xx opens the tunnel; what proxies send is 200, and undici's ProxyAgent takes no other. */
const TUNNEL_OPEN = 200;

export class Connector {
  /** Whom a Client is told to speak to: the upstream, or the forwarding proxy. */
  readonly peer: string;
  /** What stands before the path of a request: the origin, on the way to a forwarding proxy; else ''. */
  readonly pathPrefix: string;
  /** Flat name, value list: what the way asks of each request. */
  readonly headers: readonly string[];
  readonly #proxy: HttpProxy | null;
  readonly #connectPeer: buildConnector.connector;
  readonly #connectProxy: buildConnector.connector;
  readonly #isTunnel: boolean;

  /** @param allowH2 offers HTTP/2 in TLS; the socket's `alpnProtocol` says what was agreed on. */
  constructor(origin: string, proxy: HttpProxy | null, allowH2: boolean) {
    const { host, protocol } = new URL(origin);
    const isForwarded = proxy !== null && protocol === 'http:';
    this.#proxy = proxy;
    this.#isTunnel = proxy !== null && protocol === 'https:';
    this.peer = isForwarded ? proxy.origin : origin;
    this.pathPrefix = isForwarded ? origin : '';
    this.headers = isForwarded ? ['host', host, ...authorizationOf(proxy)] : [];
    this.#connectPeer = buildConnector({ allowH2, preferH2: allowH2, timeout: 0 });
    this.#connectProxy = buildConnector({ allowH2: false, timeout: 0 });
  }

  open(options: ConnectOptions, callback: ConnectCallback): Stop {
    const settle: ConnectCallback = (error, socket) => {
      if (socket instanceof Socket) callback(null, socket);
      else callback(withoutReconnect(error), null); // undici leaves the second argument out
    };
    return this.#isTunnel && this.#proxy !== null
      ? this.#openTunnel(this.#proxy, options, settle)
      : start(this.#connectPeer, options, settle);
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
      socket.on('error', () => undefined); // of the TLS socket around it, which is told
      // A TLS server does not speak first: bytes behind the head are nobody's.
      if (statusCode !== TUNNEL_OPEN || !(socket instanceof Socket) || socket.readableLength > 0) {
        socket.destroy();
        callback(new ProxyFailure(null, statusCode), null);
        return;
      }
      const stopTls = start(this.#connectPeer, { ...options, httpSocket: socket }, callback);
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

/** undici's connectors return the socket that they open; its types do not say so, so it is looked at. */
function start(connect: buildConnector.connector, options: ConnectOptions, callback: ConnectCallback): Stop {
  const opening: unknown = connect(options, callback);
  return () => {
    if (opening instanceof Socket) opening.destroy();
  };
}

/**
 * undici connects again, without end, after a failure with one of these codes: it takes them for the loss of a connection that
 * was open. While one is being opened they must end the request (https://github.com/nodejs/undici/issues/3897).
 */
function withoutReconnect(error: Error | null): Error {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  if (error !== null && code !== 'UND_ERR_SOCKET' && code !== 'UND_ERR_INFO') return error;
  return new Error('the connection was closed before it was open', { cause: error });
}

function authorizationOf({ authorization }: HttpProxy): string[] {
  return authorization === null ? [] : ['proxy-authorization', authorization.reveal()];
}
