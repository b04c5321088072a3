// Heads of HTTP/1.x messages: bytes -> start line and header list (RFC 9112). Strict, because a proxy that reads a
// request otherwise than its neighbours can be used to smuggle one: lines end in CRLF only, a name is a token followed
// by its colon, nothing is folded, nothing is repaired. Pure.
import { FIELD_NAME } from '../../config/resolve/headers.ts';
import { GrowingBytes } from './growing-bytes.ts';

/** The bytes are no HTTP/1.x message; the text says what is wrong with them. */
export class BadMessage extends Error {
  override readonly name: string = 'BadMessage';
}

/** The head is longer than is taken. */
export class HeadTooLong extends BadMessage {
  override readonly name = 'HeadTooLong';
}

/** The header fields of a message, with those that say how it is framed. */
export interface Fields {
  /** Name, value, name, value, ...: names as sent, values (one character per byte) without the white space around. */
  readonly list: readonly string[];
  /** -1 = none. */
  readonly contentLength: number;
  /** As sent, several joined by commas; null = none. */
  readonly transferEncoding: string | null;
  readonly connection: string | null;
  readonly expect: string | null;
  readonly keepAlive: string | null;
}

export interface RequestHead extends Fields {
  readonly method: string;
  /** As sent; not checked here. */
  readonly target: string;
  /** `1.1`, `1.0`, or whatever was claimed. */
  readonly version: string;
}

export interface AnswerHead extends Fields {
  readonly status: number;
  /** The reason phrase as sent. */
  readonly text: string;
  readonly version: string;
}

/** A head that drips in is looked at so far after each drop; more would cost time in the square of its length. */
const BEGINNING_BYTES = 2_048;
const END = '\r\n\r\n';
const ANSWER = 'HTTP/1.';
const LINE_END = '\r\n';
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
/** Controls other than tab, CR and LF; CR and LF where they are no line end. */
// eslint-disable-next-line no-control-regex
const NO_TEXT = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
/** RFC 9110 section 9 and PATCH; which of them a route takes is the route's to say. */
const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'POST',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PUT',
  'PATCH',
  'CONNECT',
  'TRACE',
]);
const DIGITS = /^\d{1,15}$/;
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([^ \t]+) HTTP\/(\d\.\d)$/;
const STATUS_LINE = /^HTTP\/(1\.[01]) ([1-9]\d\d)(?: (.*))?$/;
/** How an unfinished request begins; what does not is told so at once instead of when its time is over. */
const BEGINS = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}|[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [^]*)$/;

/** Cuts the head off the front of a message that comes in pieces. */
export class HeadCutter {
  readonly #mostBytes: number;
  #kept: GrowingBytes | null = null;
  #text = '';

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes of an unfinished head are held. */
  get begun(): boolean {
    return this.#kept !== null;
  }

  /** The head that was cut: its lines, each with its CRLF, without the empty one. One character per byte. */
  get text(): string {
    return this.#text;
  }

  /**
   * Takes the bytes from `at`. @returns the offset behind the head's empty line, or -1 when it has not come yet; then
   * all bytes were taken. @throws HeadTooLong
   */
  push(bytes: Buffer, at: number): number {
    if (this.#kept === null) {
      const end = bytes.indexOf(END, at, 'latin1');
      if (end >= 0) return this.#cut(bytes, at, end + 2, end + END.length);
      this.#kept = new GrowingBytes();
    }
    const kept = this.#kept;
    const before = kept.length;
    kept.append(bytes, at);
    const end = kept.view().indexOf(END, Math.max(0, before - END.length + 1), 'latin1');
    if (end < 0) {
      if (kept.length > this.#mostBytes) throw this.#tooLong();
      return -1;
    }
    this.#kept = null;
    return this.#cut(kept.view(), 0, end + 2, at + end + END.length - before);
  }

  /** The unfinished head so far, its first 2 KiB. */
  beginning(): string {
    return this.#kept?.view().toString('latin1', 0, BEGINNING_BYTES) ?? '';
  }

  #cut(bytes: Buffer, from: number, to: number, next: number): number {
    if (to - from > this.#mostBytes) throw this.#tooLong();
    this.#text = bytes.toString('latin1', from, to);
    return next;
  }

  #tooLong(): HeadTooLong {
    return new HeadTooLong(`The headers are longer than ${this.#mostBytes} bytes.`);
  }
}

/** Reads a head as `HeadCutter` cuts it. @throws BadMessage */
export function readRequestHead(text: string): RequestHead {
  const lineEnd = text.indexOf(LINE_END);
  const line = REQUEST_LINE.exec(text.slice(0, lineEnd));
  if (line === null) throw new BadMessage('The request line is malformed.');
  const [, method = '', target = '', version = ''] = line;
  if (!METHODS.has(method)) throw new BadMessage('The method is not known.');
  return { method, target, version, ...readFields(text, lineEnd + 2) };
}

/** Reads the head of an answer. @throws BadMessage */
export function readAnswerHead(text: string): AnswerHead {
  const lineEnd = text.indexOf(LINE_END);
  const line = STATUS_LINE.exec(text.slice(0, lineEnd));
  if (line === null) throw new BadMessage('The status line is malformed.');
  const [, version = '', status = '', phrase = ''] = line;
  return { status: Number(status), text: phrase, version, ...readFields(text, lineEnd + 2) };
}

/** @throws BadMessage when what has come of a request can no longer become one. */
export function checkBeginning(beginning: string): void {
  const text = withoutLastCr(beginning);
  if (!BEGINS.test(text) || NO_TEXT.test(text))
    throw new BadMessage('This is not the beginning of a request.');
}

/** @throws BadMessage when what has come of an answer can no longer become one. */
export function checkAnswerBeginning(beginning: string): void {
  const isOne = beginning.startsWith(ANSWER) || ANSWER.startsWith(beginning);
  if (!isOne || NO_TEXT.test(withoutLastCr(beginning)))
    throw new BadMessage('This is not the beginning of an answer.');
}

/** Reads header (or trailer) lines from `at` to the end of `text`. @throws BadMessage */
export function readFields(text: string, at: number): Fields {
  if (NO_TEXT.test(text))
    throw new BadMessage('The head holds control characters, or a line that ends in no CRLF.');
  const list: string[] = [];
  let contentLength = -1;
  let transferEncoding: string | null = null;
  let connection: string | null = null;
  let expect: string | null = null;
  let keepAlive: string | null = null;
  while (at < text.length) {
    const end = text.indexOf(LINE_END, at);
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon > end) throw new BadMessage('A header line has no colon.');
    const name = text.slice(at, colon);
    if (!FIELD_NAME.test(name)) throw new BadMessage('A header name is malformed.');
    let from = colon + 1;
    let to = end;
    while (from < to && isBlank(text.charCodeAt(from))) from += 1;
    while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
    const value = text.slice(from, to);
    list.push(name, value);
    at = end + 2;
    // The lengths of the five names that matter here; most others are passed over by this alone.
    switch (name.length) {
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (contentLength >= 0) throw new BadMessage('There is more than one Content-Length.');
        if (!DIGITS.test(value)) throw new BadMessage('Content-Length is no number.');
        contentLength = Number(value);
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        // llhttp takes `chunked` before a tab for another coding: two parsers, two bodies.
        if (text.slice(to, end).includes('\t')) throw new BadMessage('Transfer-Encoding ends in a tab.');
        transferEncoding = joined(transferEncoding, value);
        break;
      case 10:
        if (name.toLowerCase() === 'connection') connection = joined(connection, value);
        else if (name.toLowerCase() === 'keep-alive') keepAlive = value;
        break;
      case 6:
        if (name.toLowerCase() === 'expect') expect = joined(expect, value);
        break;
      default:
    }
  }
  if (contentLength >= 0 && transferEncoding !== null)
    throw new BadMessage('Content-Length and Transfer-Encoding exclude each other.');
  return { list, contentLength, transferEncoding, connection, expect, keepAlive };
}

/** Whether the connection goes on after this message (RFC 9112 section 9.3). */
export function persists(version: string, connection: string | null): boolean {
  if (connection === null) return version === '1.1';
  return version === '1.1' ? !CLOSE.test(connection) : KEEP.test(connection) && !CLOSE.test(connection);
}

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/** Passes over the empty lines that may stand before a request (RFC 9112 section 2.2), wherever they are cut. */
export class EmptyLines {
  #afterCr = false;

  /** @returns the offset of the first byte that belongs to no empty line. @throws BadMessage for a CR alone */
  skip(bytes: Buffer, at: number): number {
    let from = at;
    while (from < bytes.length && bytes[from] === (this.#afterCr ? LF : CR)) {
      this.#afterCr = !this.#afterCr;
      from += 1;
    }
    if (this.#afterCr && from < bytes.length) throw new BadMessage('A line ends in CR alone.');
    return from;
  }
}

/** The CR at the end of what has come may be half a line end. */
const withoutLastCr = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text);
const isBlank = (code: number): boolean => code === SPACE || code === TAB;
const joined = (before: string | null, value: string): string =>
  before === null ? value : `${before},${value}`;
