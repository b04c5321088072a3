// The files of the page at `/ui`: built before, shipped with the program, read into memory by the first request, and served
// under a policy that allows nothing but themselves. A request names a file by its exact name or gets the page, so no path of a
// request ever reaches the file system.
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Fault } from '../../errors/fault.ts';
import { sendEmpty, sendResponse } from '../../pipeline/respond.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { etagOf } from '../tagged-json.ts';

/** Measured with every part of the page: nothing of it needs more. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const HEADERS: readonly string[] = [
  'content-security-policy',
  POLICY,
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
  'cross-origin-opener-policy',
  'same-origin',
  'cross-origin-resource-policy',
  'same-origin',
  'vary',
  'accept-encoding',
];

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};
/** As Vite names files after their content. */
const HASHED = /-[\w-]{8,}\.[a-z0-9]+$/;
const FOREVER = 'public, max-age=31536000, immutable';

/** The encodings that are kept beside a file, the smaller one first. */
const ENCODINGS = [
  { name: 'br', extension: '.br' },
  { name: 'gzip', extension: '.gz' },
] as const;

interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** By encoding. */
  readonly encoded: ReadonlyMap<string, Buffer>;
}

export class ConsoleFiles {
  readonly #folder: string;
  #reading: Promise<ReadonlyMap<string, PageFile>> | null = null;

  /** @param folder of the built page */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** `GET /ui`: to the page, relative so that it holds behind any prefix. */
  redirect(x: Exchange): void {
    sendResponse(x, 308, ['location', 'ui/', 'cache-control', 'no-cache'], Buffer.alloc(0));
  }

  /** `GET /ui/...`. @param name below `/ui/`, as sent. @throws Fault route_not_found, console_not_built */
  async serve(x: Exchange, name: string): Promise<void> {
    const files = await this.#files();
    const page = files.get('index.html');
    if (page === undefined)
      throw new Fault(
        'console_not_built',
        'The files of the console are not installed: build them with `npm run build` in console/, or use a release.',
      );
    const file = files.get(name);
    if (file !== undefined) send(x, file, HASHED.test(name) ? FOREVER : 'no-cache');
    // The page's own places are one level deep, so that its relative addresses hold.
    else if (name.includes('/')) throw new Fault('route_not_found', 'There is no such file of the console.');
    else send(x, page, 'no-cache');
  }

  #files(): Promise<ReadonlyMap<string, PageFile>> {
    if (this.#reading === null) {
      this.#reading = readFiles(this.#folder);
      // A page that is installed later is found by the next request.
      const forget = (): void => void (this.#reading = null);
      this.#reading.then((files) => (files.size === 0 ? forget() : undefined), forget);
    }
    return this.#reading;
  }
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const contents = new Map<string, Buffer>();
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    contents.set(path.slice(folder.length + 1).replaceAll('\\', '/'), await readFile(path));
  }
  const files = new Map<string, PageFile>();
  for (const [name, plain] of contents) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const encoded = ENCODINGS.flatMap(({ name: encoding, extension }) => {
      const bytes = contents.get(`${name}${extension}`);
      return bytes === undefined ? [] : [[encoding, bytes] as const];
    });
    const etag = etagOf(plain);
    files.set(name, { type, etag, plain, encoded: new Map(encoded) });
  }
  return files;
}

function send(x: Exchange, { type, etag, plain, encoded }: PageFile, cache: string): void {
  const { name: encoding = null } =
    ENCODINGS.find(({ name }) => encoded.has(name) && accepts(x.req.header('accept-encoding'), name)) ?? {};
  const headers = [...HEADERS, 'content-type', type, 'cache-control', cache, 'etag', etag];
  if (x.req.header('if-none-match') === etag) {
    sendEmpty(x, 304, headers);
    return;
  }
  const body = (encoding === null ? undefined : encoded.get(encoding)) ?? plain;
  sendResponse(x, 200, encoding === null ? headers : [...headers, 'content-encoding', encoding], body);
}

/** Whether a client takes an encoding (RFC 9110 section 12.5.3); nothing stated means no. */
function accepts(header: string | null, encoding: string): boolean {
  const stated = (header ?? '').toLowerCase().split(',');
  const weightOf = (wanted: string): number | null => {
    for (const one of stated) {
      const [name = '', ...parameters] = one.split(';');
      if (name.trim() !== wanted) continue;
      const q = parameters
        .map((part) => /^\s*q\s*=\s*([\d.]+)\s*$/.exec(part)?.[1])
        .find((value) => value !== undefined);
      return q === undefined ? 1 : Number(q);
    }
    return null;
  };
  return (weightOf(encoding) ?? weightOf('*') ?? 0) > 0;
}
