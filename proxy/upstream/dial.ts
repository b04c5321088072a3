// Opens sockets to upstreams: plain or TLS, straight or through the proxy that the environment names. No deadline here:
// the clocks of the exchange that waits for the socket bound it.
import type { Buffer } from 'node:buffer';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { ReadMemory } from '../http/reading.ts';
import { BadMessage, HeadCutter, readAnswerHead } from '../wire/head.ts';
import type { HttpProxy } from './http-proxies.ts';

/** Where to. */
export interface Address {
  readonly secure: boolean;
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** null = straight. */
  readonly proxy: HttpProxy | null;
}

/** Told once: either that the socket is open, or that there will be none. */
export interface Dialed {
  ready(socket: Socket): void;
  failed(error: Error): void;
}

/** TLS sessions by which a new connection to the same upstream saves a round trip; one per pool. */
export interface SessionCache {
  session: Buffer | null;
}

const TUNNEL_HEAD_BYTES = 16_384;

/** @param take gets the bytes of each read, valid during the call only. @returns breaks off what is being opened. */
export function dial(
  to: Address,
  memory: ReadMemory,
  sessions: SessionCache,
  take: (bytes: Buffer) => void,
  dialed: Dialed,
): () => void {
  const { secure, host, port, proxy } = to;
  if (secure && proxy !== null) return dialTunnel(to, proxy, sessions, take, dialed);
  if (secure) {
    const socket = secured({ host, port, noDelay: true }, host, sessions, take);
    return settle(socket, 'secureConnect', dialed);
  }
  const next = proxy ?? to;
  const socket = connect({ host: next.host, port: next.port, noDelay: true, onread: memory.option(take) });
  return settle(socket, 'connect', dialed);
}

function secured(
  where: { host: string; port: number; noDelay: boolean } | { socket: Socket },
  host: string,
  sessions: SessionCache,
  take: (bytes: Buffer) => void,
): TLSSocket {
  const socket = connectTls({
    ...where,
    ...(isIP(host) === 0 ? { servername: host } : {}), // RFC 6066 section 3: no literal addresses
    ...(sessions.session === null ? {} : { session: sessions.session }),
    ALPNProtocols: ['http/1.1'],
  });
  socket.on('session', (session) => (sessions.session = session));
  socket.once('error', () => (sessions.session = null)); // it may be the session that the upstream did not like
  return socket.on('data', take);
}

function settle(socket: Socket, event: 'connect' | 'secureConnect', dialed: Dialed): () => void {
  const fail = (error: Error): void => dialed.failed(error);
  const close = (): void => dialed.failed(new Error('the connection was closed before it was open'));
  socket.once('error', fail);
  socket.once('close', close);
  socket.once(event, () => {
    socket.off('error', fail);
    socket.off('close', close);
    dialed.ready(socket);
  });
  return () => {
    socket.off('error', fail).on('error', () => undefined);
    socket.off('close', close);
    socket.destroy();
  };
}

/** CONNECT (RFC 9110 section 9.3.6), then TLS inside. */
function dialTunnel(
  { host, port }: Address,
  proxy: HttpProxy,
  sessions: SessionCache,
  take: (bytes: Buffer) => void,
  dialed: Dialed,
): () => void {
  const cutter = new HeadCutter(TUNNEL_HEAD_BYTES);
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const plain = connect({ host: proxy.host, port: proxy.port, noDelay: true });
  let stop = settle(plain, 'connect', {
    failed: (error) => dialed.failed(error),
    ready: () =>
      plain.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${proxy.authorization}\r\n`),
  });
  const fail = (error: Error): void => {
    plain.destroy();
    dialed.failed(error);
  };
  const onClose = (): void => fail(new Error('the HTTP proxy closed the connection'));
  const onData = (bytes: Buffer): void => {
    try {
      const end = cutter.push(bytes, 0);
      if (end < 0) return;
      const { status } = readAnswerHead(cutter.text);
      if (status !== 200 || end < bytes.length)
        throw new BadMessage(`the HTTP proxy answered ${status} to CONNECT`);
    } catch (error) {
      plain.off('close', onClose);
      fail(error as Error);
      return;
    }
    plain
      .off('data', onData)
      .off('close', onClose)
      .off('error', onClose)
      .on('error', () => undefined);
    stop = settle(secured({ socket: plain }, host, sessions, take), 'secureConnect', dialed);
  };
  plain.once('connect', () => plain.on('close', onClose).on('error', onClose));
  plain.on('data', onData);
  return () => {
    plain
      .off('close', onClose)
      .off('error', onClose)
      .on('error', () => undefined);
    stop();
    plain.destroy();
  };
}
