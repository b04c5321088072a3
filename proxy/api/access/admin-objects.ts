// Objects that belong to no one user or team, and are an administrator's alone: customers, budgets, organizations, access groups and
// tags. How such a call checks its caller, tells the audit what it concerns, and stores the change.
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { AccessObject } from '../../access/objects/objects.ts';
import { storeNew } from './beginnings.ts';
import { audited, directoryOf, put, remove, store, type Call } from './management-call.ts';

/** The objects, for a caller who may read those of all. @throws Fault management_denied */
export function readableDirectory(call: Call): AccessDirectory {
  const directory = directoryOf(call);
  demand(call.caller, directory, 'other.read', null);
  return directory;
}

/**
 * Stores a new object.
 * @param make throws a Refusal when there is one of this id already
 */
export function createObject<T extends AccessObject>(
  call: Call,
  kind: T['kind'],
  id: string,
  make: (directory: AccessDirectory) => T,
): Promise<T> {
  return storeNew(call, (directory) => {
    call.concerns({ kind, id, before: null, after: null });
    demand(call.caller, directory, 'other.write', null);
    const made = make(directory);
    return { changes: audited(call, directory, [put(made)]), result: made };
  });
}

/**
 * Stores another state of an object.
 * @param find throws a Refusal when there is none
 */
export function updateObject<T extends AccessObject>(
  call: Call,
  find: (directory: AccessDirectory) => T,
  change: (before: T, directory: AccessDirectory) => T,
): Promise<T> {
  return store(call, (directory) => {
    demand(call.caller, directory, 'other.write', null);
    const after = change(find(directory), directory);
    return { changes: audited(call, directory, [put(after)]), result: after };
  });
}

/**
 * Removes objects, all or none.
 * @param find throws a Refusal when one of them is not there
 */
export function removeObjects<T extends AccessObject>(
  call: Call,
  find: (directory: AccessDirectory) => readonly T[],
): Promise<readonly T[]> {
  return store(call, (directory) => {
    demand(call.caller, directory, 'other.write', null);
    const found = find(directory);
    return { changes: audited(call, directory, found.map(remove)), result: found };
  });
}
