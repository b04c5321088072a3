// A gateway that believes nothing: a bare TCP server that reads requests by the strictest grammar, writes down every
// byte and every deviation, and answers each whole request with one fixed completion. What it saw is what a careless
// parser behind the proxy would have had to interpret. Uses no HTTP library, so that no leniency can hide a fault.
import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';

/** A request that was read without a deviation. */
export interface StrictRequest {
  readonly method: string;
  readonly target: string;
  /** Lower-case name, value; in the order of the wire. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export interface StrictUpstream {
  /** `http://127.0.0.1:PORT`, the api_base of a proxy-type entry. */
  readonly url: string;
  readonly seen: readonly StrictRequest[];
  /** One sentence per deviation, with the bytes. Empty is what a test wants. */
  readonly deviations: readonly string[];
  /** Everything received since the start, of all connections. */
  log(): Buffer;
  close(): Promise<void>;
}

const COMPLETION = JSON.stringify({
  id: 'chatcmpl-strict',
  object: 'chat.completion',
  created: 1,
  model: 'strict',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${COMPLETION.length}\r\n\r\n${COMPLETION}`;
const REQUEST_LINE = /^(POST|GET|DELETE) (\/[!-~]*) HTTP\/1\.1$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~\w]+): ([\t\x20-\x7e\x80-\xff]*)$/;

/** Starts one on a free port of 127.0.0.1. */
export async function startStrictUpstream(): Promise<StrictUpstream> {
  const seen: StrictRequest[] = [];
  const deviations: string[] = [];
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    let pending = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      if (pending.length > 0) deviations.push(`the connection ended within a request: ${shown(pending)}`);
    });
    socket.on('error', () => undefined); // the proxy may reset; `close` tells
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      pending = Buffer.concat([pending, chunk]);
      for (;;) {
        const read = readOne(pending);
        if (read === null) return;
        if (typeof read === 'string') {
          deviations.push(`${read}: ${shown(pending)}`);
          pending = Buffer.alloc(0);
          socket.destroy();
          return;
        }
        pending = pending.subarray(read.bytes);
        seen.push(read.request);
        socket.write(ANSWER);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    deviations,
    log: () => Buffer.concat(chunks),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const shown = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1').slice(0, 300));

/** The first request of `bytes`; null while it is not whole, a sentence when it deviates. */
function readOne(bytes: Buffer): { request: StrictRequest; bytes: number } | string | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return bytes.length > 200_000 ? 'a head without an end' : null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const start = REQUEST_LINE.exec(first);
  if (start === null) return 'an odd request line';
  const headers: [string, string][] = [];
  for (const line of lines) {
    const match = HEADER_LINE.exec(line);
    if (match === null) return `an odd header line ${JSON.stringify(line)}`;
    headers.push([(match[1] as string).toLowerCase(), match[2] as string]);
  }
  const all = (name: string): string[] => headers.filter(([one]) => one === name).map(([, value]) => value);
  if (all('host').length !== 1) return 'not exactly one host';
  if (all('transfer-encoding').length > 0) return 'a transfer-encoding';
  const lengths = all('content-length');
  if (lengths.length > 1 || (lengths.length === 0 && start[1] === 'POST'))
    return 'not exactly one content-length';
  if (!/^\d*$/.test(lengths[0] ?? '')) return 'an odd content-length';
  const bodyStart = headEnd + 4;
  const bodyEnd = bodyStart + Number(lengths[0] ?? 0);
  if (bytes.length < bodyEnd) return null;
  const body = Buffer.from(bytes.subarray(bodyStart, bodyEnd));
  const request = { method: start[1] as string, target: start[2] as string, headers, body };
  return { request, bytes: bodyEnd };
}
