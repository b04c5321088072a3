// The digest by which a credential is known, remembered for the one that a connection sent last.
import { hash } from 'node:crypto';

/**
 * Of one connection: its client sends the same credential with each request, and a digest takes 3 us. That it is the same says
 * nothing that its sender does not know; which key it is, is decided by the digest each time.
 */
export class CredentialDigest {
  #credential: string | null = null;
  #hex = '';

  /** SHA-256 in lower-case hex digits. */
  of(credential: string): string {
    if (credential !== this.#credential) {
      this.#hex = hash('sha256', credential, 'hex');
      this.#credential = credential;
    }
    return this.#hex;
  }
}
