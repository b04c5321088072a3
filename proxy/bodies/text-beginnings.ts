// Beginnings of texts that a scan looks for in the values of a body, at any depth: it comes by each of them anyway, while a search of
// the bytes takes longer than the scan. A text that is written with escapes is not found.
import { Buffer } from 'node:buffer';

export class TextBeginnings {
  readonly #beginnings: readonly Buffer[];
  /** By byte: 1 = one of them begins with it. A body has many texts, and hardly one begins so. */
  readonly #firsts = new Uint8Array(256);

  constructor(beginnings: readonly string[]) {
    this.#beginnings = beginnings.map((text) => Buffer.from(text));
    for (const beginning of this.#beginnings) this.#firsts[beginning[0] ?? 0] = 1;
  }

  /** Whether the text that begins at `at` begins with one of them. */
  standAt(body: Buffer, at: number): boolean {
    return this.#firsts[body[at] ?? 0] === 1 && this.#beginnings.some((one) => isAt(body, at, one));
  }
}

function isAt(body: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (body[at + i] !== text[i]) return false;
  return true;
}
