// JSON Merge Patch (RFC 7386). Pure.
import { isTree } from './secrets.ts';

type Tree = Readonly<Record<string, unknown>>;

/** Objects are merged member by member, null unsets a member, anything else replaces. Only own members count. */
export function mergePatch(target: Tree, patch: Tree): Tree {
  const next = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = next.get(name);
    if (value === null) next.delete(name);
    else if (isTree(value)) next.set(name, mergePatch(isTree(before) ? before : {}, value));
    else next.set(name, value);
  }
  return Object.fromEntries(next);
}
