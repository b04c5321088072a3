// Secrets at rest: AES-256-GCM under a key derived from the operator's salt key. Knows no database.
// A sealed text is bound to its place (the id of its row), so that rows cannot be exchanged unnoticed.
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import type { Secret } from '../../../config/secret.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Length of the salt that an owner of sealed texts stores beside them, bytes. */
export const SALT_BYTES = 16;
// OWASP's minimum for scrypt is N=2^17 for passwords typed by people; a master key is longer, and this runs once per
// start: N=2^15, r=8 takes about 60 ms and 32 MiB.
const SCRYPT = { N: 1 << 15, r: 8, p: 1, maxmem: 64 << 20 };

/** Seals and opens texts under one key. */
export interface Sealer {
  /** nonce, ciphertext, tag. */
  seal(text: string, place: string): Uint8Array;
  /** The text, or null when the key is another one or the bytes were changed. */
  open(sealed: Uint8Array, place: string): string | null;
}

/** Derives the key; costs about 60 ms, so make one per process. */
export function sealerOf(saltKey: Secret, salt: Uint8Array): Sealer {
  return sealerWith(scryptSync(saltKey.reveal(), salt, KEY_BYTES, SCRYPT));
}

/** Seals under a key of 32 random bytes as it is. */
export function sealerWith(key: Uint8Array): Sealer {
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(Buffer.from(place));
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, place) {
      if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
      const tagAt = sealed.length - TAG_BYTES;
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(sealed.subarray(tagAt));
      try {
        const text = decipher.update(sealed.subarray(NONCE_BYTES, tagAt));
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
