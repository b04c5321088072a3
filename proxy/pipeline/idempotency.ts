// `Idempotency-Key`: a call that is sent again under its key joins the first one while it runs, and gets the same response
// afterwards, instead of being paid twice. Off unless configured. A call that failed without cost is forgotten, so sending
// it again makes a new attempt.
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { holderOf, type AuthenticatedCaller } from '../access/caller.ts';
import { CountersUnavailable } from '../access/counters.ts';
import { Fault } from '../errors/fault.ts';
import type { Ending, IdempotencyLimits, KnownCall } from '../active-config/idempotency-cache.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { Exchange } from './exchange.ts';
import type { ParsedRequest } from './parse-request.ts';
import { callHeaders } from './respond.ts';
import { untilClientLeaves } from './until-client-leaves.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

const HEADER = 'idempotency-key';
const SLICE_BYTES = 2_097_152;
const KEY = /^[\x21-\x7e]{1,255}$/;
/** Of the proxy's own headers in the first response, these also hold for the replay. */
const KEPT_OWN: readonly string[] = ['error-source'];

/** The first call under its key. */
export interface IdempotencyClaim {
  readonly kind: 'first';
  /** The call is over. @param record null: it left none */
  settle(record: SpendRecord | null): void;
}

/** A call that was made before, with its kept response. */
export interface RepeatedCall {
  readonly kind: 'repeated';
  readonly id: string;
  readonly response: KeptResponse;
}

/**
 * Looks the call's key up and claims it. Call it before the body is changed.
 * @returns null without a key; else the claim of the first call, or the response to replay, which
 * is awaited while the first call runs
 * @throws Fault invalid_header, idempotency_mismatch, idempotency_conflict, overloaded, counters_unavailable, client_gone,
 * shutting_down
 */
export async function claimIdempotencyKey(
  x: Exchange,
  caller: AuthenticatedCaller,
  request: ParsedRequest,
  limits: IdempotencyLimits,
): Promise<IdempotencyClaim | RepeatedCall | null> {
  const text = keyOf(x);
  if (text === null) return null;
  const { idempotency } = x.active.services;
  const key = `${holderOf(caller)} ${text}`;
  const digest = await digestOf(`${x.path}?${x.query}\n`, request.body.bytes);
  for (;;) {
    const known = idempotency.find(key) ?? (await taken(x, key, { digest, stream: request.stream }, limits));
    if (known === null) {
      x.res.keeps = !request.stream;
      return { kind: 'first', settle: (record) => idempotency.settle(key, endingOf(record, x.res), limits) };
    }
    if (known.digest !== digest) throw mismatch(x, known);
    if (known.stream && known.ending === null)
      throw conflict(x, known, 'is still running, and it is a stream');
    const ending = known.ending ?? (await waitForEnding(known, x.res));
    if (ending === null) continue; // it failed without cost and is forgotten: this call takes its place
    if (ending.response !== null) return { kind: 'repeated', id: known.id, response: ending.response };
    const status = ending.httpStatus === null ? 'without a status' : `with status ${ending.httpStatus}`;
    throw conflict(x, known, `has ended (${ending.reason}, ${status}), and its answer was not kept`);
  }
}

/** @returns null: the key is this call's; else the call of another process that has it */
async function taken(
  x: Exchange,
  key: string,
  call: Pick<KnownCall, 'digest' | 'stream'>,
  limits: IdempotencyLimits,
): Promise<KnownCall | null> {
  try {
    const known = await x.active.services.idempotency.take(key, { id: x.id, ...call }, limits);
    if (known === 'full') throw cacheFull(x);
    return known;
  } catch (cause) {
    if (!(cause instanceof CountersUnavailable)) throw cause;
    const text =
      'Whether this Idempotency-Key was used is not known, because the shared store does not answer.';
    throw new Fault('counters_unavailable', text, { cause, headers: [['retry-after', '1']] });
  }
}

/** A large body takes several turns of the event loop: 2 ns a byte. */
async function digestOf(target: string, body: Buffer): Promise<string> {
  const hash = createHash('sha256').update(target);
  for (let from = 0; from < body.length; from += SLICE_BYTES) {
    if (from > 0) await setImmediate();
    hash.update(body.subarray(from, from + SLICE_BYTES));
  }
  return hash.digest('hex');
}

/** Sends the kept response again. Call it after the record is settled. @param own headers of this call, flat */
export function replayResponse(x: Exchange, { id, response }: RepeatedCall, own: readonly string[]): void {
  const { headerPrefix } = x.active.snapshot.dialect;
  if (x.res.destroyed) return;
  const list: string[] = [];
  for (let i = 0; i + 1 < response.headers.length; i += 2) {
    const [name = '', value = ''] = response.headers.slice(i, i + 2);
    const suffix = name.startsWith(headerPrefix) ? name.slice(headerPrefix.length) : null;
    const ofOrigin = name === 'vary' || name.startsWith('access-control-');
    if (suffix === null ? !ofOrigin : KEPT_OWN.includes(suffix)) list.push(name, value);
  }
  list.push(...callHeaders(x), ...own);
  list.push(x.active.headerNames.cost, '0', ...originalHeaders(x, id), 'idempotent-replayed', 'true');
  x.res.writeHead(response.status, list);
  x.res.end(response.body);
}

/** @throws Fault invalid_header */
function keyOf({ req }: Exchange): string | null {
  const values = req.headers.filter((_, i) => i % 2 === 1 && req.headers[i - 1]?.toLowerCase() === HEADER);
  const [value = null] = values;
  if (value === null || (values.length === 1 && KEY.test(value))) return value;
  const text = 'The Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters.';
  throw new Fault('invalid_header', text, { param: HEADER });
}

/** null, so that the call may be tried again, when it failed without cost. */
function endingOf(record: SpendRecord | null, response: DownstreamResponse): Ending | null {
  if (record === null || (record.status === 'failure' && record.spendPico === 0)) return null;
  return { reason: record.endReason, httpStatus: record.httpStatus, response: response.kept };
}

/** Waits for a running call to end. */
async function waitForEnding(known: KnownCall, response: DownstreamResponse): Promise<Ending | null> {
  const { over: done, abandon } = known;
  const awaited = abandon === undefined ? { done } : { done, abandon };
  const end = await untilClientLeaves(response, awaited, 'the same call ran');
  if (end.kind === 'left') throw end.why;
  return end.value;
}

const originalHeaders = (x: Exchange, id: string): [string, string] => [
  x.active.headerNames.originalCallId,
  id,
];

function mismatch(x: Exchange, { id }: KnownCall): Fault {
  const text = `The Idempotency-Key was used for another request (call ${id}). Use a new key for each request.`;
  return new Fault('idempotency_mismatch', text, { param: HEADER, headers: [originalHeaders(x, id)] });
}

/** SDKs retry a 409 unless `x-should-retry` says otherwise. */
function conflict(x: Exchange, { id }: KnownCall, what: string): Fault {
  return new Fault('idempotency_conflict', `The call with this Idempotency-Key, ${id}, ${what}.`, {
    param: HEADER,
    headers: [originalHeaders(x, id), ['x-should-retry', 'false']],
  });
}

function cacheFull({ active }: Exchange): Fault {
  active.services.unrouted.refused('idempotency_full');
  const text = 'So many calls with an Idempotency-Key are running that no further one can be remembered.';
  return new Fault('overloaded', text, { headers: [['retry-after', '1']] });
}
