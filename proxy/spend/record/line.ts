// One line of the journal: `B <crc32> <json>\n` for a begin, `S <crc32> <json>\n` for a settle. Pure: no files here.
// The ledger writes such lines and the store's worker reads them, so the format is below both.
// A line is ASCII up to its JSON and ends in the only newline it has (JSON.stringify escapes newlines), so a reader
// can find the next line after any damage.
import { crc32 } from 'node:zlib';
import type { SpendBegin, SpendRecord } from './record.ts';

type LineKind = 'B' | 'S';

const NEWLINE = 0x0a;
const SPACE = 0x20;
const LETTER_B = 0x42;
const LETTER_S = 0x53;
const KINDS: Readonly<Record<number, LineKind>> = { [LETTER_B]: 'B', [LETTER_S]: 'S' };
/** Of one UTF-16 unit at most. */
const UTF8_BYTES = 3;
const NO_MEMORY = Buffer.alloc(0);
const CRC_AT = 2;
const JSON_AT = 11; // "B", space, 8 hex digits, space
// Our builders put the id first; then it is found without parsing the line (recovery reads gigabytes of them).
const ID_PREFIX = Buffer.from('{"requestId":"');
const ID_AT = JSON_AT + ID_PREFIX.length;
const ZERO = 0x30;
const LOWER_A = 0x61;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A line without its checksum. */
export interface Line {
  readonly kind: LineKind;
  /** The entry's JSON; `SpendBegin` for `B`, `SpendRecord` for `S`. */
  readonly json: string;
}

/** The begin entry as a line, its newline included. */
export function beginLine(begin: SpendBegin): string {
  return linesOf([{ kind: 'B', json: JSON.stringify(begin) }]).toString();
}

/** The settle entry as a line, its newline included. */
export function settleLine(record: SpendRecord): string {
  return linesOf([{ kind: 'S', json: JSON.stringify(record) }]).toString();
}

/**
 * The lines, each with its newline.
 * @param reused memory for them, when they fit there; else they get memory of their own
 */
export function linesOf(lines: readonly Line[], reused: Buffer = NO_MEMORY): Buffer {
  let most = 0;
  for (const { json } of lines) most += JSON_AT + json.length * UTF8_BYTES + 1;
  const bytes = most <= reused.length ? reused : Buffer.allocUnsafe(most);
  let at = 0;
  for (const { kind, json } of lines) {
    const start = at + JSON_AT;
    const end = start + bytes.write(json, start);
    bytes[at] = kind === 'B' ? LETTER_B : LETTER_S;
    bytes[at + 1] = SPACE;
    writeHex(bytes, at + CRC_AT, crc32(bytes.subarray(start, end)));
    bytes[start - 1] = SPACE;
    bytes[end] = NEWLINE;
    at = end + 1;
  }
  return bytes.subarray(0, at);
}

/** Eight lower-case hex digits. */
function writeHex(bytes: Buffer, at: number, value: number): void {
  for (let i = 0, rest = value; i < 8; i += 1, rest >>>= 4) {
    const digit = rest & 0xf;
    bytes[at + 7 - i] = digit < 10 ? ZERO + digit : LOWER_A + digit - 10;
  }
}

/** Kind of the line in `bytes` (newline excluded), or null when its form or its checksum is wrong. */
export function checkLine(bytes: Buffer): LineKind | null {
  const kind = KINDS[bytes[0] ?? 0];
  if (kind === undefined || bytes[1] !== SPACE || bytes[JSON_AT - 1] !== SPACE) return null;
  return hexAt(bytes) === crc32(bytes.subarray(JSON_AT)) ? kind : null;
}

/** The eight lower-case hex digits of the checksum as a number; NaN for anything else. Every line passes here. */
function hexAt(bytes: Buffer): number {
  let value = 0;
  for (let i = CRC_AT; i < JSON_AT - 1; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte >= ZERO && byte <= ZERO + 9) value = value * 16 + byte - ZERO;
    else if (byte >= LOWER_A && byte < LOWER_A + 6) value = value * 16 + byte - LOWER_A + 10;
    else return NaN;
  }
  return value;
}

/** The whole line in `bytes` (newline excluded), or null when it is damaged. */
export function parseLine(bytes: Buffer): Line | null {
  const kind = checkLine(bytes);
  return kind === null ? null : { kind, json: jsonOf(bytes) };
}

/** The entry's JSON of a line that passed `checkLine`. */
export function jsonOf(bytes: Buffer): string {
  return bytes.toString('utf8', JSON_AT, bytes.length);
}

/** `requestId` of a line that passed `checkLine`; '' when its entry has none. */
export function requestIdOf(bytes: Buffer): string {
  if (bytes.subarray(JSON_AT, ID_AT).equals(ID_PREFIX)) {
    const end = bytes.indexOf(QUOTE, ID_AT);
    if (end > 0 && !bytes.subarray(ID_AT, end).includes(BACKSLASH)) return bytes.toString('utf8', ID_AT, end);
  }
  const entry = JSON.parse(bytes.toString('utf8', JSON_AT, bytes.length)) as { requestId?: unknown };
  return typeof entry.requestId === 'string' ? entry.requestId : '';
}

/**
 * Calls `onLine` for each newline-ended piece of `bytes`, blank ones left out, with its offset in `bytes`.
 * @returns how many bytes were consumed: up to and with the last newline.
 */
export function eachLine(bytes: Buffer, onLine: (line: Buffer, at: number) => void): number {
  let at = 0;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0) return at;
    if (end > at) onLine(bytes.subarray(at, end), at);
    at = end + 1;
  }
}
