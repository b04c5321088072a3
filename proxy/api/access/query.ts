// Reads the query parameters of lists: pages and filters, with FastAPI's errors.
import { invalid, missingField, wrongField } from './refusals.ts';

/** Two programs could read different ones of several. @throws Refusal 400 */
function single(query: URLSearchParams, name: string): string {
  const [value = '', second] = query.getAll(name);
  if (second === undefined) return value;
  throw invalid(`The query parameter ${name} stands more than once.`, name);
}

/** A whole number from 1 to `most`. @throws Refusal 400, 422 */
export function wholeParameter(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const value = single(query, name);
  if (value === '') return fallback;
  const count = Number(value);
  if (/^\d{1,9}$/.test(value) && count >= 1 && count <= most) return count;
  const type = /^[+-]?\d+$/.test(value) ? 'value_error' : 'int_parsing';
  throw wrongField(['query', name], type, `Input should be a whole number from 1 to ${most}`);
}

/** null = absent or empty. @throws Refusal 400 */
export const parameter = (query: URLSearchParams, name: string): string | null => single(query, name) || null;

/** @throws Refusal 400, 422 where it is absent or empty */
export function neededParameter(query: URLSearchParams, name: string): string {
  const value = single(query, name);
  if (value !== '') return value;
  throw missingField(['query', name]);
}

/** One of some words. @throws Refusal 400, 422 */
export function wordParameter<T extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly T[],
): T | null {
  const value = parameter(query, name);
  if (value === null) return null;
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  throw wrongField(
    ['query', name],
    'enum',
    `Input should be one of ${words.map((one) => `'${one}'`).join(', ')}`,
  );
}

const YES: ReadonlySet<string> = new Set(['true', '1', 'yes', 'on', 't', 'y']);
const NO: ReadonlySet<string> = new Set(['', 'false', '0', 'no', 'off', 'f', 'n']);

/** Whether a text has another one in it, whatever the case. */
export const isPart = (text: string | null, part: string): boolean =>
  text?.toLowerCase().includes(part.toLowerCase()) ?? false;

/** In FastAPI's words; absent or empty is no. @throws Refusal 400, 422 */
export function isTrue(query: URLSearchParams, name: string): boolean {
  const value = single(query, name).toLowerCase();
  if (YES.has(value) || NO.has(value)) return YES.has(value);
  throw wrongField(['query', name], 'bool_parsing', 'Input should be true or false');
}

/** One page of a list. */
interface Page<T> {
  readonly shown: readonly T[];
  readonly total: number;
  readonly pages: number;
}

export function pageOf<T>(all: readonly T[], page: number, size: number): Page<T> {
  return {
    shown: all.slice((page - 1) * size, page * size),
    total: all.length,
    pages: Math.ceil(all.length / size),
  };
}
