// Replaces `os.environ/NAME` with the value of the environment variable, anywhere in the tree. Keys without effect stay
// as they are, as do keys that nothing here knows, so that a file written for another proxy does not need that proxy's variables.
import { ENV_MARKER } from './dialect.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { Environment } from './environment.ts';
import type { SecretFiles } from './secret-files.ts';
import { below, isInert, isUnknown, SCHEMA, typesOf, type SchemaNode } from './schema.ts';
import {
  memberOf,
  nodeAt,
  type MapTree,
  type Member,
  type Path,
  type ScalarTree,
  type Tree,
} from './tree.ts';

/** The process environment, overridden by the file's `environment_variables`. */
export function environmentOf(root: Tree, env: Environment, files: SecretFiles): Environment {
  const own = memberOf(root, 'environment_variables');
  if (own?.kind !== 'map') return env;
  const over: Record<string, string | undefined> = { ...env };
  for (const [name, { tree }] of own.members) {
    if (tree.kind !== 'scalar' || tree.value === null) continue;
    const text = String(tree.value);
    // A variable may refer to the process environment, never to another one of the file: their order must not matter.
    over[name] = text.startsWith(ENV_MARKER) ? valueOf(text.slice(ENV_MARKER.length), env, files) : text;
  }
  return over;
}

function valueOf(name: string, env: Environment, files: SecretFiles): string | undefined {
  const file = files.ofVariable(name, env);
  return file?.ok === true ? file.text : env[name];
}

/** Variables that are not set or broken, with all places that want them. */
type Missing = Map<string, { readonly message: string; readonly fix: string; readonly paths: Path[] }>;

/**
 * The tree with every reference replaced. A variable that is not set is one error, at its first place.
 * @param files where `NAME_FILE` leads
 */
export function withReferences(
  root: Tree,
  env: Environment,
  own: Environment,
  files: SecretFiles,
  diagnostics: Diagnostics,
): Tree {
  const missing: Missing = new Map();
  const mayLeaveOut = !failsClosed(root, own, files);
  const visit = (tree: Tree, schema: SchemaNode | undefined, path: Path, names: Environment): Tree => {
    if (tree.kind === 'scalar')
      return resolved(tree, schema, path, { env: names, files, missing, diagnostics });
    if (tree.kind === 'list') {
      const items = tree.items.map((item, index) => visit(item, schema?.items, [...path, index], names));
      return items.every((item, index) => item === tree.items[index]) ? tree : { ...tree, items };
    }
    let changed: Map<string, Member> | null = null;
    for (const [key, member] of tree.members) {
      if (member.tree.kind === 'scalar' && !refers(member.tree)) continue; // most values; no path is built for them
      const schemaBelow = below(schema, key);
      if (isInert(schemaBelow) || isUnknown(schema, key)) continue;
      if (mayLeaveOut && isLeftOut(member.tree, schemaBelow, names, files)) {
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
  const result = visit(root, SCHEMA, [], own);
  for (const { message, fix, paths } of missing.values()) diagnostics.errorAt(paths, message, fix);
  return result;
}

interface Sources {
  readonly env: Environment;
  readonly files: SecretFiles;
  readonly missing: Missing;
  readonly diagnostics: Diagnostics;
}

function resolved(
  tree: ScalarTree,
  schema: SchemaNode | undefined,
  path: Path,
  { env, files, missing, diagnostics }: Sources,
): ScalarTree {
  if (!refers(tree)) return tree;
  const name = String(tree.value).slice(ENV_MARKER.length);
  if (name === '') {
    diagnostics.error(path, `${ENV_MARKER} names no variable`, `write ${ENV_MARKER}NAME`);
    return tree;
  }
  if (!/^\w+$/.test(name)) {
    const message = `${ENV_MARKER} is followed by something that is no name of a variable`;
    diagnostics.error(path, message, `write ${ENV_MARKER}NAME: letters, digits and _ only`);
    return tree;
  }
  const file = files.ofVariable(name, env);
  const text = file?.ok === true ? file.text : env[name];
  if (text !== undefined && text !== '') {
    if (file?.ok === true && file.warning !== null)
      diagnostics.warn(
        path,
        `${ENV_MARKER}${name} comes from '${file.path}', which ${file.warning}`,
        'chmod 600 it',
      );
    return { ...tree, value: converted(text, typesOf(schema)), reference: name };
  }
  const before = missing.get(name);
  if (before === undefined) missing.set(name, { ...whyMissing(name, text, file), paths: [path] });
  else before.paths.push(path);
  diagnostics.markBroken(path);
  return tree;
}

function whyMissing(
  name: string,
  text: string | undefined,
  file: ReturnType<SecretFiles['ofVariable']>,
): { readonly message: string; readonly fix: string } {
  if (file?.ok === false)
    return {
      message: `${ENV_MARKER}${name}: ${name}_FILE names '${file.path}', which ${file.message}`,
      fix: file.fix,
    };
  const state = text === undefined ? 'is not set' : 'is set but empty';
  return {
    message: `${ENV_MARKER}${name} ${state}`,
    fix: `set the environment variable ${name}, or add it to environment_variables`,
  };
}

/** What refuses calls while the counters that servers share are away. */
const FAIL_CLOSED: readonly Path[] = [
  ['general_settings', 'fail_closed_rate_limit_enforcement'],
  ['general_settings', 'fail_closed_budget_enforcement'],
  ['general_settings', 'idempotency', 'fail_closed'],
];

/** Then where servers count together may not be left out: each one would count for itself and refuse nothing. */
const failsClosed = (root: Tree, env: Environment, files: SecretFiles): boolean =>
  FAIL_CLOSED.some((path) => {
    const stated = nodeAt(root, path);
    if (stated?.kind !== 'scalar') return false;
    if (!refers(stated)) return stated.value !== false && stated.value !== null;
    // Without a value it is an error of its own.
    const text = valueOf(String(stated.value).slice(ENV_MARKER.length), env, files);
    return text === undefined || converted(text, ['boolean']) !== false;
  });

function isLeftOut(
  tree: Tree,
  schema: SchemaNode | undefined,
  env: Environment,
  files: SecretFiles,
): boolean {
  if (schema?.['x-optional'] !== true || tree.kind !== 'scalar' || !refers(tree)) return false;
  const name = String(tree.value).slice(ENV_MARKER.length);
  return name !== '' && (env[name] ?? '') === '' && files.ofVariable(name, env) === null;
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
