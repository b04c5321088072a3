// Sanitizes client input for storage: bounded, and without what databases refuse. NUL cannot stand in a PostgreSQL
// text, a lone surrogate in no UTF-8 at all; both become U+FFFD. Pure.

import { isObject, type Json } from './json.ts';

const DEEPEST = 32;
/** NUL, or a surrogate that may have no partner. */
const DOUBTFUL = /[\0\ud800-\udfff]/;
/** A number in JSON is mostly shorter; the bound need not be exact. */
const NUMBER_CHARS = 8;

/** The text, at most `limitChars` long. */
export function cleanText(text: string, limitChars: number): string {
  const cut = text.length > limitChars ? text.slice(0, limitChars) : text;
  return cut.isWellFormed() && !cut.includes('\0') ? cut : cut.toWellFormed().replaceAll('\0', '\ufffd');
}

/**
 * The object, or null when it is longer than about `limitChars` as JSON or nested deeper than 32 levels. Walks instead of
 * writing JSON: the usage of every response passes here.
 */
export function cleanObject(value: Json, limitChars: number): Json | null {
  if (sizeOf(value, DEEPEST) > limitChars) return null;
  return isDoubtful(value) ? cleanedObject(value) : value;
}

/** Characters of the value as JSON, about; Infinity when it is too deep. */
function sizeOf(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return NUMBER_CHARS;
  if (levels === 0) return Infinity;
  let size = 2;
  for (const key of Object.keys(value)) size += key.length + 4 + sizeOf((value as Json)[key], levels - 1);
  return size;
}

function isDoubtful(value: unknown): boolean {
  if (typeof value === 'string') return DOUBTFUL.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.keys(value).some((key) => DOUBTFUL.test(key) || isDoubtful((value as Json)[key]));
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value, Infinity);
  if (Array.isArray(value)) return value.map(cleaned);
  return isObject(value) ? cleanedObject(value) : value;
}

function cleanedObject(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [cleanText(key, Infinity), cleaned(one)]),
  );
}
