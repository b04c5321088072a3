// Replaces `os.environ/NAME` with the value of the environment variable, anywhere in the tree. Keys without effect stay
// as they are, so that a file written for another proxy does not need that proxy's variables.
import { ENV_MARKER } from './dialect.ts';
import type { Diagnostics } from './diagnostics.ts';
import { below, isInert, SCHEMA, typesOf } from './schema.ts';
import type { SchemaNode } from './schema.ts';
import { memberOf } from './tree.ts';
import type { MapTree, Member, Path, ScalarTree, Tree } from './tree.ts';

/** Names and values of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process environment, overridden by the file's `environment_variables`. */
export function environmentOf(root: Tree, env: Environment): Environment {
  const own = memberOf(root, 'environment_variables');
  if (own?.kind !== 'map') return env;
  const over: Record<string, string | undefined> = { ...env };
  for (const [name, { tree }] of own.members) {
    if (tree.kind !== 'scalar' || tree.value === null) continue;
    const text = String(tree.value);
    // A variable may refer to the process environment, never to another one of the file: their order must not matter.
    over[name] = text.startsWith(ENV_MARKER) ? env[text.slice(ENV_MARKER.length)] : text;
  }
  return over;
}

/** The tree with every reference replaced. A variable that is not set is an error at its place. */
export function withReferences(
  root: Tree,
  env: Environment,
  own: Environment,
  diagnostics: Diagnostics,
): Tree {
  const visit = (tree: Tree, schema: SchemaNode | undefined, path: Path, names: Environment): Tree => {
    if (tree.kind === 'scalar') return resolved(tree, schema, path, names, diagnostics);
    if (tree.kind === 'list') {
      const items = tree.items.map((item, index) => visit(item, schema?.items, [...path, index], names));
      return items.every((item, index) => item === tree.items[index]) ? tree : { ...tree, items };
    }
    let changed: Map<string, Member> | null = null;
    for (const [key, member] of tree.members) {
      if (member.tree.kind === 'scalar' && !refers(member.tree)) continue; // most values; no path is built for them
      const schemaBelow = below(schema, key);
      if (isInert(schemaBelow)) continue;
      if (isLeftOut(member.tree, schemaBelow, names)) {
        const name = String((member.tree as ScalarTree).value).slice(ENV_MARKER.length);
        diagnostics.warn(
          [...path, key],
          `${ENV_MARKER}${name} is not set, so this counts as left out`,
          `set the environment variable ${name}, or remove the key`,
        );
        changed ??= new Map(tree.members);
        changed.delete(key);
        continue;
      }
      const inner = path.length === 0 && key === 'environment_variables' ? env : names;
      const value = visit(member.tree, schemaBelow, [...path, key], inner);
      if (value === member.tree) continue;
      changed ??= new Map(tree.members);
      changed.set(key, { ...member, tree: value });
    }
    const result: MapTree = changed === null ? tree : { ...tree, members: changed };
    return result;
  };
  return visit(root, SCHEMA, [], own);
}

function resolved(
  tree: ScalarTree,
  schema: SchemaNode | undefined,
  path: Path,
  env: Environment,
  diagnostics: Diagnostics,
): ScalarTree {
  if (!refers(tree)) return tree;
  const name = String(tree.value).slice(ENV_MARKER.length);
  if (name === '') {
    diagnostics.error(path, `${ENV_MARKER} names no variable`, `write ${ENV_MARKER}NAME`);
    return tree;
  }
  const text = env[name];
  if (text === undefined || text === '') {
    const state = text === undefined ? 'is not set' : 'is set but empty';
    diagnostics.error(
      path,
      `${ENV_MARKER}${name} ${state}`,
      `set the environment variable ${name}, or add it to environment_variables`,
    );
    return tree;
  }
  return { ...tree, value: converted(text, typesOf(schema)), reference: name };
}

function isLeftOut(tree: Tree, schema: SchemaNode | undefined, env: Environment): boolean {
  if (schema?.['x-optional'] !== true || tree.kind !== 'scalar' || !refers(tree)) return false;
  const name = String(tree.value).slice(ENV_MARKER.length);
  return name !== '' && (env[name] ?? '') === '';
}

function refers(tree: ScalarTree): boolean {
  return typeof tree.value === 'string' && tree.value.startsWith(ENV_MARKER);
}

/** Environment variables are text; where the schema wants a number or a boolean, the text is converted. */
function converted(text: string, types: readonly string[]): string | number | boolean {
  if (types.length === 0 || types.includes('string')) return text;
  const trimmed = text.trim();
  if (types.includes('boolean') && /^(true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true';
  const numeric = types.includes('number') || types.includes('integer');
  if (numeric && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(trimmed)) return Number(trimmed);
  return text;
}
