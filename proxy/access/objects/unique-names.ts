// Names that only one object may have, in all processes that share a store: aliases of keys and e-mail addresses of users. Each is
// an item of its own, which says whose it is and is stored together with its object: of two processes that want the same name at
// the same moment one meets the item of the other.
import type { SharedItem } from '../../items/shared-items.ts';
import type { AccessObject, ObjectChange, ObjectKind } from './objects.ts';

/** Somebody else has this name: nothing was changed. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken';
}

/** The kind of these items; they are read one by one, never loaded. */
export const NAME_KIND = 'unique_name' as const;

/** What of the store is asked. */
interface NameStore {
  get(
    kind: ObjectKind | typeof NAME_KIND,
    ids: readonly string[],
  ): Promise<readonly (SharedItem<ObjectKind | typeof NAME_KIND> | null)[]>;
  /** The unique name of a stored object; null = it has none. */
  nameOf(item: SharedItem<ObjectKind>): string | null;
}

type NameChange =
  | {
      readonly put: {
        readonly kind: typeof NAME_KIND;
        readonly id: string;
        readonly createdMs: number;
        readonly updatedMs: number;
        readonly revision: number;
        readonly value: { readonly owner: string };
      };
    }
  | { readonly remove: { readonly kind: typeof NAME_KIND; readonly id: string } };

/** The unique name of an object as an id; null = it has none. */
export function uniqueNameOf(object: AccessObject | null): string | null {
  if (object?.kind === 'key') return object.alias === null ? null : `key_alias:${object.alias}`;
  if (object?.kind === 'user')
    return object.email === null ? null : `user_email:${object.email.toLowerCase()}`;
  return null;
}

/**
 * What is to be stored beside `changes`.
 * @param before an object as this process knows it; null = it knows none
 * @throws NameTaken
 */
export async function nameChanges(
  changes: readonly ObjectChange[],
  before: (name: { readonly kind: AccessObject['kind']; readonly id: string }) => AccessObject | null,
  store: NameStore,
): Promise<readonly NameChange[]> {
  const wanted = new Map<
    string,
    { readonly kind: 'key' | 'user'; readonly id: string; readonly nowMs: number }
  >();
  const free = new Set<string>();
  for (const change of changes) {
    const { kind, id } = 'put' in change ? change.put : change.remove;
    if (kind !== 'key' && kind !== 'user') continue;
    const becomes = 'put' in change ? uniqueNameOf(change.put) : null;
    const was = uniqueNameOf(before({ kind, id }));
    if (was === becomes) continue;
    if (was !== null) free.add(was);
    if (becomes !== null && 'put' in change) wanted.set(becomes, { kind, id, nowMs: change.put.updatedMs });
  }
  const names = [...wanted.keys()];
  const removed = [...free].filter((name) => !wanted.has(name));
  const all: NameChange[] = removed.map((id) => ({ remove: { kind: NAME_KIND, id } }));
  if (names.length === 0) return all;
  const items = await store.get(NAME_KIND, names);
  for (const [i, [name, { kind, id, nowMs }]] of [...wanted].entries()) {
    const item = items[i] ?? null;
    const owner = item === null ? null : ownerOf(item.value);
    const mayTake = owner === null || owner === id || free.has(name);
    if (!mayTake) {
      const [stored = null] = await store.get(kind, [owner]);
      if (stored !== null && store.nameOf({ ...stored, kind }) === name) throw new NameTaken(name);
    }
    const revision = item?.revision ?? 0;
    const put = {
      kind: NAME_KIND,
      id: name,
      createdMs: nowMs,
      updatedMs: nowMs,
      revision,
      value: { owner: id },
    };
    all.push({ put });
  }
  return all;
}

function ownerOf(value: unknown): string | null {
  const owner = typeof value === 'object' && value !== null ? Reflect.get(value, 'owner') : null;
  return typeof owner === 'string' ? owner : null;
}
