// What an operator is told of a call that failed: which side is at fault, a reason of a closed list, a sentence and how
// loudly to say it. The access log and the metrics use the same answer. Pure.
import { FAULTS, type FaultCode, type FaultSource } from '../errors/codes.ts';
import type { Fault } from '../errors/fault.ts';
import type { SpendRecord } from '../spend/record/record.ts';

/** How a line of the log is marked: pino's numbers for info, warn and error. */
export type LineLevel = 30 | 40 | 50;

/** Why a call failed, and whose side is at fault. */
export interface Failure {
  readonly side: FaultSource;
  /** A code of the proxy's faults, or `upstream_` and what the upstream did; never a text of a client or an upstream. */
  readonly reason: string;
  readonly why: string;
  readonly level: LineLevel;
}

/** The columns of a record that decide. */
type Ended = Pick<
  SpendRecord,
  'status' | 'endReason' | 'httpStatus' | 'errorCode' | 'errorText' | 'errorSource'
>;

/** Our faults that a planned stop makes: no error of ours. */
const PLANNED: ReadonlySet<string> = new Set(['shutting_down']);

/** What a status of an upstream means for the operator. All others are told by their class. */
const STATUSES: Readonly<Record<number, string>> = {
  401: 'The gateway does not accept the key of this entry: check its api_key (which variable, a trailing blank).',
  402: 'The gateway wants to be paid: the credit of its key is used up.',
  403: 'The gateway refuses: the key of this entry may not use this model, or a firewall stands in between.',
  404: 'The gateway does not know this model or path: check the model name and the api_base of this entry.',
  405: 'The gateway does not know this path: check the api_base of this entry (with or without /v1).',
  407: 'A proxy on the way to the gateway asks for credentials: check https_proxy.',
  408: 'The gateway gave up waiting.',
  429: 'The gateway limits the requests of our key.',
  500: 'The gateway failed.',
  502: 'What stands before the gateway, or the gateway itself, got no valid response from behind it.',
  503: 'The gateway is overloaded or out of service.',
  504: 'What stands before the gateway, or the gateway itself, waited too long for a response from behind it.',
  529: 'The provider behind the gateway is overloaded.',
};
/** Of these the caller's request is the cause; the upstream has told the caller why. */
const REFUSED: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

/**
 * null: the call went well.
 * @param byPattern the deployment serves names that clients choose (`*`), so an unknown model is the caller's mistake
 */
export function failureOf(record: Ended, byPattern: boolean): Failure | null {
  if (record.status === 'success') return null;
  if (record.errorCode !== null) return ownFailure(record.errorCode as FaultCode, record);
  const { httpStatus, endReason } = record;
  if (endReason === 'replayed')
    return client(
      'replayed_failure',
      'The failed response of an earlier call with this Idempotency-Key was given again.',
    );
  if (httpStatus !== null && httpStatus >= 300) return refusedBy(httpStatus, byPattern);
  if (endReason === 'upstream_error')
    return upstream(
      'upstream_error_in_body',
      'The gateway answered with status 200, but the response is an error, HTML or nothing.',
    );
  return upstream('upstream_truncated', 'The response of the gateway ended before it was complete.');
}

function ownFailure(code: FaultCode, { errorText, errorSource }: Ended): Failure {
  const rule = FAULTS[code];
  const side = errorSource ?? rule.source;
  // The text of a client's mistake may quote what the client sent.
  if (side === 'client') return client(code, rule.means);
  const why = errorText ?? rule.means;
  if (side === 'upstream') return upstream(code, why);
  return { side, reason: code, why, level: PLANNED.has(code) ? 40 : 50 };
}

function refusedBy(status: number, byPattern: boolean): Failure {
  if (status < 400)
    return upstream(
      'upstream_redirect',
      `The gateway answered with a redirect (${status}), which is never followed: check the api_base of this entry.`,
    );
  if (status === 404 && byPattern)
    return client('upstream_404', 'The gateway does not know the model that the client asked for.');
  const known = STATUSES[status];
  if (known !== undefined) return upstream(`upstream_${status}`, `${known} (status ${status})`);
  if (REFUSED.has(status))
    return client(
      `upstream_${status}`,
      `The gateway refuses this request as the client made it. (status ${status})`,
    );
  if (status < 500)
    return client(
      'upstream_4xx',
      `The gateway refuses this request as the client made it. (status ${status})`,
    );
  return upstream('upstream_5xx', `The gateway failed. (status ${status})`);
}

const client = (reason: string, why: string): Failure => ({ side: 'client', reason, why, level: 30 });
const upstream = (reason: string, why: string): Failure => ({ side: 'upstream', reason, why, level: 40 });

/** How loudly a response without a record is told of. */
export function levelOf({ code, source }: Pick<Fault, 'code' | 'source'>): 'info' | 'warn' | 'error' {
  if (source === 'client') return 'info';
  return source === 'upstream' || PLANNED.has(code) ? 'warn' : 'error';
}
