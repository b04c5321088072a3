// Where the characters of a UTF-8 text begin, and where it stops being one.
import { Buffer, isUtf8 } from 'node:buffer';

/** The start of the character that the byte at `limit` belongs to. */
export function charStart(body: Buffer, limit: number): number {
  let at = limit;
  while (at > limit - 3 && isContinuation(body[at])) at--;
  return at;
}

/** Offset of the first byte that cannot be part of a UTF-8 text. */
export function invalidUtf8At(body: Buffer): number {
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

/** Says of a text that comes in pieces whether it is UTF-8 so far. */
export class Utf8Pieces {
  /** The beginning of a character that was cut: at most three bytes. */
  #cut = Buffer.alloc(0);

  reset(): void {
    this.#cut = Buffer.alloc(0);
  }

  /** No character is cut. */
  get isWhole(): boolean {
    return this.#cut.length === 0;
  }

  /** @returns false: it is no UTF-8, whatever follows */
  push(piece: Buffer): boolean {
    const text = this.isWhole ? piece : Buffer.concat([this.#cut, piece]);
    const end = text.length - cutAtEnd(text);
    this.#cut = Buffer.from(text.subarray(end));
    return isUtf8(text.subarray(0, end));
  }
}

/** How many bytes at the end begin a character that is not whole. */
function cutAtEnd(text: Buffer): number {
  for (let back = 1; back <= Math.min(3, text.length); back++) {
    const byte = text[text.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return back < lengthOfChar(byte) ? back : 0;
  }
  return 0;
}

function lengthOfChar(first: number): number {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

function isContinuation(c: number | undefined): boolean {
  return c !== undefined && (c & 0xc0) === 0x80;
}

/** Without the mark that some servers put before JSON, and a reader may pass over (RFC 8259 section 8.1). */
export const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
