// Gemini's API takes every member in two spellings (protobuf.dev/programming-guides/json): this reads both as camel case.
import type { Json } from '../../../bodies/json.ts';

const UNDERSCORE = /_([a-z])/g;

/** The members of one object, those below as they are. */
export function camelMembers(holder: Json): Json {
  const names = Object.keys(holder);
  if (!names.some((name) => name.includes('_', 1))) return holder;
  const spelled = names.map((name): [string, unknown] => [camel(name), holder[name]]);
  return Object.fromEntries(spelled);
}

function camel(name: string): string {
  return name.replace(UNDERSCORE, (_, letter: string) => letter.toUpperCase());
}
