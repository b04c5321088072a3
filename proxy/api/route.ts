// What a route is: its handler, the access that it needs, the port that it is served on. Most are of a few kinds, and each
// kind has its function here.
import type { AuthenticatedCaller } from '../access/caller.ts';
import type { Access } from '../access/permissions.ts';
import type { KeyedQueue } from '../base/keyed-queue.ts';
import { Fault, toFault } from '../errors/fault.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import { callDenied, runCall, type CallRow } from './access/call-row.ts';
import { MANAGEMENT_ERRORS } from './access/refusals.ts';
import { AdminAttempt, type AdminAction } from './audit.ts';
import type { Port } from './route-row.ts';

type Handler = (x: Exchange, caller: AuthenticatedCaller, param: string) => void | Promise<void>;

export interface Route {
  readonly handle: Handler;
  readonly access: Access;
  readonly port: Port;
  /** Told of a fault that ended the call before it reached `handle`. */
  readonly denied?: (x: Exchange, fault: Fault) => void;
  /** Default: OpenAI's. */
  readonly errors?: ErrorShape;
}

/** A route that was found, with the decoded name or id of its path ('' when it has none). */
export interface FoundRoute {
  readonly route: Route;
  readonly param: string;
}

/** What one port serves. */
export interface Routes {
  /** Whether metrics and administration are alone on this port. */
  readonly isAdminPort: boolean;
  /** Whether a WebSocket is served there. */
  upgrades(path: string): boolean;
  /** @throws Fault route_not_found, method_not_allowed. */
  find(method: string, path: string): FoundRoute;
}

/** The routes of one path by their methods. */
export type Methods = Readonly<Record<string, Route>>;

/** Metrics and administration: for the master key alone. */
export const admin = (handle: Handler): Route => ({ handle, access: 'admin', port: 'admin' });
/** A change by an administrator; each attempt leaves its audit line. */
export const audited = (
  action: AdminAction,
  change: (x: Exchange, attempt: AdminAttempt, param: string, caller: AuthenticatedCaller) => Promise<void>,
): Route => ({
  ...admin(async (x, caller, param) => {
    const attempt = new AdminAttempt(x, action, caller.keyHash);
    try {
      await change(x, attempt, param, caller);
    } catch (thrown) {
      attempt.refused(toFault(thrown));
      throw thrown;
    }
  }),
  denied: (x, fault) => new AdminAttempt(x, action, null).refused(fault),
});
/** A call about keys, users, teams, ...: may.ts says who may. */
export const managed = (row: CallRow, exclusive: KeyedQueue): Route => ({
  handle: (x, caller, param) => runCall(row, x, caller, param, exclusive),
  access: 'management',
  port: 'admin',
  denied: (x, fault) => callDenied(row, x, fault),
  errors: MANAGEMENT_ERRORS,
});
/** Sums that users see their part of. */
export const spending = (handle: Handler): Route => ({ handle, access: 'management', port: 'admin' });
/** LLM calls. */
export const call = (handle: Handler): Route => ({ handle, access: 'inference', port: 'main' });
/** What agents choose models by, and admins find the ids of. */
export const listing = (handle: Handler): Route => ({ handle, access: 'listing', port: 'both' });
/** For load balancers and orchestrators. */
export const open = (handle: Handler): Route => ({ handle, access: 'open', port: 'both' });
/** What describes the interface; no key, but `allowed_ips` holds, and `general_settings.api_docs: false` turns it off. */
export const published = (handle: Handler): Route => ({
  handle: (x, caller, param) => {
    if (!x.active.snapshot.apiDocs)
      throw new Fault('route_not_found', `There is no route ${x.path} on this proxy.`);
    return handle(x, caller, param);
  },
  access: 'public',
  port: 'both',
});

/** What is read: HEAD is answered wherever GET is. */
export const readable = (route: Route): Methods => ({ GET: route, HEAD: route });

/** The route of a method. @throws Fault method_not_allowed */
export function routeOf(methods: Methods, method: string): Route {
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (route === undefined) throw notAllowed(method, Object.keys(methods));
  return route;
}

/** @param allowed methods that the path has @param instead a sentence to add, or '' */
export function notAllowed(method: string, allowed: readonly string[], instead = ''): Fault {
  const allow = allowed.join(', ');
  return new Fault(
    'method_not_allowed',
    `${method} is not a method of this route; it takes ${allow}.${instead}`,
    {
      headers: [['allow', allow]],
    },
  );
}
