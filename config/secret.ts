// A value that must never be printed: keys, tokens, header values from the environment. Only reveal() returns the text,
// so a search for `reveal(` lists every place that uses a secret.
import { hash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

const MASK = '[secret]';

/** An opaque secret string: `toString`, `toJSON` and `inspect` print `[secret]`. */
export class Secret {
  readonly #value: string;
  readonly #digest: Buffer;
  readonly #hex: string;

  constructor(value: string) {
    this.#value = value;
    this.#digest = hash('sha256', value, 'buffer');
    this.#hex = this.#digest.toString('hex');
  }

  /** The text itself. Call it only where the secret is sent or used as a cipher key. */
  reveal(): string {
    return this.#value;
  }

  /** Compares SHA-256 digests in constant time, so that timing reveals neither content nor length. */
  equals(candidate: string): boolean {
    return this.hasDigest(hash('sha256', candidate, 'buffer'));
  }

  /** The same for a candidate that is compared with several secrets. @param digest its SHA-256 */
  hasDigest(digest: Buffer): boolean {
    return timingSafeEqual(this.#digest, digest);
  }

  /** Lower-case hex SHA-256: spend records store it as `api_key`, as LiteLLM does. */
  sha256(): string {
    return this.#hex;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
