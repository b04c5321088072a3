// Keys as the command line finds and shows them.
import { CannotStart } from '../errors/cannot-start.ts';
import { textOf, type AdminCalls, type Answer } from './admin-call.ts';
import { UsageError } from './terminal.ts';

const HASH = /^[0-9a-f]{64}$/i;

/** All keys that the filters let through. */
export const allKeys = (
  calls: AdminCalls,
  filters: Readonly<Record<string, string>>,
): Promise<readonly Answer[]> =>
  calls.pages('/key/list', 'keys', { ...filters, return_full_object: 'true', size: '100' });

/** Whether a text is a key itself: arguments stand in histories and in lists of processes. */
const isKeyValue = (text: string): boolean => /^sk-[!-~]{13,}$/.test(text);

/** @throws UsageError for a key's value */
export function checkKeyName(name: string): void {
  if (isKeyValue(name))
    throw new UsageError(
      '--key takes the alias or the SHA-256 of a key, not its value: others see arguments',
    );
}

/**
 * The key with this alias or SHA-256.
 * @throws UsageError for a key's value; CannotStart when there is none
 */
export async function keyNamed(calls: AdminCalls, name: string): Promise<Answer> {
  if (isKeyValue(name))
    throw new UsageError(
      'a key is named by its alias or its SHA-256, not by its value - see throughline keys list',
    );
  const [row] = await allKeys(calls, HASH.test(name) ? { key_hash: name } : { key_alias: name });
  if (row !== undefined) return row;
  throw new CannotStart(`there is no key with the ${HASH.test(name) ? 'SHA-256' : 'alias'} ${name}`);
}

export function statusOf({ blocked, expires }: Answer, nowMs: number): string {
  if (blocked === true) return 'blocked';
  return typeof expires === 'string' && Date.parse(expires) <= nowMs ? 'expired' : 'active';
}

/** US dollars with cents, and more places where they are needed. */
export function dollars(value: unknown): string {
  if (typeof value !== 'number') return '';
  return value === 0 || value >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
}

/** Alias, or the last four characters. */
export const shownName = ({ key_alias: alias, key_name: name }: Answer): string =>
  textOf(alias) || textOf(name);
