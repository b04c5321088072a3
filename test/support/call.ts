// Calls that a test holds in its hands: what has arrived so far, reading that can stop, leaving in the middle. And an
// upstream that a test writes itself, for bytes that the demo gateway does not send.
import { EventEmitter, once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { KEY } from './rig.ts';
import { KEEPS_IDLE } from './keeps-idle.ts';

/** A call under way. */
export interface OpenCall {
  readonly req: ClientRequest;
  /** Settles with the head of the answer; its body flows only when `received` or the test reads it. */
  readonly head: Promise<IncomingMessage>;
  /** Reads until the text behind the last such part holds `part`; settles with all of it. */
  received(part: string): Promise<string>;
  /** Breaks the connection off. */
  leave(): void;
}

/** Opens a POST on a connection of its own. */
export function openCall(
  url: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): OpenCall {
  const payload = JSON.stringify(body);
  const all = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers };
  const req = httpRequest(`${url}${path}`, { method: 'POST', headers: all, agent: false });
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    req.on('response', resolve);
    req.on('error', reject);
  });
  head.catch(() => undefined); // a test that leaves does not wait for the head
  req.end(payload);
  let text = '';
  let searched = 0; // where the last part ended
  let broken: Error | null = null;
  let isRead = false;
  const arrivals = new EventEmitter();
  /** From the first call on; between calls nothing is read, and what came is kept when the connection breaks. */
  const read = (res: IncomingMessage): void => {
    if (isRead) return void res.resume();
    isRead = true;
    res.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      arrivals.emit('more');
    });
    res.on('error', (error) => (broken = error));
    res.on('close', () => {
      broken ??= new Error('the answer ended');
      arrivals.emit('more');
    });
  };
  return {
    req,
    head,
    received: async (part) => {
      const res = await head;
      read(res);
      for (;;) {
        const at = text.indexOf(part, searched);
        if (at >= 0) {
          searched = at + part.length;
          res.pause();
          return text;
        }
        if (broken !== null) throw new Error(`${broken.message} without ${part}: ${text.slice(-200)}`);
        await once(arrivals, 'more');
      }
    },
    leave: () => req.destroy(),
  };
}

/** A request that a written upstream got. */
export interface ReceivedCall {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly body: Buffer;
}

/** Starts an upstream that answers as `answer` does; closed with the test. */
export async function startUpstream(
  t: { teardown(act: () => unknown): unknown },
  answer: (got: ReceivedCall) => void,
): Promise<string> {
  const server = createServer(KEEPS_IDLE, (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => undefined);
    req.on('end', () => answer({ req, res, body: Buffer.concat(chunks) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
