// The outline of a JSON object that is too large to be kept: some of its members, read while it passes in pieces. Whatever
// arrives, its memory is bounded and its time linear; the strings that make an event large are skipped with native code. What
// is left out is not validated.
import { Buffer } from 'node:buffer';

/** What is kept of a member: all of it; of the objects in it, their wanted members; nothing. */
export type Kept = 'all' | 'members' | null;

/** @param level brackets around the member: 1 = it is one of the object itself */
export type Wanted = (name: string, level: number) => Kept;

const MOST_BYTES = 32_768;
/** Longer strings are cut: ids of gateways take a few hundred. */
const MOST_STRING_BYTES = 4_096;
const CUT = Buffer.from('...');
/** Inside a string one looks at each byte for so long, then searches for the next quote with native code. */
const SHORT_BYTES = 48;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

export class Outline {
  readonly #wanted: Wanted;
  readonly #text: Buffer;
  #bytes = 0;
  /** The closing brackets that are owed, innermost last; of what is kept alone. */
  readonly #closers: number[] = [];
  #is: 'open' | 'whole' | 'broken' = 'open';
  #inString = false;
  /** The byte before was a backslash that begins an escape. */
  #isEscaped = false;
  #expectsKey = false;
  /** A number or word has begun. */
  #inWord = false;
  /** Of the string that is being read. */
  #string: 'kept' | 'cut' | 'skipped' = 'kept';
  /** Where it begins in the text, and where the text ended before it and its comma. */
  #stringStart = 0;
  #mark = 0;
  /** A value is skipped, and so many brackets were opened in it. */
  #isSkipping = false;
  #skippedDepth = 0;
  /** All is kept below this level. */
  #allBelow = Infinity;

  /** @param wanted asked for each name, but not for those in what is kept whole or left out @param mostBytes of the outline */
  constructor(wanted: Wanted, mostBytes = MOST_BYTES) {
    this.#wanted = wanted;
    this.#text = Buffer.allocUnsafe(mostBytes);
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#is === 'open';) {
      if (this.#inString) at = this.#readString(bytes, at);
      else if (this.#isSkipping) at = this.#skip(bytes, at);
      else this.#read(bytes[at++] ?? 0);
    }
  }

  /** JSON; null when the object is not whole, is none, or has an outline that is too large. */
  text(): string | null {
    return this.#is === 'whole' ? this.#text.toString('utf8', 0, this.#bytes) : null;
  }

  #read(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#mark = this.#bytes;
        this.#begin(byte);
        this.#stringStart = this.#bytes - 1;
        this.#inString = true;
        this.#string = 'kept';
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.#begin(byte);
        this.#closers.push(byte + 2); // '{' + 2 is '}', '[' + 2 is ']'
        this.#expectsKey = byte === OPEN_BRACE;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (this.#closers.pop() !== byte) this.#is = 'broken';
        this.#put(byte);
        this.#expectsKey = this.#inWord = false;
        if (this.#closers.length < this.#allBelow) this.#allBelow = Infinity;
        if (this.#closers.length === 0 && this.#is === 'open') this.#is = 'whole';
        break;
      case COMMA:
        this.#expectsKey = this.#closers.at(-1) === CLOSE_BRACE;
        this.#inWord = false;
        break;
      default:
        if (byte <= 0x20 || byte === COLON) this.#inWord = false;
        else if (this.#inWord) this.#put(byte);
        else {
          this.#begin(byte);
          this.#inWord = true;
        }
    }
  }

  /** The first byte of a name or of a value, with the comma that it needs. */
  #begin(byte: number): void {
    if (this.#closers.length === 0 && byte !== OPEN_BRACE) this.#is = 'broken';
    const last = this.#text[this.#bytes - 1];
    const isFirst = this.#bytes === 0 || last === OPEN_BRACE || last === OPEN_BRACKET || last === COLON;
    if (!isFirst) this.#put(COMMA);
    this.#put(byte);
  }

  #put(byte: number): void {
    if (this.#bytes === this.#text.length) this.#is = 'broken';
    else this.#text[this.#bytes++] = byte;
  }

  /** @returns where to read on: behind the string, or at the end of the bytes */
  #readString(bytes: Buffer, from: number): number {
    let start = from;
    if (this.#isEscaped) start += 1;
    this.#isEscaped = false;
    let at = start;
    const soft = Math.min(bytes.length, start + SHORT_BYTES);
    while (at < soft && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at += 1;
    for (;;) {
      const quote = bytes[at] === QUOTE ? at : bytes.indexOf(QUOTE, at);
      const end = quote < 0 ? bytes.length : quote;
      let escapes = end;
      while (escapes > start && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
      const isEscaped = ((end - escapes) & 1) === 1;
      if (quote < 0 || !isEscaped) {
        this.#copy(bytes, from, end);
        if (quote < 0) this.#isEscaped = isEscaped;
        else this.#endString();
        return quote < 0 ? end : end + 1;
      }
      start = at = end + 1;
    }
  }

  #copy(bytes: Buffer, from: number, to: number): void {
    if (this.#string !== 'kept') return;
    if (this.#bytes - this.#stringStart + to - from > MOST_STRING_BYTES) {
      this.#string = 'cut';
      this.#bytes = this.#stringStart + 1;
      for (const byte of CUT) this.#put(byte);
    } else if (this.#bytes + to - from > this.#text.length) this.#is = 'broken';
    else this.#bytes += bytes.copy(this.#text, this.#bytes, from, to);
  }

  #endString(): void {
    this.#inString = false;
    if (this.#string === 'skipped') return;
    this.#put(QUOTE);
    if (this.#expectsKey && this.#is === 'open') this.#endKey();
  }

  #endKey(): void {
    this.#expectsKey = false;
    const level = this.#closers.length;
    if (level <= this.#allBelow) {
      const name = decoded(this.#text.toString('utf8', this.#stringStart, this.#bytes));
      const kept = name === null ? null : this.#wanted(name, level);
      this.#allBelow = kept === 'all' ? level : Infinity;
      if (kept === null) {
        this.#bytes = this.#mark;
        this.#isSkipping = true;
        return;
      }
    }
    this.#put(COLON);
  }

  /** Over a value that is left out. @returns where to read on */
  #skip(bytes: Buffer, at: number): number {
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.#inString = true;
        this.#string = 'skipped';
        return at + 1;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#skippedDepth += 1;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (this.#skippedDepth === 0) break;
        this.#skippedDepth -= 1;
      } else if (byte === COMMA && this.#skippedDepth === 0) break;
    }
    if (at < bytes.length) this.#isSkipping = false;
    return at;
  }
}

/** @param text with its quotes; null: it is no string of JSON */
function decoded(text: string): string | null {
  try {
    return String(JSON.parse(text));
  } catch {
    return null;
  }
}
