// One small HTTP request to a runtime or to the Docker Engine: bounded in time and bytes, no pool, no redirects.
import { request, type RequestOptions } from 'node:http';

interface RuntimeRequest {
  /** `http://host:port`, or the path of a socket. */
  readonly to: string;
  readonly method: string;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole of it, the last byte of the response included. */
  readonly timeoutMs: number;
  /** A larger response is not read to its end. */
  readonly maxBytes?: number;
}

export interface RuntimeResponse {
  readonly status: number;
  readonly text: string;
}

/** A response as it came, for what is no text. */
export interface RuntimeBytes {
  readonly status: number;
  /** '' = it states none. */
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The runtime has more to say than the caller takes. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

const MAX_BYTES = 4 * 1024 * 1024;

/** @throws Error when there is no complete response in time */
export async function sendRequest(options: RuntimeRequest): Promise<RuntimeResponse> {
  const { status, bytes } = await requestBytes(options);
  return { status, text: bytes.toString('utf8') };
}

/** @throws ResponseTooLarge, Error when there is no complete response in time */
export function requestBytes({
  to,
  method,
  path,
  body,
  headers,
  timeoutMs,
  maxBytes = MAX_BYTES,
}: RuntimeRequest): Promise<RuntimeBytes> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const all = {
      ...(payload === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(payload.length) }),
      ...headers,
    };
    const target: RequestOptions = to.startsWith('/')
      ? { socketPath: to, path, headers: { host: 'localhost', ...all } }
      : { ...partsOf(to), path, headers: all };
    const options = { ...target, method, agent: false, signal: AbortSignal.timeout(timeoutMs) };
    const req = request(options, (res) => {
      const { statusCode: status = 0 } = res;
      // RFC 9110, section 15: nothing else is a final response, and nothing else can be passed on.
      if (status < 200 || status > 599) {
        res.destroy();
        reject(new Error(`it answered with the status ${status}`));
        return;
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      res.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes)
          res.destroy(new ResponseTooLarge(`the response is larger than ${maxBytes} bytes`));
        else chunks.push(chunk);
      });
      res.on('end', () =>
        resolve({
          status,
          contentType: res.headers['content-type'] ?? '',
          bytes: Buffer.concat(chunks),
        }),
      );
      res.on('error', reject);
    });
    req.on('error', reject);
    // Node closes the connection of a 101 that nobody asked for, and emits neither a response nor an error.
    req.on('upgrade', (_res, socket) => {
      socket.destroy();
      reject(new Error('it switched protocols, which nobody asked for'));
    });
    req.end(payload ?? undefined);
  });
}

function partsOf(base: string): { hostname: string; port: string } {
  const { hostname, port } = new URL(base);
  return { hostname, port };
}

/** `silent`: it took the time given and said nothing, as on a busy machine; `failing`: it said something else than 2xx, or hung up. */
export type Health = 'healthy' | 'failing' | 'silent';

/** What a runtime's health check says. Never rejects. */
export async function healthOf(base: string, path: string, timeoutMs: number): Promise<Health> {
  try {
    const { status } = await sendRequest({ to: base, method: 'GET', path, timeoutMs });
    return status >= 200 && status < 300 ? 'healthy' : 'failing';
  } catch (error) {
    return isTimeout(error) ? 'silent' : 'failing';
  }
}

/** There was no complete response in time. */
export const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
