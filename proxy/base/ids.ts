// Call ids: UUIDv7 (RFC 9562 section 5.7), so that rows sort by the time their calls arrived; within a millisecond by a counter
// (section 6.2, method 1).
import { randomFillSync } from 'node:crypto';

const DIGITS = Buffer.from('0123456789abcdef');
const COUNTER_BITS = 0x0fff;
const POOL_BYTES = 4096; // one call into the kernel per 400 ids
const RANDOM_BYTES = 10;

/** Makes ids from its own pool of random bytes. One per process. */
export class CallIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  /** The id is written here, digit by digit: put together from texts it would leave some 700 bytes behind. */
  readonly #text = Buffer.from('00000000-0000-7000-8000-000000000000');
  #at = POOL_BYTES;
  #ms = -1;
  #counter = 0;

  /** A new UUIDv7 for the given epoch milliseconds. It sorts behind those of the same one, up to 2,048 of them at least. */
  next(nowMs: number): string {
    if (this.#at + RANDOM_BYTES > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#at = 0;
    }
    const pool = this.#pool;
    const at = this.#at;
    this.#at += RANDOM_BYTES;
    // Begins in the lower half, so that there is room to count.
    const begin = pool.readUInt16BE(at) & 0x07ff;
    this.#counter = nowMs === this.#ms ? (this.#counter + 1) & COUNTER_BITS : begin;
    this.#ms = nowMs;
    this.#write(0, 8, Math.floor(nowMs / 0x1_0000));
    this.#write(9, 4, nowMs & 0xffff);
    this.#write(15, 3, this.#counter);
    this.#write(19, 4, 0x8000 | (pool.readUInt16BE(at + 2) & 0x3fff)); // the variant
    this.#write(24, 4, pool.readUInt16BE(at + 4));
    this.#write(28, 8, pool.readUInt32BE(at + 6));
    return this.#text.toString('latin1');
  }

  /** Writes the last `count` hex digits of a value. */
  #write(at: number, count: number, value: number): void {
    for (let i = at + count - 1, rest = value; i >= at; i -= 1, rest >>>= 4)
      this.#text[i] = DIGITS[rest & 0xf] as number;
  }
}
