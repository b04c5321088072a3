// Ids, keys and timestamps in the platform's formats. Randomness comes from node:crypto.
import { randomBytes, randomUUID } from 'node:crypto';
import { Secret } from '../config/secret.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A new UUID without dashes, as the platform's interface writes them. */
export const newHexId = (): string => randomUUID().replaceAll('-', '');

/** The dashed form, as it stands in session headers; the argument is 32 hex digits. */
export const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

/** A UUID in any spelling as 32 lower-case hex digits, or null. */
export function hexOf(text: string): string | null {
  const plain = text.replaceAll('-', '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(plain) ? plain : null;
}

/** Random bytes in base 62. */
export function base62(bytes: number): string {
  let value = BigInt(`0x${randomBytes(bytes).toString('hex')}`);
  let text = '';
  for (let left = Math.ceil((bytes * 8) / Math.log2(62)); left > 0; left -= 1) {
    text = `${DIGITS[Number(value % 62n)] ?? ''}${text}`;
    value /= 62n;
  }
  return text;
}

/** A new key of 256 random bits. */
export const newKey = (prefix: string): Secret => new Secret(`${prefix}${base62(32)}`);

/** `2026-11-21T12:00:00.000Z` */
export const instant = (ms: number): string => new Date(ms).toISOString();

/** A time without a zone is UTC, as everywhere in this interface. Epoch milliseconds; null = it is none. */
export function timeOf(text: string): number | null {
  const zoned = /[Zz]$|[+-]\d{2}:?\d{2}$/.test(text) || !/[Tt ]/.test(text) ? text : `${text}Z`;
  const ms = Date.parse(zoned);
  return Number.isNaN(ms) ? null : ms;
}
