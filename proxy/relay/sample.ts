// A bounded copy of the beginning of an answer, held while it runs: what its tokens are counted from if it ends without
// usage. The bytes are never recorded. A copy, since a chunk of the socket could pin 64 KiB for a few bytes.
import { Buffer } from 'node:buffer';
import type { Delivered } from '../protocols/text.ts';

/** Enough for some 75 events; longer streams are extrapolated, and their style does not change on the way. */
const MOST_BYTES = 16_384;
const FIRST_BYTES = 512;

export class Sample {
  #held: Buffer = Buffer.alloc(0);
  #heldBytes = 0;
  #bytes = 0;

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const wanted = Math.min(MOST_BYTES, this.#heldBytes + chunk.length);
    if (wanted === this.#heldBytes) return;
    if (wanted > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(MOST_BYTES, Math.max(FIRST_BYTES, 2 * wanted)));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#heldBytes, 0, wanted - this.#heldBytes);
    this.#heldBytes = wanted;
  }

  /** null when nothing came. */
  delivered(): Delivered | null {
    if (this.#bytes === 0) return null;
    return { form: 'events', head: this.#held.subarray(0, this.#heldBytes), bytes: this.#bytes };
  }
}
