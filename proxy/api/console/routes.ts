// The routes of the console: the page and its files, its session, and the LLM calls that it makes itself.
import { join } from 'node:path';
import { SignInThrottle } from '../../access/console/sign-in-throttle.ts';
import type { Access } from '../../access/permissions.ts';
import type { AuthenticatedCaller } from '../../access/caller.ts';
import type { ConfigReloader } from '../../active-config/config-reloader.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { CONSOLE_PATH } from '../../pipeline/console-session.ts';
import { forward } from '../../pipeline/forward.ts';
import { Fault } from '../../errors/fault.ts';
import { ENDPOINTS } from '../../protocols/table.ts';
import { ChainRoute } from './chain.ts';
import { showConfig } from './config.ts';
import { ConsoleFiles } from './files.ts';
import { explain } from '../explain.ts';
import type { ServerState } from '../health.ts';
import { OidcRoutes } from './oidc.ts';
import { callPlatform } from './platform.ts';
import { settingsOf, showSession, signIn, signOut } from './session.ts';

/** What the page tries models with. */
const TRIED: ReadonlySet<string> = new Set([
  'chat/completions',
  'completions',
  'embeddings',
  'responses',
  'messages',
]);

/** Below the root of the repository or of the package. */
const BUILT = join(
  import.meta.dirname,
  ...Array.from({ length: import.meta.filename.endsWith('.ts') ? 3 : 4 }, () => '..'),
  'console',
  'dist',
);

interface ConsoleOwner {
  readonly reloader: ConfigReloader;
  readonly state: ServerState;
  /** Of the built page; null = the one that is shipped. */
  readonly consoleFolder: string | null;
}

/** A route at one path, or of all paths that begin with one and end in a slash. */
export interface ConsoleRow {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly access: Access;
  readonly handle: (x: Exchange, caller: AuthenticatedCaller) => void | Promise<void>;
}

/** @param owner asked for when a request comes */
export function consoleRows(owner: ConsoleOwner): readonly ConsoleRow[] {
  let files: ConsoleFiles | null = null;
  const page = (): ConsoleFiles => (files ??= new ConsoleFiles(owner.consoleFolder ?? BUILT));
  let throttle: SignInThrottle | null = null;
  const tries = (): SignInThrottle =>
    (throttle ??= new SignInThrottle(owner.reloader.active.services.clock.mono));
  const open = (
    method: ConsoleRow['method'],
    path: string,
    handle: (x: Exchange) => void | Promise<void>,
  ): ConsoleRow => ({
    method,
    path: `${CONSOLE_PATH}${path}`,
    access: 'public',
    handle: (x) => {
      settingsOf(x); // 404 where the console is off
      return handle(x);
    },
  });
  const chain = new ChainRoute(owner);
  const oidc = new OidcRoutes();
  return [
    { method: 'GET', path: '/chain', access: 'admin', handle: (x) => chain.show(x) },
    {
      method: 'POST',
      path: '/explain',
      access: 'admin',
      handle: (x, caller) => explain(x, caller, owner.reloader),
    },
    { method: 'GET', path: '/config', access: 'admin', handle: (x) => showConfig(x, owner.reloader) },
    open('GET', '', (x) => page().redirect(x)),
    open('GET', '/session', showSession),
    open('POST', '/session', (x) => signIn(x, tries())),
    open('DELETE', '/session', signOut),
    open('GET', '/oidc/login', (x) => oidc.login(x)),
    open('GET', '/oidc/callback', (x) => oidc.callback(x)),
    ...ENDPOINTS.filter(({ path }) => TRIED.has(path)).map((endpoint): ConsoleRow => ({
      method: 'POST',
      path: `${CONSOLE_PATH}/v1/${endpoint.path}`,
      access: 'inference',
      handle: (x, caller) => {
        settingsOf(x);
        return forward(x, caller, endpoint, null);
      },
    })),
    ...(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).map((method): ConsoleRow => ({
      method,
      path: `${CONSOLE_PATH}/platform/`,
      access: 'admin',
      handle: callPlatform,
    })),
    open('GET', '/', (x) => page().serve(x, nameIn(x))),
  ];
}

/** What stands below `/ui/`, as sent. */
function nameIn({ path }: Exchange): string {
  if (!path.startsWith(`${CONSOLE_PATH}/`))
    throw new Fault('route_not_found', 'The console has no base path of a conversation.');
  return path.slice(CONSOLE_PATH.length + 1);
}
