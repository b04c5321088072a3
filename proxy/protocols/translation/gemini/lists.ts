// Lists of Gemini's requests, which its API takes as their only element, too.
import type { Json } from '../../../bodies/json.ts';
import { asList } from '../../gemini-spelling.ts';
import { optionalList } from '../read.ts';

/** [] when it is absent. @throws Fault if it is neither a list nor an object */
export function objectsIn(holder: Json, member: string, path = ''): readonly unknown[] {
  return optionalList({ [member]: asList(holder[member]) }, member, path);
}
