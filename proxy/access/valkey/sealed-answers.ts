// Answers as they lie in Valkey: encrypted with a key that is made of the caller's idempotency key, which Valkey never
// sees. Who reads the memory of Valkey reads no answer.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;

export class AnswerSeal {
  /** Names the key in Valkey; says nothing about it. */
  readonly name: string;
  readonly #key: Buffer;

  constructor(idempotencyKey: string) {
    const made = Buffer.from(hkdfSync('sha256', idempotencyKey, '', 'throughline idempotency', 64));
    this.name = made.subarray(0, 32).toString('hex');
    this.#key = made.subarray(32);
  }

  seal(plain: Buffer): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws Error when it is not what was sealed */
  open(sealed: Buffer): Buffer {
    const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, IV_BYTES));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
  }
}
