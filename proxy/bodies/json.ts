// Reads members of parsed JSON of unknown structure: each function returns the value if it has the wanted type, else null.
import { randomUUID } from 'node:crypto';

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A number as its text, which JSON.stringify writes as it is. */
interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  // ES2026 (github.com/tc39/proposal-json-parse-with-source), which TypeScript does not describe yet.
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

/** Deepest nesting of an upstream's response that is read. */
export const RESPONSE_DEPTH = 512;
/** A `type` or `code` is an identifier; anything else could be a sentence that quotes a prompt. */
const IDENTIFIER = /^[\w.:-]{1,64}$/;

/** More than 15 digits, with the point: JavaScript may not keep them. Texts may hold some, too. */
const LONG_NUMBER = /[:,[\s]-?\d[\d.]{15}/;
/** Any 16 digits with one point have so many in a row: ten times as fast, and most texts have none. */
const DIGITS_IN_A_ROW = /\d{8}/;
const LONG_NUMBERS = /(?<![\w.+-])-?\d[\d.]{15,}(?:[eE][+-]?\d+)?/g;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Stands before a number that is kept as its text, while it is parsed: no body can hold it. */
const MARK = `number ${randomUUID()} `;

const holdsLongNumber = (text: string): boolean => DIGITS_IN_A_ROW.test(text) && LONG_NUMBER.test(text);

/**
 * The object that a JSON text is, for what is written out again: a number that JavaScript would change (beyond 2^53, or with
 * more digits than it keeps) stands as its text. Only `numberOf` reads such a one.
 */
export function exactObject(text: string): Json | null {
  const marked = holdsLongNumber(text) ? withMarkedNumbers(text) : null;
  if (marked === null) return parseObject(text);
  const json = parseObject(marked);
  if (json !== null) unmark(json);
  return json;
}

/**
 * The JSON with a marked text in place of each number that would change; null: there is none outside of texts. A reviver of
 * JSON.parse would tell the same, but takes 4 us for each value: 2 s for a list of 1 MB, in which the process stands still.
 */
function withMarkedNumbers(text: string): string | null {
  const parts: string[] = [];
  let hasMarked = false;
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const between = text.slice(at, quote === -1 ? undefined : quote);
    const marked = between.replace(LONG_NUMBERS, (source) =>
      isChanged(source) ? `"${MARK}${source}"` : source,
    );
    hasMarked ||= marked !== between;
    const end = quote === -1 ? text.length : endOfText(text, quote);
    parts.push(marked, quote === -1 ? '' : text.slice(quote, end));
    at = end;
  }
  return hasMarked ? parts.join('') : null;
}

const isChanged = (source: string): boolean => NUMBER.test(source) && String(Number(source)) !== source;

/** Behind the closing quote of a JSON text. */
function endOfText(json: string, opening: number): number {
  for (let at = json.indexOf('"', opening + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json[at - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return json.length;
}

/** Puts the numbers where their marked texts are. Depth does not matter. */
function unmark(json: Json): void {
  const waiting: object[] = [json];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop())
    for (const [name, value] of Object.entries(one)) {
      if (typeof value === 'object' && value !== null) waiting.push(value);
      else if (typeof value === 'string' && value.startsWith(MARK))
        Object.defineProperty(one, name, { value: JSON.rawJSON(value.slice(MARK.length)) }); // `__proto__` is a name, too
    }
}

/** `parsed` with the numbers as `text` has them, for the one event of many that holds what is written out again. */
export function withExactNumbers(parsed: Json, text: string): Json {
  return holdsLongNumber(text) ? (exactObject(text) ?? parsed) : parsed;
}

/** A number, also one that `exactObject` keeps as its text. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return JSON.isRawJSON(value) ? Number(value.rawJSON) : null;
}

/** The value that a JSON text is; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object that a JSON text is. */
export function parseObject(text: string): Json | null {
  return asObject(parseJson(text));
}

/** Whether the value is an object and no array. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, if it is an object and no array. */
export function asObject(value: unknown): Json | null {
  return isObject(value) ? value : null;
}

/** The member `key`, if it is an object and no array. */
export function objectIn(holder: Json | null, key: string): Json | null {
  return holder === null ? null : asObject(holder[key]);
}

/** The member `key`, if it is an array. */
export function listIn(holder: Json | null, key: string): readonly unknown[] | null {
  const value = holder?.[key];
  return Array.isArray(value) ? value : null;
}

/** The member `key`, if it is a text that is not empty. */
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

/** Neither missing, null nor empty. */
export function isFilled(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== null && value !== undefined && value !== '';
}

/** Neither missing nor null. */
export function isStated(value: unknown): boolean {
  return value !== undefined && value !== null;
}
