// Finds a few members of a JSON text while it passes in pieces, and keeps nothing else: an event of a session may hold
// megabytes of audio. What is no JSON finds nothing; the upstream judges it.
import { Buffer } from 'node:buffer';
import { foldedName } from '../../../config/resolve/gateways/parameters.ts';

/** A member that was looked for. */
interface FoundMember {
  /** Names from the top, folded as those of bodies, with dots. */
  readonly path: string;
  /** `string`: decoded. `raw`: JSON as it stands; '' when it is longer than what is kept. */
  readonly kind: 'string' | 'raw';
  readonly text: string;
}

/** Members below this depth are not looked for. */
const DEEPEST = 2;
const MOST_KEY_BYTES = 256;
const MOST_VALUE_BYTES = 16_384;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Bytes that are kept while they come; too many are none. */
class Kept {
  #pieces: Buffer[] = [];
  #bytes = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#most) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(Buffer.from(piece));
  }

  /** null: there were too many. */
  get text(): string | null {
    return this.#bytes > this.#most ? null : Buffer.concat(this.#pieces).toString('utf8');
  }
}

type State =
  | { readonly is: 'between' }
  /** `kept` null: nobody wants it. */
  | { readonly is: 'string'; readonly role: 'key' | 'value'; readonly kept: Kept | null; isEscaped: boolean }
  /** Of a member that is looked for: a number, a word, an object, an array. */
  | {
      readonly is: 'raw';
      readonly path: string;
      readonly kept: Kept;
      depth: number;
      inString: boolean;
      isEscaped: boolean;
    };

const BETWEEN: State = { is: 'between' };

export class MemberScanner {
  readonly #wanted: ReadonlySet<string>;
  readonly #found: (member: FoundMember) => void;
  #state: State = BETWEEN;
  #depth = 0;
  /** Of the containers down to one below the deepest: whether each is an object. */
  #objects: boolean[] = [];
  /** Names of the members in which the scan stands. */
  #names: string[] = [];
  #expectsKey = false;

  /** @param wanted paths, at most two names deep */
  constructor(wanted: ReadonlySet<string>, found: (member: FoundMember) => void) {
    this.#wanted = wanted;
    this.#found = found;
  }

  /** Another text begins. */
  reset(): void {
    this.#state = BETWEEN;
    this.#depth = 0;
    this.#objects = [];
    this.#names = [];
    this.#expectsKey = false;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const state = this.#state;
      switch (state.is) {
        case 'between':
          at = this.#between(bytes, at);
          break;
        case 'string':
          at = this.#string(state, bytes, at);
          break;
        case 'raw':
          at = this.#raw(state, bytes, at);
          break;
      }
    }
  }

  get #path(): string {
    return this.#names.slice(0, this.#depth).join('.');
  }

  /** The value of a member that is looked for begins here. */
  get #isWanted(): boolean {
    return (
      !this.#expectsKey &&
      this.#depth > 0 &&
      this.#depth <= DEEPEST &&
      this.#objects.slice(0, this.#depth).every(Boolean) &&
      this.#wanted.has(this.#path)
    );
  }

  #between(bytes: Buffer, at: number): number {
    const byte = bytes[at] ?? 0;
    switch (byte) {
      case QUOTE:
        this.#state = { is: 'string', ...this.#stringHere(), isEscaped: false };
        return at + 1;
      case COMMA:
        this.#expectsKey = this.#isInObject;
        return at + 1;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#depth = Math.max(0, this.#depth - 1);
        this.#expectsKey = false;
        return at + 1;
      default:
    }
    if (byte === COLON || byte <= 0x20) return at + 1;
    if (this.#isWanted) {
      const kept = new Kept(MOST_VALUE_BYTES);
      this.#state = { is: 'raw', path: this.#path, kept, depth: 0, inString: false, isEscaped: false };
      return at;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT);
    return at + 1;
  }

  get #isInObject(): boolean {
    return this.#depth > 0 && this.#depth <= DEEPEST && this.#objects[this.#depth - 1] === true;
  }

  #open(isObject: boolean): void {
    if (this.#depth < DEEPEST) {
      this.#objects.length = this.#depth;
      this.#objects.push(isObject);
      this.#names.length = this.#depth;
      this.#names.push('');
    }
    this.#depth += 1;
    this.#expectsKey = this.#isInObject;
  }

  #stringHere(): { role: 'key' | 'value'; kept: Kept | null } {
    if (this.#expectsKey) return { role: 'key', kept: new Kept(MOST_KEY_BYTES) };
    return { role: 'value', kept: this.#isWanted ? new Kept(MOST_VALUE_BYTES) : null };
  }

  #string(state: Extract<State, { is: 'string' }>, bytes: Buffer, at: number): number {
    const from = at;
    while (at < bytes.length) {
      if (state.isEscaped) {
        state.isEscaped = false;
        at += 1;
        continue;
      }
      const quote = bytes.indexOf(QUOTE, at);
      const end = quote < 0 ? bytes.length : quote;
      const escape = bytes.subarray(at, end).indexOf(BACKSLASH);
      if (escape >= 0) {
        state.isEscaped = true;
        at += escape + 1;
        continue;
      }
      at = end;
      if (quote < 0) break;
      state.kept?.add(bytes.subarray(from, end));
      this.#state = BETWEEN;
      this.#stringEnded(state);
      return end + 1;
    }
    state.kept?.add(bytes.subarray(from, at));
    return at;
  }

  #stringEnded({ role, kept }: Extract<State, { is: 'string' }>): void {
    const text = kept === null ? null : decoded(kept.text);
    if (role === 'key') {
      this.#names[this.#depth - 1] = text === null ? '' : foldedName(text);
      this.#expectsKey = false;
    } else if (kept !== null)
      this.#found({ path: this.#path, kind: text === null ? 'raw' : 'string', text: text ?? '' });
  }

  #raw(state: Extract<State, { is: 'raw' }>, bytes: Buffer, at: number): number {
    const from = at;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (state.isEscaped) state.isEscaped = false;
      else if (state.inString) {
        if (byte === BACKSLASH) state.isEscaped = true;
        else if (byte === QUOTE) state.inString = false;
      } else if (byte === QUOTE) state.inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) state.depth += 1;
      else if (state.depth === 0 && (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)) {
        state.kept.add(bytes.subarray(from, at));
        this.#state = BETWEEN;
        this.#found({ path: state.path, kind: 'raw', text: (state.kept.text ?? '').trim() });
        return at;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) state.depth -= 1;
    }
    state.kept.add(bytes.subarray(from, at));
    return at;
  }
}

/** Between its quotes, as it stands -> what it means; null: it cannot be read. */
function decoded(text: string | null): string | null {
  if (text === null || !text.includes('\\')) return text;
  try {
    const value: unknown = JSON.parse(`"${text}"`);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
