// Gemini's API takes every member in two spellings (protobuf.dev/programming-guides/json), and lists as their only element: this reads
// both as camel case, and both as lists.
import { asObject, type Json } from '../../../bodies/json.ts';
import { optionalList } from '../read.ts';

const UNDERSCORE = /_([a-z])/g;

/** The members of one object, those below as they are. */
export function camelMembers(holder: Json): Json {
  const names = Object.keys(holder);
  if (!names.some((name) => name.includes('_', 1))) return holder;
  const spelled = names.map((name): [string, unknown] => [camel(name), holder[name]]);
  return Object.fromEntries(spelled);
}

/** A list of objects; one object stands for a list of one, as in many examples of ai.google.dev. */
export function objectsIn(holder: Json, member: string, path = ''): readonly unknown[] {
  const only = asObject(holder[member]);
  return only === null ? optionalList(holder, member, path) : [only];
}

function camel(name: string): string {
  return name.replace(UNDERSCORE, (_, letter: string) => letter.toUpperCase());
}
