// Walks over the elements of a JSON array from its end, without reading what stands before: of the messages that an agent
// sends with every call, only the last ones are new. The array was validated before (json-scan.ts), so a quote that an
// even number of backslashes precedes is the beginning of its string, read backwards as well.
import { Buffer } from 'node:buffer';
import { openBody, skipString, type Stop } from './json-skip.ts';
import { charStart } from './utf8.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Inside a string one looks at each byte for so long, then searches for the next quote with native code. */
const SHORT_BYTES = 48;

/** Byte offsets into the body; `end` is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Walks over the elements of an array from the last one backwards, without parsing those before. */
export class ElementsFromEnd {
  readonly #body: Buffer;
  readonly #start: number;
  readonly #least: number;
  #at: number;

  /**
   * @param array its range, brackets included
   * @param mostBytes the walk ends when it has seen so many
   */
  constructor(body: Buffer, array: Range, mostBytes: number) {
    this.#body = body;
    this.#start = array.start + 1;
    this.#at = array.end - 1;
    this.#least = Math.max(this.#start, array.end - mostBytes);
  }

  /** The element before the last one that was returned; null: there is none, or it lies too far away. */
  next(): Range | null {
    const body = this.#body;
    let i = this.#at - 1;
    while (i >= this.#start && (isSpace(body[i]) || body[i] === COMMA)) i--;
    if (i < this.#start) return null;
    const end = i + 1;
    let depth = 0;
    for (; i >= this.#least; i--) {
      const c = body[i];
      if (c === QUOTE) {
        i = stringStart(body, i);
      } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
        depth++;
      } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
        depth--;
      } else if (c === COMMA && depth === 0) {
        break;
      }
    }
    if (i < this.#least && this.#least > this.#start) return null; // its beginning was not seen
    this.#at = i;
    let start = i + 1;
    while (isSpace(body[start])) start++;
    return { start, end };
  }
}

const isSpace = (c: number | undefined): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;

/** The opening quote of the string that ends at `close`. */
function stringStart(body: Buffer, close: number): number {
  let i = close - 1;
  for (;;) {
    const soft = Math.max(0, i - SHORT_BYTES);
    while (i > soft && body[i] !== QUOTE) i--;
    if (body[i] !== QUOTE) i = body.lastIndexOf(QUOTE, i);
    let before = i - 1;
    while (body[before] === BACKSLASH) before--;
    if (((i - before) & 1) === 1) return i;
    i = before;
  }
}

/** Shorter strings stand in an abridged text as they are. */
const LONG_BYTES = 4_096;
/** Of a longer one. */
const HEAD_BYTES = 256;
const SAMPLE_BYTES = 16_384;

/**
 * An element as JSON text in which a digest stands for each long string: its first bytes, then `digest` of its first and
 * last 16 KiB and its length.
 */
export function abridged(
  body: Buffer,
  { start, end }: Range,
  digest: (...parts: Buffer[]) => string,
): string {
  const stop: Stop = { at: 0, expected: '', tooDeep: false };
  openBody();
  const pieces: Buffer[] = [];
  let from = start;
  for (let i = body.indexOf(QUOTE, start); i >= 0 && i < end; i = body.indexOf(QUOTE, i)) {
    const after = skipString(body, i + 1, stop);
    if (after < 0) break; // cannot be: the body is valid
    if (after - i > LONG_BYTES) {
      const head = body.subarray(i, headEnd(body, i + 1));
      const first = body.subarray(i, Math.min(after, i + SAMPLE_BYTES));
      const last = body.subarray(Math.max(i, after - SAMPLE_BYTES), after);
      pieces.push(body.subarray(from, i), head, Buffer.from(`${digest(first, last)} ${after - i}"`));
      from = after;
    }
    i = after;
  }
  pieces.push(body.subarray(from, end));
  return Buffer.concat(pieces).toString('utf8');
}

/** Where the head of a string ends: before an escape, and not within a character. */
function headEnd(body: Buffer, start: number): number {
  const escape = body.indexOf(BACKSLASH, start);
  const end = start + HEAD_BYTES;
  return escape >= 0 && escape < end ? escape : charStart(body, end);
}
