// Keys of the LiteLLM dialect that nothing here reads. One that would protect something - a budget, a check, who may call -
// stops the start, because an operator who wrote it counts on it. The others are accepted and warned about.
import type { Diagnostics } from './diagnostics.ts';
import { below, isInert, SCHEMA, type SchemaNode } from './schema.ts';
import type { Path, Tree } from './tree.ts';

/** `otel: true`, as LiteLLM has it, where a mapping is read here. */
export function isSwitch(tree: Tree, schema: SchemaNode | undefined): boolean {
  return schema?.['x-switch'] !== undefined && tree.kind === 'scalar' && typeof tree.value === 'boolean';
}

/** Reports each key once, at its first place. @param keep whether a path is looked at */
export function checkUnread(root: Tree, diagnostics: Diagnostics, keep: (path: Path) => boolean): void {
  const reported = new Set<SchemaNode>();
  const visit = (tree: Tree, schema: SchemaNode | undefined, path: Path): void => {
    if (schema === undefined || !keep(path)) return;
    if (tree.kind === 'list')
      tree.items.forEach((item, index) => visit(item, schema.items, [...path, index]));
    if (tree.kind !== 'map') return;
    for (const [key, member] of tree.members) {
      const inner = below(schema, key);
      if (inner === undefined || reported.has(inner)) continue;
      if (!isInert(inner)) {
        const instead = inner['x-switch'];
        if (member.tree.kind !== 'scalar') visit(member.tree, inner, [...path, key]);
        else if (instead !== undefined && member.tree.value === true)
          diagnostics.warn([...path, key], "is a switch of LiteLLM's, without effect here", instead, 'key');
        continue;
      }
      if (report(member.tree, inner, [...path, key], diagnostics)) reported.add(inner);
    }
  };
  visit(root, SCHEMA, []);
}

/** @returns whether there was something to say */
function report(tree: Tree, schema: SchemaNode, path: Path, diagnostics: Diagnostics): boolean {
  switch (schema['x-effect']) {
    case 'refused':
      if (!asksForProtection(tree, schema['x-refuses'])) return false;
      diagnostics.error(
        path,
        'would protect nothing: this proxy does not enforce it',
        schema['x-fix'] ?? 'remove it',
        'key',
      );
      return true;
    case 'always':
      if (tree.kind === 'scalar' && tree.value === true) return false;
      diagnostics.warn(path, 'has no effect here: it is always on', 'remove it, or write true', 'key');
      return true;
    default:
      if (schema['x-refuses-members'] !== undefined)
        refuseMembers(tree, schema, schema['x-refuses-members'], path, diagnostics);
      diagnostics.warn(
        path,
        'has no effect here',
        schema['x-fix'] ?? 'remove it, or leave it for another proxy that reads this file',
        'key',
      );
      return true;
  }
}

/** Limits within what has no effect: whoever wrote them counts on them. However deep they stand. */
function refuseMembers(
  tree: Tree,
  schema: SchemaNode,
  names: readonly string[],
  path: Path,
  diagnostics: Diagnostics,
): void {
  if (tree.kind === 'list')
    for (const [at, item] of tree.items.entries())
      refuseMembers(item, schema, names, [...path, at], diagnostics);
  if (tree.kind !== 'map') return;
  for (const [key, member] of tree.members) {
    const within = [...path, key];
    const isSet =
      member.tree.kind !== 'scalar' || member.tree.value !== null || member.tree.reference !== null;
    if (names.includes(key) && isSet)
      diagnostics.error(
        within,
        'would protect nothing: this proxy does not enforce it',
        schema['x-fix'] ?? 'remove it',
        'key',
      );
    else refuseMembers(member.tree, schema, names, within, diagnostics);
  }
}

/** Off in LiteLLM: nothing, false, 0, an empty text, list or mapping. A reference to the environment may be anything. */
function asksForProtection(tree: Tree, only: readonly string[] | undefined): boolean {
  if (tree.kind === 'map') return tree.members.size > 0;
  if (tree.kind === 'scalar')
    return tree.value !== null && tree.value !== false && tree.value !== 0 && tree.value !== '';
  if (only === undefined) return tree.items.length > 0;
  return tree.items.some(
    (item) => item.kind !== 'scalar' || typeof item.value !== 'string' || only.includes(item.value),
  );
}
