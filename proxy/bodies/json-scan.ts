// One scan of a JSON object: walks over the tokens of json-skip.ts by the grammar of RFC 8259, never recurses, and notes the
// wanted top-level members. It can stop at the end of any slice of the body and go on from there later.
import { isUtf8, type Buffer } from 'node:buffer';
import { describeStop, openBody, skipScalar, skipSpace, skipString, stopAt, type Stop } from './json-skip.ts';
import {
  wantedName,
  type Bounds,
  type Member,
  type Peeked,
  type PeekFault,
  type PeekFaultKind,
  type Wanted,
} from './members.ts';
import type { TextBeginnings } from './text-beginnings.ts';
import { charStart, invalidUtf8At } from './utf8.ts';

/** Characters; a name that was wanted by its prefix may go on for ever. */
const LONGEST_SHOWN_NAME = 64;
/** Nothing but a string or a number is longer; cut in two, it is not what it was. The longest is an escape, `\uXXXX`. */
const LONGEST_ATOM = 16;
/** Digits. A number that a slice cuts is scanned again from its beginning. */
const LONGEST_NUMBER = 65_536;
const FEW = 12;
const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;

/** What comes next in the text. */
const VALUE = 0;
const FIRST = 1; // of a container, or its end
const AFTER = 2; // what follows a value
const KEY = 3;
const COLON_OF_KEY = 4;
const END = 5;
type Next = typeof VALUE | typeof FIRST | typeof AFTER | typeof KEY | typeof COLON_OF_KEY | typeof END;

/** One scan. It can stop at the end of any slice and go on from there; nothing is scanned twice but the token it was in. */
export class Scan {
  readonly #whole: Buffer;
  readonly #wanted: Wanted;
  readonly #maxDepth: number;
  readonly #bounds: Bounds;
  readonly #texts: TextBeginnings | null;
  readonly #members: Member[] = [];
  /** Of the members; while they are few, looking at each of them is faster. */
  #names: Set<string> | null = null;
  readonly #stop: Stop = { at: 0, expected: '', tooDeep: false };
  /** The closing brackets that are owed, innermost last: at most maxDepth of them. */
  readonly #closers: number[] = [];
  #next: Next = VALUE;
  #at = 0;
  /** `#at` lies in a string, whose beginning was skipped before. */
  #inString = false;
  /** All before is valid UTF-8. */
  #valid = 0;
  #fault: PeekFault | null = null;
  #tokens = 0;
  #hasText = false;
  // Of the top-level value.
  #start = 0;
  #isObject = false;
  #memberCount = 0;
  #lastValueEnd = 0;
  // Of the top-level member that is being scanned.
  #keyStart = 0;
  #keyEnd = 0;
  #valueStart = 0;
  /** -1: it has not ended. */
  #valueEnd = -1;
  #commaBefore = -1;

  constructor(body: Buffer, wanted: Wanted, maxDepth: number, bounds: Bounds) {
    this.#whole = body;
    this.#wanted = wanted;
    this.#maxDepth = maxDepth;
    this.#bounds = bounds;
    this.#texts = wanted.texts ?? null;
  }

  /** Scans on to the byte `limit`. Raise it each time. @returns null when the slice ended before the body did */
  run(limit: number): Peeked | null {
    const whole = this.#whole;
    const end = limit < whole.length ? charStart(whole, limit) : whole.length;
    const slice = this.#valid === 0 && end === whole.length ? whole : whole.subarray(this.#valid, end);
    if (!isUtf8(slice)) {
      const at = this.#valid + invalidUtf8At(slice);
      return this.#refused('invalid_utf8', at, `The body is not valid UTF-8 at byte ${at}.`);
    }
    this.#valid = end;
    if (whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf) {
      return this.#refused('not_json', 0, 'The body begins with a byte order mark; send JSON without one.');
    }
    const body = end === whole.length ? whole : whole.subarray(0, end);
    openBody();
    const isWhole = this.#walk(body);
    const { values = Infinity } = this.#bounds;
    if (this.#tokens > values && this.#fault === null)
      return this.#refused('too_complex', this.#at, `The body holds more than ${values} values.`);
    if (isWhole) return this.#finished();
    // What is missing at the end of a slice may follow in the next one.
    if (
      this.#fault === null &&
      body !== whole &&
      this.#stop.at >= end - LONGEST_ATOM &&
      !this.#stop.tooDeep
    ) {
      const isNumber = this.#next === VALUE && !this.#inString;
      if (!isNumber || end - this.#at <= LONGEST_NUMBER) return null;
      return this.#refused(
        'too_complex',
        this.#at,
        `The body holds a number of more than ${LONGEST_NUMBER} digits.`,
      );
    }
    return this.stopped();
  }

  /** Values that were begun. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Why the scan did not reach the end. */
  stopped(): PeekFault {
    if (this.#fault !== null) return this.#fault;
    const { at, tooDeep } = this.#stop;
    if (tooDeep) return this.#refused('too_deep', at, `The body nests deeper than ${this.#maxDepth} levels.`);
    return this.#refused(
      'not_json',
      at,
      `The body is not valid JSON: ${describeStop(this.#whole, this.#stop)}.`,
    );
  }

  #finished(): Peeked {
    if (!this.#isObject) {
      const detail = 'The body is JSON but not an object; send a JSON object.';
      return this.#refused('not_object', this.#start, detail);
    }
    return {
      ok: true,
      members: this.#members.slice(), // without the room that V8 gives a list that grows
      memberCount: this.#memberCount,
      values: this.#tokens,
      lastValueEnd: this.#lastValueEnd,
      hasText: this.#hasText,
    };
  }

  #refused(fault: PeekFaultKind, at: number, detail: string): PeekFault {
    return { ok: false, fault, at, detail, members: this.#members };
  }

  /** Walks over the text to the end of `body`, which is the whole or a slice from its start. @returns false: see `#stop` */
  #walk(body: Buffer): boolean {
    const stop = this.#stop;
    const closers = this.#closers;
    const isPart = body.length < this.#whole.length;
    let closer = closers.at(-1) ?? 0;
    let next = this.#next;
    let i = this.#at;
    if (this.#inString) {
      i = skipString(body, i, stop);
      if (i < 0) return this.#hold(next, stop.at, true);
      if (closers.length === 1) {
        if (next === KEY) this.#keyEnd = i;
        else this.#valueEnd = i;
      }
      if (next === KEY) next = COLON_OF_KEY;
      else next = closers.length === 0 ? END : AFTER;
    }
    i = skipSpace(body, i);
    if (this.#tokens > 0) this.#tokens -= 1; // what the slice before ended in is counted once more
    for (;;) {
      this.#tokens += 1;
      if (next === VALUE) {
        const start = i;
        const c = body[i];
        if (closers.length <= 1) this.#beginValue(start, c);
        if (c === OPEN_BRACE || c === OPEN_BRACKET) {
          if (closers.length >= this.#maxDepth) {
            stop.tooDeep = true;
            stopAt(stop, i, '');
            return this.#hold(VALUE, i, false);
          }
          closer = c + 2; // '{' + 2 is '}', '[' + 2 is ']'
          closers.push(closer);
          i = skipSpace(body, i + 1);
          next = FIRST;
        } else {
          if (c === QUOTE && this.#texts?.standAt(this.#whole, i + 1) === true) this.#hasText = true;
          i = skipScalar(body, i, stop);
          if (i < 0) return this.#hold(VALUE, c === QUOTE ? stop.at : start, c === QUOTE);
          if (isPart && i === body.length && c !== QUOTE) {
            stopAt(stop, i, 'a value'); // the next slice may go on with the same number
            return this.#hold(VALUE, start, false);
          }
          if (closers.length === 1) this.#valueEnd = i;
          next = closers.length === 0 ? END : AFTER;
          i = skipSpace(body, i);
        }
      }
      if (next === FIRST) {
        if (isPart && i === body.length) {
          stopAt(stop, i, 'a value');
          return this.#hold(FIRST, i, false);
        }
        if (body[i] === closer) next = AFTER;
        else next = closer === CLOSE_BRACE ? KEY : VALUE;
        if (next === VALUE) continue;
      }
      if (next === AFTER) {
        while (body[i] === closer) {
          if (closers.length === 1 && !this.#endMember(-1)) return false;
          closers.pop();
          i++;
          if (closers.length === 1) this.#valueEnd = i;
          closer = closers[closers.length - 1] ?? 0;
          i = skipSpace(body, i);
          if (closers.length === 0) break;
        }
        if (closers.length === 0) {
          next = END;
        } else {
          if (body[i] !== COMMA) {
            stopAt(stop, i, closer === CLOSE_BRACE ? 'a comma or }' : 'a comma or ]');
            return this.#hold(AFTER, i, false);
          }
          if (closers.length === 1 && !this.#endMember(i)) return false;
          i = skipSpace(body, i + 1);
          next = closer === CLOSE_BRACE ? KEY : VALUE;
          if (next === VALUE) continue;
        }
      }
      if (next === KEY) {
        if (body[i] !== QUOTE) {
          stopAt(stop, i, 'a member name in double quotes');
          return this.#hold(KEY, i, false);
        }
        if (closers.length === 1) this.#keyStart = i;
        i = skipString(body, i + 1, stop);
        if (i < 0) return this.#hold(KEY, stop.at, true);
        if (closers.length === 1) this.#keyEnd = i;
        i = skipSpace(body, i);
        next = COLON_OF_KEY;
      }
      if (next === COLON_OF_KEY) {
        if (body[i] !== COLON) {
          stopAt(stop, i, 'a colon');
          return this.#hold(COLON_OF_KEY, i, false);
        }
        i = skipSpace(body, i + 1);
        next = VALUE;
        continue;
      }
      // The end of the top-level value.
      if (i === body.length) {
        if (!isPart) return true;
      }
      stopAt(stop, i, 'the end of the body');
      return this.#hold(END, i, false);
    }
  }

  #hold(next: Next, at: number, inString: boolean): false {
    this.#next = next;
    this.#at = at;
    this.#inString = inString;
    return false;
  }

  /** A value at depth 0 or 1 begins. */
  #beginValue(at: number, c: number | undefined): void {
    this.#valueStart = at;
    if (this.#closers.length > 0) return;
    this.#start = at;
    this.#isObject = c === OPEN_BRACE;
    this.#lastValueEnd = at + 1;
  }

  /** The top-level member that was scanned last is whole. @param commaAfter -1: it is the last one */
  #endMember(commaAfter: number): boolean {
    const valueEnd = this.#valueEnd;
    if (!this.#isObject || valueEnd < 0) return true; // a list, or an empty object
    const keyStart = this.#keyStart;
    const keyEnd = this.#keyEnd;
    const commaBefore = this.#commaBefore;
    this.#memberCount += 1;
    this.#lastValueEnd = valueEnd;
    this.#valueEnd = -1;
    this.#commaBefore = commaAfter;
    if (this.#memberCount > this.#bounds.members || keyEnd - keyStart > this.#bounds.nameBytes) {
      this.#fault = this.#refused('too_complex', keyStart, complexity(this.#bounds));
      return false;
    }
    const name = wantedName(this.#whole, keyStart, keyEnd, this.#wanted);
    if (name === null) return true;
    if (this.#isKnown(name)) {
      this.#fault = duplicate(name, keyStart, this.#members);
      return false;
    }
    const valueStart = this.#valueStart;
    this.#members.push({ name, keyStart, keyEnd, valueStart, valueEnd, commaBefore, commaAfter });
    this.#names?.add(name);
    return true;
  }

  #isKnown(name: string): boolean {
    const members = this.#members;
    if (members.length > FEW) return (this.#names ??= new Set(members.map((one) => one.name))).has(name);
    for (let i = 0; i < members.length; i += 1) if (members[i]?.name === name) return true;
    return false;
  }
}

function complexity({ members, nameBytes }: Bounds): string {
  return `The body has more than ${members} members at its top level, or one with a name of more than ${nameBytes} bytes.`;
}

function duplicate(name: string, at: number, members: readonly Member[]): PeekFault {
  const shown = JSON.stringify(name.slice(0, LONGEST_SHOWN_NAME));
  const detail = `The member ${shown} stands in the body twice, and two readers could choose differently; send it once.`;
  return { ok: false, fault: 'duplicate_member', at, detail, members, name };
}
