// Reads the body of a request to the proxy's own API as one JSON object, and owns how large and how complex it may be. Bodies that go
// upstream are never parsed here.
import type { Buffer } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import {
  MOST_BUILT_VALUES,
  type Bounds,
  type Member,
  type Peeked,
  type PeekFaultKind,
  type Wanted,
} from '../bodies/members.ts';
import { peek, peekInSlices } from '../bodies/peek.ts';
import { isObject, type Json } from '../bodies/json.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { callerNow } from '../pipeline/caller-for.ts';
import { BODY_BOUNDS, bodyFault } from '../pipeline/parse-request.ts';
import { readBody } from '../pipeline/read-body.ts';

/** What a body is for, by which it may be large. */
type Purpose = 'sign-in' | 'administration' | 'prompt';

/**
 * Signing in takes one key, from whoever comes. Administration: a list of 10,000 members of a team has 1 MB, all else far less. A prompt
 * is what goes upstream otherwise; 16 MiB of text are some four million tokens.
 */
const MOST_BYTES: Readonly<Record<Purpose, number>> = {
  'sign-in': 16_384,
  administration: 2_097_152,
  prompt: 16_777_216,
};

/** The body is built as a whole, while everybody waits: 60 MB of nested lists took 30 s and 2 GB. */
const BOUNDS: Bounds = { ...BODY_BOUNDS, values: MOST_BUILT_VALUES };

/**
 * @throws Fault unsupported_media_type, body_not_utf8, body_too_complex, duplicate_member, body_not_json, body_not_object, and those of
 * `readBody`
 */
export async function readObject(x: Exchange, purpose: Purpose = 'administration'): Promise<Json> {
  const media = x.headers.contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  // A browser sends other types across origins without a CORS preflight.
  if (!media.endsWith('json'))
    throw new Fault('unsupported_media_type', 'Send `content-type: application/json`.');
  const body = (await readBody(x, MOST_BYTES[purpose])).bytes;
  await checkMembers(body);
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
const REFUSED: ReadonlySet<PeekFaultKind> = new Set(['invalid_utf8', 'duplicate_member', 'too_complex']);

/**
 * Bodies that take long to build, and those that two parsers could read differently, which JSON.parse takes: bytes that are no UTF-8, and
 * the same member twice, in the body or in an object in it (`model_max_budget`). What is no JSON at all is JSON.parse's to refuse.
 * @throws Fault body_not_utf8, duplicate_member, body_too_complex
 */
async function checkMembers(body: Buffer): Promise<void> {
  const members = membersOf(await peekInSlices(body, EVERY, Infinity, BOUNDS, setImmediate), '');
  for (const { name, valueStart, valueEnd } of members) {
    if (body[valueStart] !== OPENING_BRACE) continue;
    membersOf(peek(body.subarray(valueStart, valueEnd), EVERY, Infinity), `${name}.`);
  }
}

function membersOf(peeked: Peeked, within: string): readonly Member[] {
  if (peeked.ok) return peeked.members;
  if (REFUSED.has(peeked.fault)) throw bodyFault(peeked, within);
  return [];
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
