// Where the characters of a UTF-8 text begin, and where it stops being one.
import { isUtf8, type Buffer } from 'node:buffer';

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

function isContinuation(c: number | undefined): boolean {
  return c !== undefined && (c & 0xc0) === 0x80;
}
