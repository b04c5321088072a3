// Names of members as texts that were made before: bodies and answers bring the same few names each time, and a text for each
// of them took 0.4 us with its hash.
import type { Buffer } from 'node:buffer';

/** A power of two. Clients choose names: one takes the place of another, and nothing grows. */
const PLACES = 512;
const LONGEST = 64;
const BACKSLASH = 0x5c;
const FIRST_BEYOND_ASCII = 0x80;

export class KnownNames {
  readonly #names: string[] = Array<string>(PLACES).fill('');

  /** The text of the bytes between two offsets; null where it holds an escape or is not ASCII, and so has to be decoded. */
  nameAt(bytes: Buffer, start: number, end: number): string | null {
    let hash = end - start;
    for (let i = start; i < end; i += 1) {
      const byte = bytes[i] as number;
      if (byte === BACKSLASH || byte >= FIRST_BEYOND_ASCII) return null;
      hash = (hash * 31 + byte) | 0;
    }
    const place = (hash ^ (hash >>> 9)) & (PLACES - 1);
    const known = this.#names[place] as string;
    if (isAt(bytes, start, end, known)) return known;
    const name = bytes.toString('latin1', start, end);
    if (name.length <= LONGEST) this.#names[place] = name;
    return name;
  }
}

function isAt(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i += 1) if (name.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
