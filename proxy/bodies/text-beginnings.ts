// Beginnings of texts that a scan looks for in the values of a body, at any depth: it comes by each of them anyway, while a search of
// the bytes takes longer than the scan. A text that is written with escapes is not found.
import { Buffer } from 'node:buffer';

/** Those of one first byte. */
interface Group {
  /** What all of them have in common. */
  readonly common: Buffer;
  readonly beginnings: readonly Buffer[];
}

export class TextBeginnings {
  /** By first byte. A body has many texts, and hardly one begins so. */
  readonly #groups: readonly (Group | null)[];

  constructor(beginnings: readonly string[]) {
    const all = beginnings.map((text) => Buffer.from(text));
    this.#groups = Array.from({ length: 256 }, (_, first) => groupOf(all.filter(([byte]) => byte === first)));
  }

  /** Whether the text that begins at `at` begins with one of them. */
  standAt(body: Buffer, at: number): boolean {
    const group = this.#groups[body[at] ?? 0] ?? null;
    if (group === null || !isAt(body, at, group.common)) return false;
    return group.beginnings.some((one) => isAt(body, at, one));
  }
}

function groupOf(beginnings: readonly Buffer[]): Group | null {
  const [first, ...others] = beginnings;
  if (first === undefined) return null;
  let length = first.length;
  while (!others.every((one) => isAt(one, 0, first.subarray(0, length)))) length -= 1;
  return { common: first.subarray(0, length), beginnings };
}

function isAt(body: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (body[at + i] !== text[i]) return false;
  return true;
}
