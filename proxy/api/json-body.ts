// Reads the body of a request to the proxy's own API as one JSON object. Bodies that go upstream are never parsed here.
import type { Buffer } from 'node:buffer';
import type { Member, Wanted } from '../bodies/members.ts';
import { peek } from '../bodies/peek.ts';
import { isObject, type Json } from '../bodies/json.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { callerNow } from '../pipeline/caller-for.ts';
import { bodyFault } from '../pipeline/parse-request.ts';
import { readBody } from '../pipeline/read-body.ts';

/**
 * @throws Fault unsupported_media_type, body_not_utf8, duplicate_member, body_not_json, body_not_object, and those of `readBody`
 */
export async function readObject(x: Exchange): Promise<Json> {
  const media = x.headers.contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  // A browser sends other types across origins without a CORS preflight.
  if (!media.endsWith('json'))
    throw new Fault('unsupported_media_type', 'Send `content-type: application/json`.');
  const body = (await readBody(x)).bytes;
  checkMembers(body);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new Fault('body_not_json', 'The request body is not JSON.', { cause });
  }
  if (!isObject(value)) throw new Fault('body_not_object', 'The request body must be one JSON object.');
  return value;
}

const EVERY: Wanted = { names: new Set(), prefixes: [], also: () => true };
const OPENING_BRACE = 0x7b;

/**
 * Bodies that two parsers could read differently, which JSON.parse takes: bytes that are no UTF-8, and the same member twice, in the body or in
 * an object in it (`model_max_budget`). What is no JSON at all is JSON.parse's to refuse.
 * @throws Fault body_not_utf8, duplicate_member
 */
function checkMembers(body: Buffer): void {
  for (const { name, valueStart, valueEnd } of membersOf(body, '')) {
    if (body[valueStart] === OPENING_BRACE) membersOf(body.subarray(valueStart, valueEnd), `${name}.`);
  }
}

function membersOf(object: Buffer, within: string): readonly Member[] {
  const peeked = peek(object, EVERY, Infinity);
  if (!peeked.ok && (peeked.fault === 'invalid_utf8' || peeked.fault === 'duplicate_member'))
    throw bodyFault(peeked, within);
  return peeked.ok ? peeked.members : [];
}

/**
 * The body of a change that administrators alone make. It may come long after its head: who calls is looked up once more.
 * @throws Fault as `readObject` and `callerNow`
 */
export async function readChange(x: Exchange): Promise<Json> {
  const body = await readObject(x);
  callerNow(x, 'admin');
  return body;
}
