// Reads members of parsed JSON of unknown structure: each function returns the value if it has the wanted type, else null.

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A number as its text, which JSON.stringify writes as it is. */
interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  // ES2026 (github.com/tc39/proposal-json-parse-with-source), which TypeScript does not describe yet.
  interface JSON {
    parse(text: string, reviver: (key: string, value: unknown, context: NumberSource) => unknown): unknown;
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

interface NumberSource {
  /** Of a value that is neither an object nor an array. */
  readonly source?: string;
}

/** Deepest nesting of an upstream's response that is read. */
export const RESPONSE_DEPTH = 512;
/** A `type` or `code` is an identifier; anything else could be a sentence that quotes a prompt. */
const IDENTIFIER = /^[\w.:-]{1,64}$/;

/** More digits than a number of JavaScript keeps for sure; 17 characters with the point. Texts may hold some, too. */
const MOST_DIGITS = 15;
const LONG_NUMBER = /[:,[\s]-?\d[\d.]{15}/;
/** Any 16 digits with one point have so many in a row: ten times as fast, and most texts have none. */
const DIGITS_IN_A_ROW = /\d{8}/;

const holdsLongNumber = (text: string): boolean => DIGITS_IN_A_ROW.test(text) && LONG_NUMBER.test(text);

/**
 * The object that a JSON text is, for what is written out again: a number that JavaScript would change (beyond 2^53, or with
 * more digits than it keeps) stands as its text. Only `numberOf` reads such a one.
 */
export function exactObject(text: string): Json | null {
  if (!holdsLongNumber(text)) return parseObject(text);
  try {
    const value = JSON.parse(text, (_key, one, { source }) =>
      typeof one === 'number' && source !== undefined ? exactNumber(one, source) : one,
    );
    return JSON.isRawJSON(value) ? null : asObject(value);
  } catch {
    return null;
  }
}

/** A reviver is slow: only numbers that would change are kept as texts. */
function exactNumber(value: number, source: string): number | RawNumber {
  return source.length > MOST_DIGITS && String(value) !== source ? JSON.rawJSON(source) : value;
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

/** Whether the text is a JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The object that a JSON text is. */
export function parseObject(text: string): Json | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
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
