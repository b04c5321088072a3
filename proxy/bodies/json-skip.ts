// Skips the tokens of JSON over bytes, validating them by RFC 8259 as strictly as JSON.parse does: nothing is built, each
// byte is read once. The tokens of peek.ts, which knows how they nest; it expects valid UTF-8 and never quotes the body.
import type { Buffer } from 'node:buffer';
import { StringScan } from './string-scan.ts';

/** Where and why a skip ended early; the functions below fill it in and return -1. */
export interface Stop {
  at: number;
  /** What was expected there, for a sentence. */
  expected: string;
  tooDeep: boolean;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function stopAt(stop: Stop, at: number, expected: string): -1 {
  stop.at = at;
  stop.expected = expected;
  return -1;
}

/** The offset of the first byte from `i` on that is no white space. */
export function skipSpace(body: Buffer, i: number): number {
  while (i < body.length) {
    const c = body[i] as number;
    if (c > SPACE || (c !== SPACE && c !== 0x0a && c !== 0x0d && c !== 0x09)) break;
    i++;
  }
  return i;
}

/** Strings are left to the wide scan after this many bytes: a call into it and its copy cost as much as 50 bytes here. */
const SHORT_BYTES = 64;
const LONG_STRINGS = new StringScan();

/** Forgets the body before; see StringScan. */
export function openBody(): void {
  LONG_STRINGS.open();
}

/**
 * Skips what is left of a string. @param i inside of it, and not inside an escape
 * @returns the offset after its closing quote; -1: all before `stop.at` is fine, from where it can go on with a longer body
 */
export function skipString(body: Buffer, i: number, stop: Stop): number {
  const end = body.length;
  let soft = Math.min(end, i + SHORT_BYTES);
  for (;;) {
    let c = 0;
    // Letters first: most bytes of a prompt are letters, and one comparison passes them.
    while (
      i < soft &&
      ((c = body[i] as number) > BACKSLASH || (c > QUOTE && c < BACKSLASH) || c === 0x20 || c === 0x21)
    ) {
      i++;
    }
    if (i >= soft) {
      if (soft === end) return stopAt(stop, end, 'the end of a string');
      const after = LONG_STRINGS.skip(body, i);
      if (after >= 0) return after;
      i = ~after;
      soft = end;
      continue;
    }
    if (c === QUOTE) return i + 1;
    if (c !== BACKSLASH) return stopAt(stop, i, 'an escape in place of the raw control character');
    const next = skipEscape(body, i);
    if (next < 0) return stopAt(stop, i, 'a valid escape');
    i = next;
  }
}

function skipEscape(body: Buffer, i: number): number {
  switch (body[i + 1] ?? -1) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return i + 2;
    case 0x75: // u
      return isHex(body[i + 2]) && isHex(body[i + 3]) && isHex(body[i + 4]) && isHex(body[i + 5])
        ? i + 6
        : -1;
    default:
      return -1;
  }
}

function isHex(c: number | undefined): boolean {
  if (c === undefined) return false;
  return isDigit(c) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x66);
}

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
}

function skipDigits(body: Buffer, i: number): number {
  while (isDigit(body[i])) i++;
  return i;
}

function skipNumber(body: Buffer, i: number, stop: Stop): number {
  if (body[i] === 0x2d) i++;
  if (!isDigit(body[i])) return stopAt(stop, i, 'a value');
  i = body[i] === 0x30 ? i + 1 : skipDigits(body, i);
  if (body[i] === 0x2e) {
    if (!isDigit(body[i + 1])) return stopAt(stop, i + 1, 'a digit after the decimal point');
    i = skipDigits(body, i + 1);
  }
  if (body[i] === 0x65 || body[i] === 0x45) {
    i += body[i + 1] === 0x2b || body[i + 1] === 0x2d ? 2 : 1;
    if (!isDigit(body[i])) return stopAt(stop, i, 'a digit in the exponent');
    i = skipDigits(body, i);
  }
  return i;
}

function skipWord(body: Buffer, i: number, word: string, stop: Stop): number {
  for (let k = 1; k < word.length; k++) {
    if (body[i + k] !== word.charCodeAt(k)) return stopAt(stop, i + k, `the word ${word}`);
  }
  return i + word.length;
}

/** Skips the string, number or word at `i`. @returns the offset after it, or -1 */
export function skipScalar(body: Buffer, i: number, stop: Stop): number {
  switch (body[i] ?? -1) {
    case QUOTE:
      return skipString(body, i + 1, stop);
    case 0x74:
      return skipWord(body, i, 'true', stop);
    case 0x66:
      return skipWord(body, i, 'false', stop);
    case 0x6e:
      return skipWord(body, i, 'null', stop);
    default:
      return skipNumber(body, i, stop);
  }
}

/** `unexpected '}' at byte 17, where a value belongs`, naming only punctuation: the rest may be part of a prompt. */
export function describeStop(body: Buffer, stop: Stop): string {
  return `unexpected ${describeByte(body[stop.at])} at byte ${stop.at}, where ${stop.expected} belongs`;
}

function describeByte(c: number | undefined): string {
  if (c === undefined) return 'end of the body';
  if (c < 0x20 || c === 0x7f) return `control character 0x${c.toString(16).padStart(2, '0')}`;
  const char = String.fromCharCode(c);
  return c > 0x7f || /[\w ]/.test(char) ? 'text' : char;
}
