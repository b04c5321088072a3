// A realtime server that a test scripts, and a client that notes what it gets: both by the package `ws`, which is not ours.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { Teardown } from './process-cleanup.ts';

/** A session as the upstream sees it. */
export interface UpstreamSession {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly peer: Peer;
  readonly socket: Socket;
}

export interface RealtimeUpstream {
  /** Its api_base. */
  readonly url: string;
  /** Handshakes so far. */
  readonly asked: readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  /** The next session that no test has taken yet. */
  next(): Promise<UpstreamSession>;
  /** Refuses handshakes with this status; null = opens them. */
  refuse: { readonly status: number; readonly body: string } | null;
  /** Called when a handshake has come, before it is answered. */
  onHandshake: () => void;
}

/** One side of a WebSocket: what it has got, in order. */
export class Peer {
  readonly socket: WebSocket;
  readonly #messages: string[] = [];
  readonly #news = new EventEmitter();
  closed: { readonly code: number; readonly reason: string } | null = null;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      this.#messages.push(data.toString());
      this.#news.emit('news');
    });
    socket.on('error', () => undefined);
    socket.on('close', (code: number, reason: Buffer) => {
      this.closed = { code, reason: reason.toString() };
      this.#news.emit('news');
    });
  }

  /** The next message; '' when the session is closed. */
  async message(): Promise<string> {
    while (this.#messages.length === 0 && this.closed === null) await once(this.#news, 'news');
    return this.#messages.shift() ?? '';
  }

  async event(): Promise<Record<string, unknown>> {
    const text = await this.message();
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  /** How the session was closed for this side. */
  async end(): Promise<{ readonly code: number; readonly reason: string }> {
    while (this.closed === null) await once(this.#news, 'news');
    return this.closed;
  }

  say(event: object): void {
    this.socket.send(JSON.stringify(event));
  }
}

export async function startRealtimeUpstream(t: Teardown): Promise<RealtimeUpstream> {
  const waiting: UpstreamSession[] = [];
  const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
  const arrivals = new EventEmitter();
  const server = createServer((_, res) => void res.end('{"object":"list","data":[]}'));
  const wss = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered][0] ?? false,
    maxPayload: 64 * 1024 * 1024,
  });
  const upstream: Pick<RealtimeUpstream, 'refuse' | 'onHandshake'> = {
    refuse: null,
    onHandshake: () => undefined,
  };
  server.on('upgrade', (req, socket, head) => {
    asked.push({ url: req.url ?? '', headers: req.headers });
    upstream.onHandshake();
    if (upstream.refuse !== null) {
      const { status, body } = upstream.refuse;
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      );
      return;
    }
    wss.handleUpgrade(req, socket, head, (ws) => {
      waiting.push({
        url: req.url ?? '',
        headers: req.headers,
        peer: new Peer(ws),
        socket: socket as Socket,
      });
      arrivals.emit('arrival');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const one of wss.clients) one.terminate();
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(upstream, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    next: async () => {
      while (waiting.length === 0) await once(arrivals, 'arrival');
      const [first] = waiting.splice(0, 1);
      if (first === undefined) throw new Error('no session');
      return first;
    },
  });
}

/** Opens a session. @returns the peer, or the refusal of the handshake */
export async function openSession(
  url: string,
  options: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<{ peer: Peer; protocol: string; headers: IncomingHttpHeaders }> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), options.protocols ?? [], {
    headers: options.headers ?? {},
    maxPayload: 64 * 1024 * 1024,
  });
  const peer = new Peer(socket);
  let headers: IncomingHttpHeaders = {};
  socket.on('upgrade', (res) => (headers = res.headers));
  await new Promise<void>((resolve, reject) => {
    socket.on('open', () => resolve());
    socket.on('unexpected-response', (_, res) => {
      const pieces: Buffer[] = [];
      res.on('data', (piece: Buffer) => pieces.push(piece));
      res.on('end', () =>
        reject(new Refused(res.statusCode ?? 0, Buffer.concat(pieces).toString(), res.headers)),
      );
    });
    socket.on('error', (error) => reject(error));
  });
  return { peer, protocol: socket.protocol, headers };
}

/** The handshake was refused. */
export class Refused extends Error {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;

  constructor(status: number, body: string, headers: IncomingHttpHeaders) {
    super(`${status} ${body}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}
