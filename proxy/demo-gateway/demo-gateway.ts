// The demo gateway: a scriptable stand-in for the gateway behind a proxy, used by the tests, the quickstart and
// operators who want to see a failure before it happens. It imports nothing of the proxy and nothing of third parties,
// keeps its newest requests for inspection, and must never be mistaken for a gateway with models behind it.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AddressInfo } from 'node:net';
import type { Endpoint, Face } from './model-request.ts';
import { faceOf } from './model-request.ts';
import type { Script } from './compose.ts';
import type { DemoClocks } from './deliver.ts';
import { isRealtime, serveRealtime } from './realtime.ts';
import { Recent } from './recent.ts';
import { createResponder } from './respond.ts';

/** How to start a demo gateway; everything has a default. Clocks: slowMs 2,000, eventIntervalMs 50, stallMs 600,000. */
export interface DemoOptions extends Partial<DemoClocks> {
  /** Default 127.0.0.1. */
  /** How many requests `seen` keeps, at most 10,000 (default); a gateway whose list is never read needs none. */
  readonly keepSeen?: number;
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** When given, a bearer key that is not listed, or none, gets 401. */
  readonly acceptKeys?: readonly string[];
  /** Answers model calls in place of the behaviours, where it does not return null. */
  readonly script?: Script;
  /** When given, every other endpoint that calls a model is answered with 404. */
  readonly serves?: readonly Endpoint[];
  /** Called once per request, as soon as it is recorded and before it is answered. */
  readonly onRequest?: (seen: SeenRequest) => void;
}

/** A request as it came over the wire. Recorded when its body is complete, or when the peer left before. */
export interface SeenRequest {
  /** Counts from 1. */
  readonly id: number;
  readonly method: string;
  /** The raw request target, query included. */
  readonly path: string;
  readonly httpVersion: string;
  /** Name, value, name, value, as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly face: Face;
  /** The peer left before the answer ended. A connection that the gateway itself cut does not count. */
  readonly aborted: boolean;
  readonly finished: Promise<'complete' | 'aborted'>;
}

/** A running demo gateway. */
export interface DemoGateway {
  /** e.g. `http://127.0.0.1:4001`, no slash at the end. */
  readonly url: string;
  readonly port: number;
  /** The last 10,000 requests (fewer when their bodies exceed 256 MiB), oldest first; a live view. */
  readonly seen: readonly SeenRequest[];
  /** Lets go of every request that `hold` holds now; later ones are held again. */
  release(): void;
  /** Settles when that many requests have been seen since the start. */
  waitFor(count: number): Promise<void>;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

const SEEN_COUNT = 10_000;
const SEEN_BYTES = 256 * 1024 * 1024;
/** Node's 5 s would race with a pool's next request. */
const KEEP_ALIVE_MS = 60_000;
/** A stand-in must not be the part of a chain that refuses large headers: Node's default is 16 KiB. */
const HEADER_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

type MutableRequest = { -readonly [Key in keyof SeenRequest]: SeenRequest[Key] };

/**
 * Starts a demo gateway and settles when it listens.
 * @throws Error that names the address when it cannot be listened on.
 */
export async function startDemoGateway(options: DemoOptions = {}): Promise<DemoGateway> {
  const { host = '127.0.0.1', acceptKeys = null } = options;
  const { slowMs = 2_000, eventIntervalMs = 50, stallMs = 600_000 } = options;
  const clocks: DemoClocks = { slowMs, eventIntervalMs, stallMs };
  const respond = createResponder(
    randomBytes(4).toString('hex'),
    acceptKeys,
    options.script ?? null,
    options.serves ?? null,
  );
  const seen = new Recent<SeenRequest>(Math.min(options.keepSeen ?? SEEN_COUNT, SEEN_COUNT), SEEN_BYTES);
  let serial = 0;
  let gate = Promise.withResolvers<void>();
  const released = (): Promise<void> => gate.promise;

  const accept = (req: IncomingMessage, res: ServerResponse): void => {
    const chunks: Buffer[] = [];
    let isCut = false;
    const onCut = (): void => {
      isCut = true;
    };
    const { promise: finished, resolve: finish } = Promise.withResolvers<'complete' | 'aborted'>();
    const request = requestOf(req, finished);
    const record = (): void => {
      request.id = ++serial;
      request.body = chunks.length === 1 ? (chunks[0] ?? NOTHING) : Buffer.concat(chunks);
      seen.add(request, request.body.length);
      options.onRequest?.(request);
    };
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A peer that leaves while it sends is an error here; `close` below tells of it.
    req.on('error', () => undefined);
    req.on('end', () => {
      record();
      respond(request, { res, behaviours: new Set(), clocks, released, onCut }).catch((error: unknown) => {
        fail(res, error);
      });
    });
    res.on('close', () => {
      request.aborted = !res.writableFinished && !isCut;
      if (request.id === 0) record();
      finish(request.aborted ? 'aborted' : 'complete');
    });
  };

  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: HEADER_BYTES, shouldUpgradeCallback: isRealtime },
    accept,
  );
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    serveRealtime(req, socket);
  });
  // 0 = all: by default Node passes on the first 1,000 or so and silently drops the others.
  server.maxHeadersCount = 0;
  await listen(server, host, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | null = null;
  return {
    url: `http://${reachable(host)}:${port}`,
    port,
    seen: seen.items,
    release: () => {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    waitFor: (count) => seen.waitFor(count),
    close: () => {
      closing ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
      });
      return closing;
    },
  };
}

function requestOf(req: IncomingMessage, finished: SeenRequest['finished']): MutableRequest {
  const path = req.url ?? '';
  return {
    id: 0,
    method: req.method ?? '',
    path,
    httpVersion: req.httpVersion,
    rawHeaders: req.rawHeaders,
    body: NOTHING,
    face: faceOf(path),
    aborted: false,
    finished,
  };
}

/** A bug of the demo gateway itself must not look like a behaviour, nor end the process. */
function fail(res: ServerResponse, error: unknown): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const message = `The demo gateway itself failed: ${error instanceof Error ? error.message : String(error)}`;
  const body = JSON.stringify({ error: { message, type: 'demo_gateway_error', param: null, code: '500' } });
  res.writeHead(500, { 'content-type': 'application/json' }).end(body);
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const fix = 'choose a free port (0 picks one) and an address of this machine';
    throw new Error(`the demo gateway cannot listen on ${host}:${port}: ${reason} - ${fix}`, { cause });
  }
}

/** A wildcard address is listened on but not connected to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
