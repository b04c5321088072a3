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
  readonly timeoutMs: number;
}

export interface RuntimeResponse {
  readonly status: number;
  readonly text: string;
}

const MAX_BYTES = 4 * 1024 * 1024;

/** @throws Error when there is no complete response in time */
export function sendRequest({
  to,
  method,
  path,
  body,
  headers,
  timeoutMs,
}: RuntimeRequest): Promise<RuntimeResponse> {
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
      const chunks: Buffer[] = [];
      let bytes = 0;
      res.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) res.destroy(new Error(`the response is larger than ${MAX_BYTES} bytes`));
        else chunks.push(chunk);
      });
      res.on('end', () =>
        resolve({ status: res.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
      res.on('error', reject);
    });
    req.on('error', reject);
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

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
