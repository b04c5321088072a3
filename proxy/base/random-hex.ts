// Random ids in hex, from a pool: one call into the kernel per 256 ids instead of one each.
import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 4096;

/** One per process. */
export class RandomHex {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #at = POOL_BYTES;

  /** So many random bytes as lower-case hex, two digits each. */
  next(bytes: number): string {
    if (this.#at + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#at = 0;
    }
    const from = this.#at;
    this.#at += bytes;
    return this.#pool.toString('hex', from, this.#at);
  }
}
