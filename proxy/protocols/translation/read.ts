// Reads members of a caller's request with their types checked: what is wrong becomes a 400 that names the member. null is
// the same as absent, as the SDKs of all vendors write it.
import { Fault } from '../../errors/fault.ts';
import { asObject, isStated, numberOf, type Json } from '../../bodies/json.ts';
import type { Stated } from './form.ts';

/** @throws Fault always */
export function invalid(member: string, wanted: string): never {
  throw new Fault('invalid_member', `\`${member}\` must be ${wanted}.`, { param: member });
}

/** @throws Fault if it is no object */
export function objectOf(value: unknown, member: string): Json {
  return (JSON.isRawJSON(value) ? null : asObject(value)) ?? invalid(member, 'an object');
}

/** @throws Fault if it is no list */
export function listOf(value: unknown, member: string): readonly unknown[] {
  return Array.isArray(value) ? value : invalid(member, 'a list');
}

/** @throws Fault if it is no text */
export function textOf(value: unknown, member: string): string {
  return typeof value === 'string' ? value : invalid(member, 'a text');
}

/** The path of a member: `a.b`, or `b` at the top. */
const below = (path: string, member: string): string => (path === '' ? member : `${path}.${member}`);

/** null when it is absent. */
export function optionalObject(holder: Json, member: string, path = ''): Json | null {
  const value = holder[member];
  return isStated(value) ? objectOf(value, below(path, member)) : null;
}

/** [] when it is absent. */
export function optionalList(holder: Json, member: string, path = ''): readonly unknown[] {
  const value = holder[member];
  return isStated(value) ? listOf(value, below(path, member)) : [];
}

/** null when it is absent or empty. */
export function optionalTexts(holder: Json, member: string, path = ''): readonly string[] | null {
  const list = optionalList(holder, member, path);
  const texts = list.filter((one) => typeof one === 'string');
  if (texts.length < list.length) invalid(below(path, member), 'a list of texts');
  return texts.length === 0 ? null : texts;
}

/** null when it is absent. */
export function optionalText(holder: Json, member: string, path = ''): string | null {
  const value = holder[member];
  return isStated(value) ? textOf(value, below(path, member)) : null;
}

/** null when it is absent. */
export function optionalNumber(holder: Json, member: string, path = ''): number | null {
  if (!isStated(holder[member])) return null;
  const value = numberOf(holder[member]);
  return value !== null && Number.isFinite(value) ? value : invalid(below(path, member), 'a number');
}

/** null when it is absent. */
export function optionalCount(holder: Json, member: string, path = ''): number | null {
  const value = optionalNumber(holder, member, path);
  if (value === null || (Number.isSafeInteger(value) && value >= 0)) return value;
  return invalid(below(path, member), 'a whole number that is not negative');
}

/** null when it is absent. */
export function optionalFlag(holder: Json, member: string, path = ''): boolean | null {
  const value = holder[member];
  if (!isStated(value)) return null;
  return typeof value === 'boolean' ? value : invalid(below(path, member), 'true or false');
}

/** The text that must be there. */
export function requiredText(holder: Json, member: string, path: string): string {
  const value = holder[member];
  return typeof value === 'string' && value !== '' ? value : invalid(below(path, member), 'a text');
}

/** An object member with its value, or none: `{temperature: {value, member}}`. */
export function stated<K extends string, T>(
  key: K,
  value: T | null,
  member: string,
): { readonly [key in K]?: Stated<T> } {
  const found: { [key in K]?: Stated<T> } = {};
  if (value !== null) found[key] = { value, member };
  return found;
}

/** The members that are neither absent, null nor `defaults`. */
export function statedMembers(holder: Json): readonly string[] {
  return Object.keys(holder).filter((name) => isStated(holder[name]));
}
