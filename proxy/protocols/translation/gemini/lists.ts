// Lists of Gemini's requests, which its API takes as their only element, too.
import { asObject, type Json } from '../../../bodies/json.ts';
import { optionalList } from '../read.ts';

/** A list of objects; one object stands for a list of one, as in many examples of ai.google.dev. */
export function objectsIn(holder: Json, member: string, path = ''): readonly unknown[] {
  const only = asObject(holder[member]);
  return only === null ? optionalList(holder, member, path) : [only];
}
