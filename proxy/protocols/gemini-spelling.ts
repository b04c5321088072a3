// The members of Gemini's requests, which its API takes in several spellings (protobuf.dev/programming-guides/json): as its documentation
// writes them, and with underscores, as its SDK for Python does in dictionaries.
import { asObject, type Json } from '../bodies/json.ts';

const UNDERSCORE = /_([a-z])/g;

/** `function_call` as `functionCall`; other names as they are. */
export const camelName = (name: string): string =>
  name.replace(UNDERSCORE, (_, letter: string) => letter.toUpperCase());

/** `functionCall`: that, and `function_call`. */
export function spellings(name: string): readonly [string, string] {
  return [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

/** The members of one object in camel case, those below as they are. */
export function camelMembers(holder: Json): Json {
  const names = Object.keys(holder);
  if (!names.some((name) => name.includes('_', 1))) return holder;
  const spelled = names.map((name): [string, unknown] => [camelName(name), holder[name]]);
  return Object.fromEntries(spelled);
}

/** Where a list of objects belongs, one object stands for a list of one, as in many examples of ai.google.dev. */
export const asList = (value: unknown): unknown => (asObject(value) === null ? value : [value]);
