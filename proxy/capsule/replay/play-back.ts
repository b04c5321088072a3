// A gateway that answers every call with one recorded response: the same status, headers and bytes, in the same pieces at the same
// times, and the same end. So a client's fault can be shown again, on any machine.
import { createServer, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ComparedResponse } from './compare.ts';

/** Set by the connection, or made anew. */
const NOT_SENT: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection', 'date']);
const LOOPBACK = '127.0.0.1';

interface PlayedResponse extends ComparedResponse {
  /** What came last: its end, a broken connection, or nothing, until the proxy gave up. */
  readonly last: 'whole' | 'broken' | 'open';
}

interface PlayOptions {
  readonly port: number;
  /** What `GET /v1/models` lists. */
  readonly model: string;
  /** Of the recorded call; calls with another one are not answered with it. */
  readonly method: string;
  readonly isTimed: boolean;
}

export interface Playback {
  readonly url: string;
  close(): Promise<void>;
}

/** @param isTimed false: everything at once. @param told of each call. @throws the system's error for a port that is taken */
export async function playBack(
  response: PlayedResponse,
  { port, model, method, isTimed }: PlayOptions,
  told: (line: string) => void,
): Promise<Playback> {
  const server: Server = createServer((request, answer) => {
    request.resume();
    request.on('end', () => {
      told(`${request.method ?? ''} ${(request.url ?? '').split('?', 1)[0] ?? ''}`);
      const isList = request.method === 'GET' && /\/models\/?(?:\?|$)/.test(request.url ?? '');
      if (isList || request.method !== method) answerBeside(answer, isList ? model : null, method);
      else void play(response, answer, isTimed).then(() => told('  played'));
    });
  });
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${LOOPBACK}:${bound}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The list of models, or, for a call that is not the recorded one, 404. */
function answerBeside(answer: ServerResponse, model: string | null, method: string): void {
  answer.writeHead(model === null ? 404 : 200, { 'content-type': 'application/json' });
  const list = { object: 'list', data: [{ id: model, object: 'model', created: 0, owned_by: 'capsule' }] };
  const refusal = { error: { message: `This capsule answers ${method} calls.` } };
  answer.end(JSON.stringify(model === null ? refusal : list));
}

async function play(response: PlayedResponse, answer: ServerResponse, isTimed: boolean): Promise<void> {
  const { status, headers, headMs, body, pieces, last } = response;
  const closed = new AbortController();
  answer.on('close', () => closed.abort());
  let atMs = 0;
  const until = async (ms: number): Promise<void> => {
    if (isTimed && ms > atMs) await pause(ms - atMs, closed.signal);
    atMs = Math.max(atMs, ms);
  };
  if (status === null || headMs === null) {
    if (last === 'broken') answer.destroy();
    return; // `open`: the client waits as the proxy did
  }
  await until(headMs);
  if (closed.signal.aborted) return;
  const list = headers.flatMap(([name, value]) =>
    value === null || NOT_SENT.has(name) ? [] : [name, value],
  );
  answer.writeHead(status, list);
  answer.flushHeaders();
  let from = 0;
  for (const [at, bytes] of pieces) {
    const piece = body.subarray(from, from + bytes);
    from += bytes;
    if (piece.length === 0) break; // not kept
    await until(at);
    if (closed.signal.aborted) return;
    answer.write(piece);
  }
  if (from < body.length) answer.write(body.subarray(from));
  if (last === 'whole') answer.end();
  else if (last === 'broken') setImmediate(() => answer.destroy());
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
