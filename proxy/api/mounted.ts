// The mounted extension (the platform): which paths are its own, and how a request is passed to it and its response sent.
// Knows nothing of what it does.
import { sendResponse } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { readBody } from '../pipeline/read-body.ts';
import type { Mount } from '../base/mount.ts';
import { Fault } from '../errors/fault.ts';
import type { FoundRoute, Routes } from './route.ts';

/** Sends the response of the mounted extension. */
async function handleByMount(x: Exchange, mount: Mount): Promise<void> {
  const { status, headers, body } = await mount.handle({
    method: x.req.method,
    path: x.path,
    query: x.query,
    headers: x.headers.raw,
    readBody: () => readBody(x).then(({ bytes }) => bytes),
  });
  sendResponse(x, status, headers, body);
}

/** The paths of a mounted extension, and nothing else. */
export class MountRoutes implements Routes {
  readonly isAdminPort = false;
  readonly #paths: readonly string[];
  readonly #found: FoundRoute;

  constructor(mount: Mount) {
    this.#paths = mount.paths;
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
    return this.#paths.some((own) => (own.endsWith('/') ? path.startsWith(own) : path === own));
  }
}
