// `Idempotency-Key`: a call that is sent again under its key joins the first one while it runs, and gets its answer again
// afterwards, instead of being paid twice. Off unless configured. What has cost nothing is forgotten, so that sending it
// again tries it again.
import { hash } from 'node:crypto';
import { Fault } from '../errors/fault.ts';
import type { Ending, KnownCall } from '../active-config/idempotency-cache.ts';
import type { DownstreamResponse } from '../downstream/downstream-response.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { Exchange } from './exchange.ts';
import type { Caller } from './authenticate.ts';
import type { ParsedRequest } from './parse-request.ts';
import { callHeaders } from './answer.ts';
import { untilClientLeaves } from './until-client-leaves.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

const HEADER = 'idempotency-key';
const KEY = /^[\x21-\x7e]{1,255}$/;
/** Of the first answer's own headers these are true of the second, too. */
const KEPT_OWN: readonly string[] = ['error-source'];

/** A call that is the first under its key. */
export interface IdempotencyClaim {
  readonly kind: 'first';
  /** The call is over. @param record null: it left none */
  settle(record: SpendRecord | null): void;
}

/** A call that was made before. */
export interface RepeatedCall {
  readonly kind: 'repeated';
  readonly id: string;
  readonly answer: KeptResponse;
}

/**
 * What the call's key says. Call it before the body is changed.
 * @returns null when there is no key, or it is not looked at; else the claim of the first call, or what is to be given
 * again, for which a call that runs is waited for
 * @throws Fault invalid_header, idempotency_mismatch, idempotency_conflict, overloaded, client_gone, shutting_down
 */
export async function claimKey(
  x: Exchange,
  caller: Caller,
  request: ParsedRequest,
): Promise<IdempotencyClaim | RepeatedCall | null> {
  const limits = x.active.snapshot.idempotency;
  const text = limits === null ? null : keyOf(x);
  if (limits === null || text === null) return null;
  const { idempotency } = x.active.services;
  const key = `${caller.keyHash} ${text}`;
  const digest = hash(
    'sha256',
    Buffer.concat([Buffer.from(`${x.path}?${x.query}\n`), request.body.bytes]),
    'hex',
  );
  for (;;) {
    const known = idempotency.find(key);
    if (known === null) {
      if (!idempotency.begin(key, { id: x.id, digest, stream: request.stream }, limits)) throw noRoom(x);
      x.res.keeps = !request.stream;
      return { kind: 'first', settle: (record) => idempotency.settle(key, endingOf(record, x.res), limits) };
    }
    if (known.digest !== digest) throw mismatch(x, known);
    if (known.stream && known.ending === null)
      throw conflict(x, known, 'is still running, and it is a stream');
    const ending = known.ending ?? (await overOf(known, x.res));
    if (ending === null) continue; // it has cost nothing and is forgotten: this one takes its place
    if (ending.answer !== null) return { kind: 'repeated', id: known.id, answer: ending.answer };
    const status = ending.httpStatus === null ? 'without a status' : `with status ${ending.httpStatus}`;
    throw conflict(x, known, `has ended (${ending.reason}, ${status}), and its answer was not kept`);
  }
}

/** Gives an answer again. Call it after its row was written. @param own what tells of this call, flat */
export function answerAgain(x: Exchange, { id, answer }: RepeatedCall, own: readonly string[]): void {
  const { headerPrefix } = x.active.snapshot.dialect;
  if (x.res.destroyed) return;
  const list: string[] = [];
  for (let i = 0; i + 1 < answer.headers.length; i += 2) {
    const [name = '', value = ''] = answer.headers.slice(i, i + 2);
    const suffix = name.startsWith(headerPrefix) ? name.slice(headerPrefix.length) : null;
    const ofOrigin = name === 'vary' || name.startsWith('access-control-');
    if (suffix === null ? !ofOrigin : KEPT_OWN.includes(suffix)) list.push(name, value);
  }
  list.push(...callHeaders(x), ...own);
  list.push(x.active.headerNames.cost, '0', ...originalHeaders(x, id), 'idempotent-replayed', 'true');
  x.res.writeHead(answer.status, list);
  x.res.end(answer.body);
}

/** @throws Fault invalid_header */
function keyOf({ req }: Exchange): string | null {
  const values = req.headers.filter((_, i) => i % 2 === 1 && req.headers[i - 1]?.toLowerCase() === HEADER);
  const [value = null] = values;
  if (value === null || (values.length === 1 && KEY.test(value))) return value;
  const text = 'The Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters.';
  throw new Fault('invalid_header', text, { param: HEADER });
}

/** What failed and cost nothing may be tried again. */
function endingOf(record: SpendRecord | null, reply: DownstreamResponse): Ending | null {
  if (record === null || (record.status === 'failure' && record.spendPico === 0)) return null;
  return { reason: record.endReason, httpStatus: record.httpStatus, answer: reply.kept };
}

/** Waits for a call that runs. */
async function overOf(known: KnownCall, reply: DownstreamResponse): Promise<Ending | null> {
  const end = await untilClientLeaves(reply, { done: known.over }, 'the same call ran');
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

/** SDKs send a 409 again unless they are told that it is of no use. */
function conflict(x: Exchange, { id }: KnownCall, what: string): Fault {
  return new Fault('idempotency_conflict', `The call with this Idempotency-Key, ${id}, ${what}.`, {
    param: HEADER,
    headers: [originalHeaders(x, id), ['x-should-retry', 'false']],
  });
}

function noRoom({ active }: Exchange): Fault {
  active.services.unrouted.refused('idempotency_full');
  const text = 'So many calls with an Idempotency-Key are running that no further one can be remembered.';
  return new Fault('overloaded', text, { headers: [['retry-after', '1']] });
}
