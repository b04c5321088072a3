// What is kept of an answer or event that is too large to be kept whole: its first and last bytes, and what can be
// read from these for certain. Memory is bounded whatever arrives. Used by json-tap.ts and sse-event.ts.
import { Buffer } from 'node:buffer';
import { peek, readJson, type Wanted } from './peek.ts';

const HEAD_BYTES = 16_384;
const TAIL_BYTES = 65_536;
/** Deepest answer that is looked into. */
export const ANSWER_DEPTH = 512;
const MOST_TRIES = 8;
/** A `type` or `code` is an identifier; anything else could be a sentence that quotes a prompt. */
const IDENTIFIER = /^[\w.:-]{1,64}$/;

type Json = Readonly<Record<string, unknown>>;

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

  /** The first bytes as text; a character cut at the end becomes U+FFFD. */
  head(): string {
    return this.#head.toString('utf8', 0, this.#headBytes);
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
    peek(bytes, wanted, ANSWER_DEPTH).members.map((one) => [one.name, readJson(bytes, one)]),
  );
}

/**
 * The `usage` object that stands in the last part of a JSON object.
 * @param opening what the member stands in: `{` for the top level, `{"response":{` for a level below. The text from the
 * member on must complete it to a JSON text, which only a member of just that level does; so a `usage` inside a tool's
 * arguments or a text is not taken for it.
 */
export function usageInTail(tail: string, opening: '{' | '{"response":{'): Json | null {
  let at = tail.length;
  for (let tries = 0; tries < MOST_TRIES && at > 0; tries++) {
    at = tail.lastIndexOf('"usage"', at - 1);
    if (at === -1) return null;
    const whole = parseObject(opening + tail.slice(at));
    const holder = opening === '{' ? whole : objectIn(whole, 'response');
    const usage = objectIn(holder, 'usage');
    if (usage !== null) return usage;
  }
  return null;
}

/** The object that a JSON text is, else null. */
export function parseObject(text: string): Json | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The value, if it is an object and no array. */
export function asObject(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

/** The member `key`, if it is an object and no array. */
export function objectIn(holder: Json | null, key: string): Json | null {
  return holder === null ? null : asObject(holder[key]);
}

/** The member `key`, if it is a text with something in it. */
export function textIn(holder: Json | null, key: string): string | null {
  const value = holder?.[key];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The member `key` as an identifier such as an error's type or code (numbers included); null for any other text. */
export function identifierIn(holder: Json | null, key: string): string | null {
  const value = holder?.[key];
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && IDENTIFIER.test(text) ? text : null;
}
