// One line of the journal: `B <crc32> <json>\n` for a begin, `S <crc32> <json>\n` for a settle. Pure: no files here.
// The ledger writes such lines and the store's worker reads them, so the format is below both.
// A line is ASCII up to its JSON and ends in the only newline it has (JSON.stringify escapes newlines), so a reader
// can find the next line after any damage.
import { crc32 } from 'node:zlib';
import type { SpendBegin, SpendRecord } from './record.ts';

type LineKind = 'B' | 'S';

const NEWLINE = 0x0a;
const SPACE = 0x20;
const KINDS: Readonly<Record<number, LineKind>> = { 0x42: 'B', 0x53: 'S' };
const CRC_AT = 2;
const JSON_AT = 11; // "B", space, 8 hex digits, space
// Our builders put the id first; then it is found without parsing the line (recovery reads gigabytes of them).
const ID_PREFIX = Buffer.from('{"requestId":"');
const ID_AT = JSON_AT + ID_PREFIX.length;
const ZERO = 0x30;
const LOWER_A = 0x61;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A line that passed its checksum. */
interface Line {
  readonly kind: LineKind;
  /** The entry's JSON; `SpendBegin` for `B`, `SpendRecord` for `S`. */
  readonly json: string;
}

/** The begin entry as a line, its newline included. */
export function beginLine(begin: SpendBegin): string {
  return lineOf('B', JSON.stringify(begin));
}

/** The settle entry as a line, its newline included. */
export function settleLine(record: SpendRecord): string {
  return lineOf('S', JSON.stringify(record));
}

function lineOf(kind: LineKind, json: string): string {
  return `${kind} ${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
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
