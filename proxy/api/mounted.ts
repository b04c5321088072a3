// The mounted extension (the platform): which paths are its own, and how a request is passed to it and its response sent.
// Knows nothing of what it does.
import { sendResponse } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { readBody } from '../pipeline/read-body.ts';
import type { Mount, MountResponse } from '../base/mount.ts';
import { Fault } from '../errors/fault.ts';
import type { FoundRoute, Routes } from './route.ts';

/** What the mounted extension answers to a request at this path and with these headers. */
export const askMount = (
  x: Exchange,
  mount: Mount,
  path: string,
  headers: readonly string[],
): Promise<MountResponse> =>
  mount.handle({
    method: x.req.method,
    path,
    query: x.query,
    headers,
    readBody: () => readBody(x).then(({ bytes }) => bytes),
  });

export const holdsPath = ({ paths }: Pick<Mount, 'paths'>, path: string): boolean =>
  paths.some((own) => (own.endsWith('/') ? path.startsWith(own) : path === own));

async function handleByMount(x: Exchange, mount: Mount): Promise<void> {
  const { status, headers, body } = await askMount(x, mount, x.path, x.headers.raw);
  sendResponse(x, status, headers, body);
}

/** The paths of a mounted extension, and nothing else. */
export class MountRoutes implements Routes {
  readonly isAdminPort = false;
  readonly #mount: Mount;
  readonly #found: FoundRoute;

  constructor(mount: Mount) {
    this.#mount = mount;
    this.#found = {
      route: { handle: (x) => handleByMount(x, mount), access: 'mount', port: 'main' },
      param: '',
    };
  }

  find(_method: string, path: string): FoundRoute {
    if (this.holds(path)) return this.#found;
    throw new Fault('route_not_found', `There is no route ${path.slice(0, 200)} on this port.`);
  }

  upgrades(): boolean {
    return false;
  }

  holds(path: string): boolean {
    return holdsPath(this.#mount, path);
  }
}
