// Entries of runtime models: whether two lists are the same, what a change makes of an entry, why one is not served. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { Issue } from '../../config/issue.ts';
import type { RuntimeModel } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { isObject, objectIn, textIn, type Json } from '../bodies/json.ts';

/** A `model_list` entry as given to `POST /model/new`. */
export type Entry = Json;

/** Why an accepted configuration does not serve a runtime model; null = it does. */
export function whyNotServed(
  id: string,
  { deployments, disabled, warnings }: Snapshot,
): readonly Issue[] | null {
  if (deployments.some((deployment) => deployment.id === id)) return null;
  return disabled.find((model) => model.id === id)?.issues ?? warnings; // skipped with a warning
}

/** In any order: a server that was started later lists them as the store does. */
export function isSameModels(some: readonly RuntimeModel[], others: readonly RuntimeModel[]): boolean {
  const entries = new Map(others.map(({ id, entry }) => [id, entry]));
  return (
    some.length === others.length && some.every(({ id, entry }) => isDeepStrictEqual(entries.get(id), entry))
  );
}

/** The id that an entry states; null = none. */
export const idOf = (entry: Entry): string | null => textIn(objectIn(entry, 'model_info') ?? {}, 'id');

/** Members of the objects in it replace the old ones, and null takes one away (RFC 7396). */
export function merged(old: Entry, change: Entry): Entry {
  const next: Record<string, unknown> = { ...old };
  for (const [name, value] of Object.entries(change)) {
    const before = old[name];
    next[name] = isObject(before) && isObject(value) ? withoutNulls({ ...before, ...value }) : value;
  }
  return next;
}

const withoutNulls = (entry: Entry): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
