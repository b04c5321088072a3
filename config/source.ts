// Reads a configuration file and its includes into one tree. Reloads start here, and runtime additions are merged into
// its result. Apart from the includes it resolves and validates nothing.
import { createHash } from 'node:crypto';
import { dirname, join, isAbsolute, resolve } from 'node:path';
import { Diagnostics } from './diagnostics.ts';
import type { Issue } from './issue.ts';
import { parse } from './parse.ts';
import { identityOf, type ReadText } from './read.ts';
import type { SecretText } from './secret-files.ts';
import { memberOf, type MapTree, type Member, type Tree } from './tree.ts';

/** The text that was read, parsed and merged; kept with the snapshot made from it. */
export interface ConfigSource {
  /** Absolute paths, the main file first; files of secrets come last. */
  readonly files: readonly string[];
  readonly tree: Tree;
  /** Lower-case hex SHA-256 over the texts in reading order. */
  readonly digest: string;
  /** What the files of secrets held when the text was loaded, by path. */
  readonly secrets: ReadonlyMap<string, SecretText>;
  /** The identities of all files when they were read, by absolute path. */
  readonly read: ReadonlyMap<string, string>;
}

export type ReadSource =
  | { readonly ok: true; readonly source: ConfigSource }
  | { readonly ok: false; readonly issues: readonly Issue[]; readonly read: ReadonlyMap<string, string> };

interface Pending {
  /** The name that issues print. */
  readonly name: string;
  /** Absolute paths of the files that led here. */
  readonly chain: readonly string[];
  readonly identity: string;
  /** Read once: a pipe gives its text one time. */
  readonly read: ReadText;
}

/**
 * Reads a file and its includes (paths are relative to the folder of the main file, also in included files).
 * @param readText `readTextAgain` in a process that serves
 */
export function readSource(path: string, readText: (path: string) => ReadText): ReadSource {
  const folder = dirname(path);
  const files: string[] = [];
  const identities = new Map<string, string>();
  const hash = createHash('sha256');
  const issues: Issue[] = [];
  const pending: Pending[] = [{ name: path, chain: [], identity: identityOf(path), read: readText(path) }];
  let joined: Tree | null = null;

  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const absolute = resolve(next.name);
    files.push(absolute);
    identities.set(absolute, next.identity);
    const { read } = next;
    if (!read.ok) {
      // takeIncludes tells of included files that cannot be read, so this is the main file.
      issues.push({
        severity: 'error',
        file: next.name,
        line: 0,
        column: 0,
        path: '',
        message: read.message,
        fix: read.fix,
      });
      break;
    }
    hash.update(read.text).update('\0');
    const parsed = parse(next.name, read.text);
    if (!parsed.ok) {
      issues.push(...parsed.issues);
      continue;
    }
    const chain = [...next.chain, absolute];
    const waiting = [...files, ...pending.map((one) => resolve(one.name))];
    const { tree, included, problems, missing } = takeIncludes(parsed.tree, folder, waiting, chain, readText);
    for (const [path, identity] of missing) identities.set(path, identity);
    issues.push(...problems);
    pending.push(...included);
    joined = joined === null ? tree : merged(joined, tree);
  }
  if (issues.length > 0 || joined === null) return { ok: false, issues, read: identities };
  return {
    ok: true,
    source: Object.freeze({
      files,
      tree: joined,
      digest: hash.digest('hex'),
      secrets: new Map(),
      read: identities,
    }),
  };
}

/** The tree without its `include`, and the files that it includes. @param others that were read or wait for their turn */
function takeIncludes(
  tree: Tree,
  folder: string,
  others: readonly string[],
  chain: readonly string[],
  readText: (path: string) => ReadText,
) {
  const diagnostics = new Diagnostics(tree);
  const included: Pending[] = [];
  const missing = new Map<string, string>();
  const list = memberOf(tree, 'include');
  const known = new Set(others);
  const items = list?.kind === 'list' ? list.items : [];
  if (list !== undefined && list.kind !== 'list' && !(list.kind === 'scalar' && list.value === null))
    diagnostics.error(
      ['include'],
      'must be a list of file paths',
      'write each path on a line of its own: - models.yaml',
    );
  items.forEach((item, index) => {
    const path = ['include', index];
    const text = item.kind === 'scalar' && typeof item.value === 'string' ? item.value : '';
    if (text === '') return diagnostics.error(path, 'must be a file path', 'write it as text: - models.yaml');
    const name = isAbsolute(text) ? text : join(folder, text);
    const absolute = resolve(name);
    if (chain.includes(absolute))
      return diagnostics.error(
        path,
        `'${text}' includes itself, directly or through other files`,
        'remove this line',
      );
    if (known.has(absolute))
      return diagnostics.error(
        path,
        `'${text}' is included twice; its entries would be duplicated`,
        'remove one of the two',
      );
    const identity = identityOf(name);
    const read = readText(name);
    if (!read.ok) {
      missing.set(absolute, identity);
      return diagnostics.error(
        path,
        `'${text}' ${read.message.replace(/^the file /, '')}`,
        includeFix(read.fix),
      );
    }
    known.add(absolute);
    included.push({ name, chain, identity, read });
  });
  return { tree: without(tree, 'include'), included, problems: diagnostics.issues(), missing };
}

function includeFix(fix: string): string {
  return fix.startsWith('check the path;')
    ? 'check the path; it is relative to the folder of the main file'
    : fix;
}

function without(tree: Tree, key: string): Tree {
  if (tree.kind !== 'map' || !tree.members.has(key)) return tree;
  const members = new Map(tree.members);
  members.delete(key);
  return { ...tree, members };
}

/** Concatenates lists and merges mappings; for any other value the later file wins. */
function merged(base: Tree, over: Tree): Tree {
  if (base.kind === 'list' && over.kind === 'list') return { ...base, items: [...base.items, ...over.items] };
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const members = new Map<string, Member>(base.members);
  for (const [key, member] of over.members) {
    const old = members.get(key);
    members.set(key, old === undefined ? member : { ...member, tree: merged(old.tree, member.tree) });
  }
  const result: MapTree = { ...base, members };
  return result;
}
