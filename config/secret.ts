// A value that must never be printed: keys, tokens, header values that came from the environment. The text is
// reachable only through reveal(), so a grep for `reveal(` lists every place where a secret leaves its box.
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

  /** The text itself. Call it only where the secret is put on a wire or into a cipher. */
  reveal(): string {
    return this.#value;
  }

  /** Constant-time comparison of SHA-256 digests, so that neither content nor length can be timed. */
  equals(candidate: string): boolean {
    return timingSafeEqual(this.#digest, hash('sha256', candidate, 'buffer'));
  }

  /** Lower-case hex SHA-256: what spend records carry as `api_key` (the dialect's own form). */
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
