// Reads the query parameters of lists: pages and filters, with FastAPI's errors.
import { wrongFields } from './refusals.ts';

/** A whole number from 1 to `most`. @throws Refusal 422 */
export function wholeParameter(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const value = query.get(name);
  if (value === null || value === '') return fallback;
  const count = Number(value);
  if (/^\d{1,9}$/.test(value) && count >= 1 && count <= most) return count;
  const type = /^[+-]?\d+$/.test(value) ? 'value_error' : 'int_parsing';
  throw wrongFields([
    { type, loc: ['query', name], msg: `Input should be a whole number from 1 to ${most}` },
  ]);
}

/** null = absent or empty. */
export const parameter = (query: URLSearchParams, name: string): string | null => query.get(name) || null;

/** One of some words. @throws Refusal 422 */
export function wordParameter<T extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly T[],
): T | null {
  const value = parameter(query, name);
  if (value === null) return null;
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  const msg = `Input should be one of ${words.map((one) => `'${one}'`).join(', ')}`;
  throw wrongFields([{ type: 'enum', loc: ['query', name], msg }]);
}

export const isTrue = (query: URLSearchParams, name: string): boolean =>
  ['true', '1', 'yes', 'on'].includes((query.get(name) ?? '').toLowerCase());

/** One page of a list. */
export interface Page<T> {
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
