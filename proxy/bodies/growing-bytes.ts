// A byte buffer that grows: for chunked bodies and other input of unknown length. Appending is linear in the bytes, however
// they are split; a list of one-byte pieces would take 100 bytes and more for each.
import { Buffer } from 'node:buffer';

const FIRST_BYTES = 4_096;

/** Its memory is at most twice what was appended, and 4 KiB at least. */
export class GrowingBytes {
  #memory: Buffer;
  #length = 0;

  /** @param memory what to fill first; it is replaced when it gets too small. */
  constructor(memory: Buffer = Buffer.alloc(0)) {
    this.#memory = memory;
  }

  get length(): number {
    return this.#length;
  }

  /** Appends a copy of `bytes[from, to)`. */
  append(bytes: Buffer, from = 0, to = bytes.length): void {
    const length = this.#length + to - from;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * length));
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    bytes.copy(this.#memory, this.#length, from, to);
    this.#length = length;
  }

  /** What has come so far; valid until the next `append`. */
  view(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }
}
