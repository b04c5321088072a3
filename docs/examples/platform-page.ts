// Serves the built web page of the platform (@openhands/agent-canvas) and passes /api on to Throughline, so that both have
// one origin. In the page: add a cloud backend with this address and the session key. See docs/platform-page.md.
//   npm pack @openhands/agent-canvas@1.20.0 && tar xf openhands-agent-canvas-1.20.0.tgz
//   node docs/examples/platform-page.ts --build package/build --api http://127.0.0.1:4000 --port 3000
import { readFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

interface PageOptions {
  /** The folder with index.html. */
  readonly build: string;
  /** Base URL of Throughline. */
  readonly api: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** Resolves when it listens on 127.0.0.1. */
export async function servePage({ build, api, port }: PageOptions): Promise<Server> {
  const root = resolve(build);
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/api/') === true) passOn(api, req, res);
    else void serveFile(root, req, res);
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return server;
}

function passOn(api: string, req: IncomingMessage, res: ServerResponse): void {
  const { host, hostname, port } = new URL(api);
  const { method, url, headers } = req;
  const upstream = request(
    { hostname, port, method, path: url, headers: { ...headers, host } },
    (response) => {
      res.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(res);
    },
  );
  upstream.on('error', () => {
    if (!res.headersSent) res.writeHead(502);
    res.end();
  });
  res.on('close', () => upstream.destroy());
  req.pipe(upstream);
}

/** A path without a file is one of the page's own: it gets index.html. */
async function serveFile(root: string, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { pathname } = new URL(req.url ?? '/', 'http://page');
  const wanted = join(root, decodeURIComponent(pathname));
  const isInside = wanted.startsWith(root + sep);
  const isFile = isInside && extname(wanted) !== '';
  const file = isFile ? wanted : join(root, 'index.html');
  try {
    const bytes = await readFile(file);
    res.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    res.end(bytes);
  } catch {
    res.writeHead(404);
    res.end();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      build: { type: 'string', default: 'package/build' },
      api: { type: 'string', default: 'http://127.0.0.1:4000' },
      port: { type: 'string', default: '3000' },
    },
  });
  await servePage({ build: values.build, api: values.api, port: Number(values.port) });
  process.stdout.write(`the page is at http://127.0.0.1:${values.port}\n`);
}
