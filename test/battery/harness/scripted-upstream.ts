// An upstream of bare sockets that does whatever a script says with each call: bytes that no HTTP library would send,
// silence, resets. It reads requests by their length and answers nothing by itself.
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { MessageReader } from '../../../bench/harness/message-reader.ts';
import type { ScenarioRun } from './scenario-run.ts';

/** One request that is complete. */
export interface ScriptedCall {
  readonly socket: Socket;
  /** Start line and header lines. */
  readonly head: string;
  readonly body: string;
  /** Of the body. */
  readonly model: string;
  readonly stream: boolean;
}

export interface ScriptedUpstream {
  readonly url: string;
  /** Requests so far. */
  readonly count: () => number;
  /** Connections that are open now. */
  readonly open: () => number;
}

const LIST = '{"object":"list","data":[]}';
const MODELS = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${LIST.length}\r\n\r\n${LIST}`;

/** Starts one on a free port of loopback; it closes with the run. */
export async function startScriptedUpstream(
  run: ScenarioRun,
  script: (call: ScriptedCall) => void,
): Promise<ScriptedUpstream> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    let [head, body] = ['', ''];
    const reader = new MessageReader({
      onHead: (text) => ([head, body] = [text, '']),
      onBody: (bytes) => (body += bytes.toString('utf8')),
      onEnd: () => {
        count += 1;
        if (body === '') return void socket.write(MODELS); // a health check
        const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
        script({ socket, head, body, model, stream: stream === true });
      },
    });
    sockets.add(socket);
    socket.on('data', (bytes) => reader.push(bytes));
    socket.on('error', () => socket.destroy()); // the proxy may reset
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve);
  });
  run.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, count: () => count, open: () => sockets.size };
}
