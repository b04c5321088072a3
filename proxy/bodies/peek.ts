// Finds the few top-level members of a JSON object that the proxy acts on, by byte offsets, without building the
// object. It accepts exactly what JSON.parse accepts on valid UTF-8; it never changes a byte, never recurses, and
// its sentences never quote what the client wrote. Stands between the read body and splice.ts, which edits it.
import { isUtf8, type Buffer } from 'node:buffer';
import {
  describeStop,
  openBody,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
  type Stop,
} from './json-skip.ts';

/** The top-level members to report: by exact name or by prefix of the name. */
export interface Wanted {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

/** A top-level member; all numbers are byte offsets into the body, ends are exclusive. */
export interface Member {
  /** The key, escapes decoded. */
  readonly name: string;
  /** Of the key's opening quote. */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Of the comma that stands before the member; -1 for the first one. */
  readonly commaBefore: number;
  /** Of the comma that follows the member; -1 for the last one. */
  readonly commaAfter: number;
}

export type PeekFaultKind = 'not_json' | 'not_object' | 'too_deep' | 'invalid_utf8' | 'duplicate_member';

/** Why a body was refused. */
interface PeekFault {
  readonly ok: false;
  readonly fault: PeekFaultKind;
  /** Byte offset of what is wrong. */
  readonly at: number;
  /** The member's name, of a `duplicate_member` only. */
  readonly name?: string;
  /** One sentence; quotes nothing of the body but punctuation. */
  readonly detail: string;
  /** The wanted members that were whole before the fault. */
  readonly members: readonly Member[];
}

/** A JSON object, looked into. */
export interface PeekedBody {
  readonly ok: true;
  /** The wanted members in the order of the body; no two of one name. */
  readonly members: readonly Member[];
  /** How many members the object has, unwanted ones included. */
  readonly memberCount: number;
  /** Just after the opening brace. */
  readonly open: number;
  /** End of the last member's value; equals `open` in an empty object. */
  readonly lastValueEnd: number;
}

export type Peeked = PeekedBody | PeekFault;

/** Characters; a name that was wanted by its prefix may go on for ever. */
const LONGEST_SHOWN_NAME = 64;
const NEEDS_DECODING = /[\\\u0080-\u00ff]/;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Scans `body` once, from end to end, in time linear in its size.
 * @param maxDepth deepest nesting of containers that is accepted; the top-level object is depth 1
 */
export function peek(body: Buffer, wanted: Wanted, maxDepth: number): Peeked {
  const members: Member[] = [];
  const names = new Set<string>();
  const stop: Stop = { at: 0, expected: '', tooDeep: false };
  const stopped = (): PeekFault => {
    const { at, tooDeep } = stop;
    if (tooDeep) return refused('too_deep', at, `The body nests deeper than ${maxDepth} levels.`, members);
    return refused('not_json', at, `The body is not valid JSON: ${describeStop(body, stop)}.`, members);
  };
  if (!isUtf8(body)) {
    const at = invalidUtf8At(body);
    return refused('invalid_utf8', at, `The body is not valid UTF-8 at byte ${at}.`, members);
  }
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    return refused('not_json', 0, 'The body begins with a byte order mark; send JSON without one.', members);
  }
  openBody();
  let i = skipSpace(body, 0);
  if (body[i] !== OPEN_BRACE) return notObject(body, i, maxDepth, stop) ?? stopped();
  const open = i + 1;
  let memberCount = 0;
  let lastValueEnd = open;
  let commaBefore = -1;
  i = skipSpace(body, open);
  while (memberCount > 0 || body[i] !== CLOSE_BRACE) {
    const keyStart = i;
    if (body[i] !== QUOTE) {
      stop.at = i;
      stop.expected = 'a member name in double quotes';
      return stopped();
    }
    const keyEnd = skipString(body, i, stop);
    if (keyEnd < 0) return stopped();
    const valueStart = skipColon(body, keyEnd, stop);
    if (valueStart < 0) return stopped();
    const valueEnd = skipValue(body, valueStart, maxDepth - 1, stop);
    if (valueEnd < 0) return stopped();
    memberCount++;
    lastValueEnd = valueEnd;
    i = skipSpace(body, valueEnd);
    const isLast = body[i] === CLOSE_BRACE;
    if (!isLast && body[i] !== COMMA) {
      stop.at = i;
      stop.expected = 'a comma or }';
      return stopped();
    }
    const name = wantedName(body, keyStart, keyEnd, wanted);
    if (name !== null) {
      if (names.has(name)) return duplicate(name, keyStart, members);
      names.add(name);
      const commaAfter = isLast ? -1 : i;
      members.push({ name, keyStart, keyEnd, valueStart, valueEnd, commaBefore, commaAfter });
    }
    if (isLast) break;
    commaBefore = i;
    i = skipSpace(body, i + 1);
  }
  stop.at = skipSpace(body, i + 1);
  stop.expected = 'the end of the body';
  if (stop.at < body.length) return stopped();
  return { ok: true, members, memberCount, open, lastValueEnd };
}

function refused(fault: PeekFaultKind, at: number, detail: string, members: readonly Member[]): PeekFault {
  return { ok: false, fault, at, detail, members };
}

function duplicate(name: string, at: number, members: readonly Member[]): PeekFault {
  const shown = JSON.stringify(name.slice(0, LONGEST_SHOWN_NAME));
  const detail = `The member ${shown} stands in the body twice, and two readers could choose differently; send it once.`;
  return { ...refused('duplicate_member', at, detail, members), name };
}

/** The fault of a body that is whole JSON but no object; null when it is not JSON either. */
function notObject(body: Buffer, start: number, maxDepth: number, stop: Stop): PeekFault | null {
  const end = skipValue(body, start, maxDepth, stop);
  if (end < 0) return null;
  stop.at = skipSpace(body, end);
  stop.expected = 'the end of the body';
  if (stop.at < body.length) return null;
  return refused('not_object', start, 'The body is JSON but not an object; send a JSON object.', []);
}

/** The decoded name of the key, if it is wanted. */
function wantedName(body: Buffer, keyStart: number, keyEnd: number, wanted: Wanted): string | null {
  let name = body.toString('latin1', keyStart + 1, keyEnd - 1);
  // A name is compared as what it stands for: "mod\u0065l" is the model for every reader downstream.
  if (NEEDS_DECODING.test(name)) name = JSON.parse(body.toString('utf8', keyStart, keyEnd)) as string;
  if (wanted.names.has(name)) return name;
  for (const prefix of wanted.prefixes) {
    if (name.startsWith(prefix)) return name;
  }
  return null;
}

/** Offset of the first byte that cannot be part of a UTF-8 text. */
function invalidUtf8At(body: Buffer): number {
  let low = 0; // all before is valid
  let high = body.length;
  while (high - low > 8) {
    let middle = (low + high) >>> 1;
    for (let back = 0; back < 3 && isContinuation(body[middle]); back++) middle--;
    if (isUtf8(body.subarray(low, middle))) low = middle;
    else high = middle;
  }
  // The few characters that are left, one by one.
  for (let size = 1; size <= 4 && low + size <= body.length; size++) {
    if (isUtf8(body.subarray(low, low + size))) {
      low += size;
      size = 0;
    }
  }
  return low;
}

function isContinuation(c: number | undefined): boolean {
  return c !== undefined && (c & 0xc0) === 0x80;
}

/** The text of a member whose value is a string, else undefined. */
export function readString(body: Buffer, member: Member): string | undefined {
  if (body[member.valueStart] !== QUOTE) return undefined;
  return JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd)) as string;
}

/** The value of a member, built. */
export function readJson(body: Buffer, member: Member): unknown {
  return JSON.parse(body.toString('utf8', member.valueStart, member.valueEnd)) as unknown;
}
