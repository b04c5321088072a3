// Secrets that stand in files: `api_key_file: /run/secrets/key`, and `NAME_FILE` beside a variable NAME that is not set.
// Kubernetes mounts and Vault agent write such files. Each file is read once per load, so that all places and all
// workers see one content; whoever watches learns the paths from `used`.
import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Diagnostics } from './diagnostics.ts';
import { identityOf, readWatchedText } from './read.ts';
import type { Environment } from './environment.ts';
import { below, isInert, SCHEMA, type SchemaNode } from './schema.ts';
import type { Member, Path, Tree } from './tree.ts';

/** The content of a file without its line break at the end, or what is wrong with the file. */
export type SecretText =
  | { readonly ok: true; readonly text: string; readonly warning: string | null }
  | { readonly ok: false; readonly message: string; readonly fix: string };

/** Keys have hundreds of characters; a token with many claims has some thousands. */
const LIMIT_BYTES = 64 * 1024;
/** The authorities of a system have some 220 KB. */
const BUNDLE_LIMIT_BYTES = 4 * 1024 * 1024;
const SUFFIX = '_FILE';
/** Variables that are read without being named in a configuration. */
const READ_ANYWAY = [
  'PROXY_MASTER_KEY',
  'LITELLM_MASTER_KEY',
  'DATABASE_URL',
  'DATABASE_PASSWORD',
  'REDIS_URL',
  'REDIS_PASSWORD',
];

/** The files of one load. */
export class SecretFiles {
  readonly #folder: string;
  readonly #known: ReadonlyMap<string, SecretText>;
  readonly #used = new Map<string, SecretText>();
  readonly #identities = new Map<string, string>();

  /** @param folder what relative paths start at. @param known what an earlier load of the same text has read */
  constructor(folder: string, known: ReadonlyMap<string, SecretText> = new Map()) {
    this.#folder = folder;
    this.#known = known;
  }

  /** By absolute path: what was asked for. */
  get used(): ReadonlyMap<string, SecretText> {
    return this.#used;
  }

  /** The identities of those that were read here, by absolute path. */
  get identities(): ReadonlyMap<string, string> {
    return this.#identities;
  }

  read(path: string): SecretText {
    return this.#take(path, readSecret);
  }

  /** The same for certificates, which may be many and which everybody may read. */
  readBundle(path: string): SecretText {
    return this.#take(path, readBundle);
  }

  #take(path: string, readNow: (absolute: string) => SecretText): SecretText {
    const absolute = isAbsolute(path) ? resolve(path) : join(this.#folder, path);
    const known = this.#used.get(absolute) ?? this.#known.get(absolute);
    if (known === undefined) this.#identities.set(absolute, identityOf(absolute));
    const text = known ?? readNow(absolute);
    this.#used.set(absolute, text);
    return text;
  }

  /** What a variable's `NAME_FILE` holds; null when the variable itself is set, or there is no such file. */
  ofVariable(name: string, env: Environment): (SecretText & { readonly path: string }) | null {
    if ((env[name] ?? '') !== '') return null;
    const path = env[`${name}${SUFFIX}`] ?? '';
    return path === '' ? null : { ...this.read(path), path };
  }
}

/** The environment with the variables that are read anyway taken from their files. */
export function withFileVariables(
  env: Environment,
  files: SecretFiles,
  diagnostics: Diagnostics,
  names: readonly string[] = READ_ANYWAY,
): Environment {
  const over: Record<string, string | undefined> = { ...env };
  for (const name of names) {
    const found = files.ofVariable(name, env);
    if (found === null) continue;
    if (found.ok) over[name] = found.text;
    else diagnostics.error([], `${name}${SUFFIX} names a file that ${found.message}`, found.fix);
    if (found.ok && found.warning !== null) diagnostics.warn([], `${name}${SUFFIX}: ${found.warning}`, CLOSE);
  }
  return over;
}

/** The tree with the content of each file in the place of its path. @param root with references resolved */
export function withSecretFiles(root: Tree, files: SecretFiles, diagnostics: Diagnostics): Tree {
  const visit = (tree: Tree, schema: SchemaNode | undefined, path: Path): Tree => {
    if (tree.kind === 'scalar' || schema === undefined) return tree;
    if (tree.kind === 'list') {
      const items = tree.items.map((item, index) => visit(item, schema.items, [...path, index]));
      return items.every((item, index) => item === tree.items[index]) ? tree : { ...tree, items };
    }
    let changed: Map<string, Member> | null = null;
    for (const [key, member] of tree.members) {
      const inner = below(schema, key);
      if (inner === undefined || isInert(inner)) continue;
      const target = inner['x-file-of'];
      if (target === undefined) {
        if (member.tree.kind === 'scalar') continue;
        const value = visit(member.tree, inner, [...path, key]);
        if (value === member.tree) continue;
        changed ??= new Map(tree.members);
        changed.set(key, { ...member, tree: value });
      } else {
        const value = contentAt(
          member.tree,
          [...path, key],
          tree.members.get(target),
          target,
          files,
          diagnostics,
        );
        if (value === null) continue; // it stays, so that the validation finds the value itself not to be missing
        changed ??= new Map(tree.members);
        changed.delete(key);
        changed.set(target, { ...member, tree: value });
      }
    }
    return changed === null ? tree : { ...tree, members: changed };
  };
  return visit(root, SCHEMA, []);
}

function contentAt(
  tree: Tree,
  path: Path,
  other: Member | undefined,
  target: string,
  files: SecretFiles,
  diagnostics: Diagnostics,
): Tree | null {
  if (tree.kind !== 'scalar' || typeof tree.value !== 'string' || tree.value === '') return null; // the validation says so
  if (!diagnostics.isSound(path)) return null; // a reference that is not set
  if (other !== undefined && !(other.tree.kind === 'scalar' && other.tree.value === null)) {
    diagnostics.error(
      path,
      `stands beside ${target}, and only one of them can hold`,
      'remove one of the two',
      'key',
    );
    return null;
  }
  const found = files.read(tree.value);
  if (!found.ok) {
    diagnostics.error(path, `'${tree.value}' ${found.message}`, found.fix);
    return null;
  }
  if (found.warning !== null) diagnostics.warn(path, `'${tree.value}' ${found.warning}`, CLOSE);
  return { ...tree, value: found.text, reference: `${FILE_MARKER}${tree.value}` };
}

/** Begins the `reference` of a value that was read from a file. */
export const FILE_MARKER = 'file ';
const CLOSE = 'chmod 600 it, for the user that runs the proxy';

function readBundle(path: string): SecretText {
  const read = readWatchedText(path, BUNDLE_LIMIT_BYTES);
  if (!read.ok) return { ...read, message: read.message.replace(/^the file /, '') };
  return { ...read, warning: null };
}

function readSecret(path: string): SecretText {
  const read = readWatchedText(path, LIMIT_BYTES);
  if (!read.ok) return { ...read, message: read.message.replace(/^the file /, '') };
  const text = read.text.replace(/(?:\r?\n)+$/, '');
  if (text.trim() === '')
    return {
      ok: false,
      message: 'is empty',
      fix: 'write the secret into it; what is served stays meanwhile',
    };
  return { ok: true, text, warning: tooWide(path) };
}

/** Kubernetes (a `..data` link in the folder) and Docker (/run/secrets) mount secrets that every user of the container may read. */
function tooWide(path: string): string | null {
  try {
    const { mode } = statSync(path);
    if ((mode & 0o022) !== 0) return 'may be written by other users of this machine';
    if ((mode & 0o004) === 0 || path.startsWith('/run/secrets/') || isMount(path)) return null;
    return 'may be read by every user of this machine';
  } catch {
    return null; // gone in between: the next look finds out
  }
}

function isMount(path: string): boolean {
  try {
    if (lstatSync(path).isSymbolicLink() && readlinkSync(path).startsWith('..data/')) return true;
    return lstatSync(join(dirname(path), '..data')).isSymbolicLink();
  } catch {
    return false;
  }
}
