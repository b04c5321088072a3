// A profile's `extra_headers`: names and values that can stand on a wire and may go upstream. Pure.
import { DEFAULT_WORDS, dialectOf } from '../../config/dialect.ts';
import { isSetByProxy, neverPassed } from '../../config/header-names.ts';
import { FIELD_NAME, FIELD_VALUE } from '../../config/resolve/headers.ts';
import { Secret } from '../../config/secret.ts';
import { invalidValue } from '../api/refusal.ts';
import { isTree, MASK } from './secrets.ts';

const DEFAULT_PREFIX = dialectOf(DEFAULT_WORDS).headerPrefix;
const MAX_HEADERS = 100;
const MAX_VALUE = 8_192;

/** @throws Refusal with 422 at the first header that cannot be sent */
export function checkHeaders(headers: unknown, loc: readonly (string | number)[]): void {
  if (!isTree(headers)) return;
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS) throw invalidValue(loc, `more than ${MAX_HEADERS} headers`);
  const seen = new Set<string>();
  for (const [raw, value] of Object.entries(headers)) {
    const name = raw.toLowerCase();
    const at = [...loc, raw.slice(0, 200)];
    if (!FIELD_NAME.test(raw))
      throw invalidValue(at, 'this is no header name; use letters, digits and dashes');
    if (seen.has(name)) throw invalidValue(at, 'it appears twice; header names are case-insensitive');
    if (isSetByProxy(name)) throw invalidValue(at, 'this header is set by the proxy itself; remove it');
    // The proxy sends the gateway's own key; a second credential would be another identity.
    if (neverPassed(name, DEFAULT_PREFIX) !== null)
      throw invalidValue(at, 'credentials of the gateway are configured at the proxy; remove it');
    if (typeof value !== 'string' || !FIELD_VALUE.test(value) || value.length > MAX_VALUE)
      throw invalidValue(at, `a header value is one line of at most ${MAX_VALUE} Latin-1 characters`);
    seen.add(name);
  }
}

/** The headers as they go with each call, lower-case. */
export function sentHeaders(headers: unknown): (readonly [name: string, value: Secret])[] {
  if (!isTree(headers)) return [];
  return Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && value !== MASK ? [[name.toLowerCase(), new Secret(value)] as const] : [],
  );
}
