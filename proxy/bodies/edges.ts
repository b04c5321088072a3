// The first and last bytes of a response that is too large to be kept whole. Memory is bounded whatever arrives.
import { Buffer } from 'node:buffer';
import { RESPONSE_DEPTH, objectIn, parseObject, type Json } from './json.ts';
import { peek } from './peek.ts';
import { readJson, type Wanted } from './members.ts';

const HEAD_BYTES = 16_384;
const TAIL_BYTES = 65_536;
const MOST_TRIES = 8;

/** The first 16 KiB and the last 64 KiB of a run of bytes; copies, so that no socket buffer is held. */
export class Edges {
  readonly #head = Buffer.allocUnsafe(HEAD_BYTES);
  // Twice the tail: bytes are moved down once per 64 KiB, so time stays linear for chunks of one byte.
  readonly #tail = Buffer.allocUnsafe(2 * TAIL_BYTES);
  #headBytes = 0;
  #tailBytes = 0;

  push(bytes: Buffer): void {
    const intoHead = bytes.copy(this.#head, this.#headBytes);
    this.#headBytes += intoHead;
    const rest = bytes.subarray(Math.max(intoHead, bytes.length - TAIL_BYTES));
    if (this.#tailBytes + rest.length > this.#tail.length) {
      this.#tail.copyWithin(0, this.#tailBytes - TAIL_BYTES, this.#tailBytes);
      this.#tailBytes = TAIL_BYTES;
    }
    this.#tailBytes += rest.copy(this.#tail, this.#tailBytes);
  }

  /** The first bytes; a view. */
  first(): Buffer {
    return this.#head.subarray(0, this.#headBytes);
  }

  /** They as text; a character cut at the end becomes U+FFFD. */
  head(): string {
    return this.first().toString('utf8');
  }

  /** The last bytes (without those of the head) as text; a character cut at the start becomes U+FFFD. */
  tail(): string {
    return this.#tail.toString('utf8', Math.max(0, this.#tailBytes - TAIL_BYTES), this.#tailBytes);
  }
}

/** The wanted top-level members that stand whole in the first part of a JSON object. */
export function membersOfHead(head: string, wanted: Wanted): Json {
  const bytes = Buffer.from(head);
  return Object.fromEntries(
    peek(bytes, wanted, RESPONSE_DEPTH).members.map((one) => [one.name, readJson(bytes, one)]),
  );
}

/**
 * The object that stands at `path` in the last part of a JSON object. The text from the member on must complete
 * the levels above it to a JSON text, which only a member of just that level does; so one of the same name inside a
 * tool's arguments or a text is not taken for it.
 * @param path names of members, outermost first
 */
export function objectInTail(tail: string, path: readonly string[]): Json | null {
  const above = path.slice(0, -1);
  const opening = `{${above.map((name) => `${JSON.stringify(name)}:{`).join('')}`;
  const key = JSON.stringify(path.at(-1));
  let at = tail.length;
  for (let tries = 0; tries < MOST_TRIES && at > 0; tries++) {
    at = tail.lastIndexOf(key, at - 1);
    if (at === -1) return null;
    const found = path.reduce(objectIn, parseObject(opening + tail.slice(at)));
    if (found !== null) return found;
  }
  return null;
}
