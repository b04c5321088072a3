// Reads members of parsed JSON of unknown structure: each function returns the value if it has the wanted type, else null.

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** Deepest nesting of an upstream's response that is read. */
export const RESPONSE_DEPTH = 512;
/** A `type` or `code` is an identifier; anything else could be a sentence that quotes a prompt. */
const IDENTIFIER = /^[\w.:-]{1,64}$/;

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
