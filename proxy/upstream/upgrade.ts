// The opening handshake of a WebSocket with an upstream (RFC 6455 section 4.1): over the same route, TLS and forward proxy as every
// other request. Ends with a socket that speaks frames, or with the response that refuses it.
import { Buffer } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { asError } from '../base/as-error.ts';
import { BadResponse } from './bad-response.ts';
import type { Connector } from './connector.ts';

// An `import` of its values makes Node load its own copy of undici: see server/http-server.ts.
const { request: httpRequest } = process.getBuiltinModule('node:http');

/** RFC 6455 section 1.3. */
const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const HEAD_BYTES = 65_536;
const MOST_REFUSAL_BYTES = 65_536;

/** What opens a WebSocket. */
export interface UpgradeRequest {
  /** `https://host:port`. */
  readonly origin: string;
  readonly path: string;
  /** Flat; without host and what belongs to the handshake. */
  readonly headers: readonly string[];
  readonly subprotocols: readonly string[];
}

/** What the upstream said. */
export type UpgradeResponse =
  | {
      readonly is: 'open';
      readonly socket: Socket;
      /** What followed the handshake at once. */
      readonly early: Buffer;
      readonly subprotocol: string | null;
      /** Flat, lower-case names. */
      readonly headers: readonly string[];
    }
  | {
      readonly is: 'refused';
      readonly status: number;
      readonly headers: readonly string[];
      readonly body: Buffer;
    };

/** The value of `Sec-WebSocket-Accept` for a key. */
export const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}${ACCEPT_GUID}`).digest('base64');

/**
 * Opens a WebSocket. Sets no timeout: whoever waits aborts.
 * @param onConnected the connection is open and the handshake is being sent
 * @throws errors of sockets, BadResponse, or the reason of `signal`
 */
export async function openUpgrade(
  connector: Connector,
  request: UpgradeRequest,
  signal: AbortSignal,
  onConnected: () => void,
): Promise<UpgradeResponse> {
  const socket = await connected(connector, signal);
  try {
    onConnected();
    return await handshake(connector, socket, request, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function connected(connector: Connector, signal: AbortSignal): Promise<Socket> {
  const { hostname, host, protocol, port } = new URL(connector.peer);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const stop = connector.open({ hostname, host, protocol, port }, (error, socket) => {
    if (socket instanceof Socket && !signal.aborted) resolve(socket);
    else {
      socket?.destroy();
      reject(connector.explained(error ?? new Error('the connection was not opened'), false));
    }
  });
  const abort = (): void => {
    stop();
    reject(asError(signal.reason));
  };
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

function handshake(
  connector: Connector,
  socket: Socket,
  request: UpgradeRequest,
  signal: AbortSignal,
): Promise<UpgradeResponse> {
  const key = randomBytes(16).toString('base64');
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeResponse>();
  const sent = httpRequest({
    method: 'GET',
    path: `${connector.pathPrefix}${request.path}`,
    headers: headersOf(connector, request, key),
    createConnection: () => socket,
    maxHeaderSize: HEAD_BYTES,
    insecureHTTPParser: false,
  });
  const abort = (): void => void sent.destroy(asError(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  sent.on('error', (error) => reject(connector.explained(error, socket.bytesRead === 0)));
  sent.on('close', () =>
    reject(new BadResponse('the connection was closed before the handshake was answered')),
  );
  sent.on('upgrade', (response, _, early: Buffer) => {
    const wrong = wrongIn(response, key, request.subprotocols);
    if (wrong !== null) return reject(new BadResponse(wrong));
    const subprotocol = response.headers['sec-websocket-protocol'] ?? null;
    resolve({ is: 'open', socket, early, subprotocol, headers: namesLowered(response.rawHeaders) });
  });
  sent.on('response', (response) => void refusalOf(response).then(resolve, reject));
  sent.end();
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** @param key of this handshake, in base64 */
function headersOf(
  { headers: ofTheWay }: Connector,
  { origin, subprotocols, headers }: UpgradeRequest,
  key: string,
): string[] {
  const host = ofTheWay.length === 0 ? ['host', new URL(origin).host] : ofTheWay;
  const offered = subprotocols.length === 0 ? [] : ['sec-websocket-protocol', subprotocols.join(', ')];
  return [...host, ...OPENING, 'sec-websocket-key', key, ...offered, ...headers];
}

const OPENING = ['connection', 'Upgrade', 'upgrade', 'websocket', 'sec-websocket-version', '13'] as const;

async function refusalOf(response: IncomingMessage): Promise<UpgradeResponse> {
  const body = await beginningOf(response);
  const { statusCode: status = 502, rawHeaders } = response;
  return { is: 'refused', status, headers: namesLowered(rawHeaders), body };
}

/** Why an answer with status 101 opens no WebSocket (RFC 6455 section 4.1); null = it does. */
function wrongIn({ headers }: IncomingMessage, key: string, offered: readonly string[]): string | null {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'its 101 is for another protocol';
  if (headers['sec-websocket-accept'] !== acceptOf(key)) return 'its Sec-WebSocket-Accept is wrong';
  if (headers['sec-websocket-extensions'] !== undefined) return 'it uses an extension that was not offered';
  const chosen = headers['sec-websocket-protocol'];
  return chosen === undefined || offered.includes(chosen)
    ? null
    : 'it chose a subprotocol that was not offered';
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MOST_REFUSAL_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, MOST_REFUSAL_BYTES);
}

const namesLowered = (raw: readonly string[]): readonly string[] =>
  raw.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
