// What the console gives a browser to keep: texts that only a proxy with the same master key can read or make, so that every
// worker and every replica knows a session without a table, and another master key ends all of them.
import { hkdfSync } from 'node:crypto';
import type { Secret } from '../../../config/secret.ts';
import { sealerWith, type Sealer } from '../../spend/store/seal.ts';

/** What a sealed text is for: one is no other. */
type Purpose = 'session' | 'sign-in';

/** Of this format; a text of another one does not open. */
const VERSION = 'throughline console 1';
const KEY_BYTES = 32;
/** Browsers keep 4,096 bytes a cookie. */
const MOST_CHARS = 3_800;

export class SessionSeal {
  #made: { readonly ofKey: string; readonly sealer: Sealer } | null = null;

  /** @throws RangeError when a browser would not keep it */
  seal(masterKey: Secret, purpose: Purpose, value: object): string {
    const sealed = this.#sealer(masterKey).seal(JSON.stringify(value), purpose);
    const text = Buffer.from(sealed).toString('base64url');
    if (text.length > MOST_CHARS) throw new RangeError(`a cookie of ${text.length} characters`);
    return text;
  }

  /** The value, or null for a text of another key, of another purpose, or of nobody. */
  open(masterKey: Secret, purpose: Purpose, text: string): unknown {
    if (text.length > MOST_CHARS || !/^[\w-]+$/.test(text)) return null;
    const opened = this.#sealer(masterKey).open(Buffer.from(text, 'base64url'), purpose);
    return opened === null ? null : (JSON.parse(opened) as unknown);
  }

  #sealer(masterKey: Secret): Sealer {
    const ofKey = masterKey.sha256();
    if (this.#made?.ofKey !== ofKey) {
      const key = hkdfSync('sha256', masterKey.reveal(), VERSION, 'cookies', KEY_BYTES);
      this.#made = { ofKey, sealer: sealerWith(new Uint8Array(key)) };
    }
    return this.#made.sealer;
  }
}
