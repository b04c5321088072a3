// What the brake remembers of a conversation: keyed digests, never text. The key is made at the start of the process and
// lives in memory alone, so a digest says nothing to who reads it, not even whether it is that of a text they guess.
import { createHmac, randomBytes } from 'node:crypto';
import type { Buffer } from 'node:buffer';

/** 48 bits: a number holds them exactly, and 20 of them in one list are all different but once in 10^12 lists. */
const BYTES = 6;

export class Digests {
  readonly #key = randomBytes(32);

  /** Never 0, which stands for none. HMAC-SHA-256, cut. @param kind keeps equal texts of different kinds apart */
  of(kind: string, ...parts: readonly (string | Buffer)[]): number {
    const hmac = createHmac('sha256', this.#key).update(kind);
    for (const part of parts) hmac.update(`\n${part.length}\n`).update(part);
    return hmac.digest().readUIntBE(0, BYTES) || 1;
  }

  readonly hex = (...parts: readonly (string | Buffer)[]): string =>
    this.of('text', ...parts)
      .toString(16)
      .padStart(2 * BYTES, '0');
}
