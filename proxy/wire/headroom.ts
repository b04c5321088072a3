// Bodies with room before them. A large body is copied once, off the socket, into memory with some bytes to spare at
// its front; splice.ts then changes it in place by moving what is short - mostly the few bytes before `messages` -
// instead of copying half a megabyte (and asking V8 to account for it: that alone was 0.3 ms of garbage collection).
import { Buffer } from 'node:buffer';

/** Enough for a longer model name and an added member; what needs more is copied. */
const HEADROOM_BYTES = 1024;

const HEADROOM = Symbol('headroom');

type Roomy = Buffer & { [HEADROOM]?: number };

/** Uninitialised memory of `size` bytes with room before it. It may be changed in place: give it to one owner only. */
export function roomyBuffer(size: number): Buffer {
  const body: Roomy = Buffer.allocUnsafeSlow(HEADROOM_BYTES + size).subarray(HEADROOM_BYTES);
  body[HEADROOM] = HEADROOM_BYTES;
  return body;
}

/** Bytes before `body` in the same memory that nobody uses; 0 for any other Buffer. */
export function headroomOf(body: Roomy): number {
  return body[HEADROOM] ?? 0;
}
