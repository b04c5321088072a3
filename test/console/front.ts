// What stands between browsers and a proxy: a reverse proxy that serves it below a path prefix, and can be pointed to
// another one while pages are open.
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Front {
  /** `http://127.0.0.1:1234/team/llm` */
  readonly url: string;
  /** Where requests go; null = the proxy is away, connections are cut. */
  target: string | null;
  close(): Promise<void>;
}

export async function startFront(target: string | null, prefix: string): Promise<Front> {
  const server = createServer((req, res) => pass(front, prefix, req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const front: Front = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    target,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return front;
}

function pass({ target }: Front, prefix: string, req: IncomingMessage, res: ServerResponse): void {
  const path = req.url ?? '/';
  if (target === null || !path.startsWith(prefix)) {
    req.destroy();
    return;
  }
  const { method, rawHeaders } = req;
  const upstream = request(`${target}${path.slice(prefix.length)}`, {
    method,
    headers: pairs(rawHeaders),
    agent: false,
  });
  upstream.on('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(res);
  });
  upstream.on('error', () => res.destroy());
  res.on('close', () => upstream.destroy());
  req.pipe(upstream);
}

function pairs(raw: readonly string[]): Record<string, string> {
  const named = raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1] ?? ''] as const] : []));
  return Object.fromEntries(named.filter(([name]) => name.toLowerCase() !== 'connection'));
}
