// Who makes a request, once it is known which route it asks for: an allowed address, a key where the route needs one, and a
// key that opens it. Nothing else on the request path decides about access.
import { checkAddress } from '../access/client-address.ts';
import { ANYBODY, type AuthenticatedCaller } from '../access/caller.ts';
import { authorize, needsKey, type Access } from '../access/permissions.ts';
import { Fault } from '../errors/fault.ts';
import { authenticate } from './authenticate.ts';
import { consoleCaller } from './console-session.ts';
import type { Exchange } from './exchange.ts';

const NO_KEY_FOR_METRICS =
  'Metrics ask for the master key here. Send it as `Authorization: Bearer <key>`; or the operator serves them on ' +
  'general_settings.admin_port, or opens them by require_auth_for_metrics_endpoint: false.';

/**
 * The caller; a promise only where the store must be queried.
 * @throws Fault address_not_allowed, admin_key_required, route_denied, and those of `authenticate` and `consoleCaller`
 */
export function callerFor(
  x: Exchange,
  access: Access,
  isAdminPort: boolean,
): AuthenticatedCaller | Promise<AuthenticatedCaller> {
  const { snapshot, allowedAddresses } = x.active;
  if (access !== 'open') checkAddress(allowedAddresses, x.clientAddress);
  if (!needsKey(access, snapshot, isAdminPort)) return ANYBODY;
  const byPage = consoleCaller(x, access);
  if (byPage !== null) return authorized(x, byPage, access);
  if (access === 'metrics' && snapshot.masterKey !== null && x.headers.credential === null)
    throw new Fault('missing_api_key', NO_KEY_FOR_METRICS);
  const caller = authenticate(x);
  return caller instanceof Promise
    ? caller.then((found) => authorized(x, found, access))
    : authorized(x, caller, access);
}

/**
 * The caller once more, when what it asked for is about to be done: since it was let in its key may have been removed, or may do less.
 * Without a wait, so that what is decided by it is decided in the same turn. @throws Fault invalid_api_key, those of `callerFor`
 */
export function callerNow(x: Exchange, access: Access): AuthenticatedCaller {
  const found = callerFor(x, access, false);
  if (!(found instanceof Promise)) return found;
  found.catch(() => undefined); // the store is asked about a key that is gone here
  throw new Fault('invalid_api_key', 'Authentication Error, The key of this call is not known any more.');
}

function authorized(x: Exchange, caller: AuthenticatedCaller, access: Access): AuthenticatedCaller {
  authorize(caller, access, { method: x.req.method, path: x.path });
  return caller;
}
