// A row of the management API's lists of routes, and how such a call is run: its errors in the dialect's shapes, an audit line
// for each attempt to change something, refused ones included.
import type { AuthenticatedCaller } from '../../access/caller.ts';
import { demandAudience, type RouteAudience } from '../../access/management-role.ts';
import type { KeyedQueue } from '../../base/keyed-queue.ts';
import { toFault, type Fault } from '../../errors/fault.ts';
import { callerNow } from '../../pipeline/caller-for.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { sendBytes, sendJson } from '../../pipeline/respond.ts';
import { AdminAttempt, type ObjectAction } from '../audit.ts';
import { JsonText } from '../json-pieces.ts';
import type { Call, CallHandler } from './management-call.ts';

/** One route. */
export interface CallRow {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `{...}` stands for one name, which is decoded. */
  readonly path: string;
  /** What the audit calls it; null = it changes nothing. */
  readonly action: ObjectAction | null;
  /** Others are refused before their bodies are read. */
  readonly audience: RouteAudience;
  readonly handle: CallHandler;
}

export const reads = (path: string, handle: CallHandler): CallRow => ({
  method: 'GET',
  path,
  action: null,
  audience: 'object',
  handle,
});

/** A read that has a body. */
export const readsBody = (path: string, handle: CallHandler, audience: RouteAudience): CallRow => ({
  method: 'POST',
  path,
  action: null,
  audience,
  handle,
});

export const changes = (action: ObjectAction, path: string, handle: CallHandler): CallRow => ({
  method: 'POST',
  path,
  action,
  audience: 'change',
  handle,
});

/** A change that administrators alone make, whatever it is about. */
export const adminChanges = (action: ObjectAction, path: string, handle: CallHandler): CallRow => ({
  ...changes(action, path, handle),
  audience: 'admin',
});

/** Runs the call of a row and sends its answer. @throws Fault what the call was refused for; it is in the audit already */
export async function runCall(
  { action, audience, handle }: CallRow,
  x: Exchange,
  caller: AuthenticatedCaller,
  param: string,
  exclusive: KeyedQueue,
): Promise<void> {
  const attempt = action === null ? null : new AdminAttempt(x, action, caller.keyHash);
  let answer: unknown;
  await x.active.services.access.sync(); // the call before this one may have gone to another process
  try {
    const call = callOf(x, caller, param, attempt, exclusive);
    if (audience !== 'object') {
      call.lookUpCaller(); // its user may have got another role with what the sync brought
      demandAudience(call.caller, audience);
    }
    answer = await handle(call);
  } catch (thrown) {
    attempt?.refused(toFault(thrown));
    throw thrown;
  }
  attempt?.applied(true);
  if (answer instanceof JsonText) sendBytes(x, 'application/json', answer.bytes);
  else sendJson(x, answer);
}

function callOf(
  x: Exchange,
  letIn: AuthenticatedCaller,
  param: string,
  attempt: AdminAttempt | null,
  exclusive: KeyedQueue,
): Call {
  let caller = letIn;
  return {
    x,
    get caller() {
      return caller;
    },
    lookUpCaller: () => {
      caller = callerNow(x, 'management');
    },
    param,
    query: new URLSearchParams(x.query),
    concerns: (object) => attempt?.concernsObject(object),
    exclusive,
  };
}

/** Notes an attempt that ended before its caller was known, or allowed to call. */
export function callDenied({ action }: CallRow, x: Exchange, fault: Fault): void {
  if (action !== null) new AdminAttempt(x, action, null).refused(fault);
}
