// The entries of a configuration with their lines; and what of a configuration that is refused can be probed all the same:
// wrong spellings of api_base are put right, other broken entries are left out.
import { basename } from 'node:path';
import { overlay, type ConfigSource, type Environment, type Loaded } from '../../config/load.ts';
import { baseOf } from '../../config/resolve/api-base.ts';
import { splitModelName } from '../../config/resolve/kinds/table.ts';
import { DEFAULT_WORDS, dialectOf, ENV_MARKER } from '../../config/dialect.ts';
import { byPlace } from '../../config/diagnostics.ts';
import type { Issue } from '../../config/issue.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { readText } from '../../config/read.ts';
import { readSource } from '../../config/source.ts';
import { memberOf, nodeAt, placeIn, withMember, type Path, type Tree } from '../../config/tree.ts';

/** A configuration as far as the doctor can use it. */
export interface Inspected {
  readonly issues: readonly Issue[];
  /** It can be served as it is. */
  readonly isServed: boolean;
  /** null = nothing of it can be probed. */
  readonly snapshot: Snapshot | null;
  readonly source: ConfigSource | null;
  /** Entries that are left out, for what they lack. */
  readonly leftOut: number;
}

/** An entry with the lines that its findings name. */
export interface Entry {
  readonly deployment: Deployment;
  /** Of the entry; null = a runtime model. */
  readonly place: string | null;
  readonly modelPlace: string | null;
  readonly basePlace: string | null;
  readonly keyPlace: string | null;
}

export function inspect(path: string, env: Environment): Inspected {
  const read = readSource(path, readText); // once: a pipe gives its text one time
  if (!read.ok)
    return {
      issues: read.issues.toSorted(byPlace),
      isServed: false,
      snapshot: null,
      source: null,
      leftOut: 0,
    };
  const loaded = overlay(read.source, env, []);
  if (loaded.ok) {
    const { snapshot, source } = loaded;
    return { issues: snapshot.warnings, isServed: true, snapshot, source, leftOut: 0 };
  }
  const { issues } = loaded;
  const nothing = { issues, isServed: false, snapshot: null, source: read.source, leftOut: 0 };
  const broken = brokenEntries(issues);
  if (broken === null) return nothing;
  const { source, dropped } = repaired(read.source, broken);
  const again: Loaded = overlay(source, env, []);
  if (!again.ok) return nothing;
  return { issues, isServed: false, snapshot: again.snapshot, source, leftOut: dropped };
}

/** The entries with an error, and whether api_base is all that is wrong; null = something else is wrong, too. */
function brokenEntries(issues: readonly Issue[]): ReadonlyMap<number, 'base' | 'other'> | null {
  const broken = new Map<number, 'base' | 'other'>();
  for (const { severity, path } of issues) {
    if (severity === 'warning') continue;
    const [, index, rest = ''] = /^model_list\[(\d+)\](.*)$/.exec(path) ?? [];
    if (index === undefined) return null;
    const isBase = rest === '.litellm_params.api_base' && broken.get(Number(index)) !== 'other';
    broken.set(Number(index), isBase ? 'base' : 'other');
  }
  return broken;
}

function repaired(
  source: ConfigSource,
  broken: ReadonlyMap<number, 'base' | 'other'>,
): { readonly source: ConfigSource; readonly dropped: number } {
  const { tree } = source;
  const list = memberOf(tree, 'model_list');
  if (tree.kind !== 'map' || list?.kind !== 'list') return { source, dropped: 0 };
  const items = list.items.flatMap((item, index) => {
    const what = broken.get(index);
    if (what === undefined) return [item];
    const fixed = what === 'base' ? withRightBase(item, tree) : null;
    return fixed === null ? [] : [fixed];
  });
  const dropped = list.items.length - items.length;
  return { source: { ...source, tree: withMember(tree, 'model_list', { ...list, items }) }, dropped };
}

function withRightBase(entry: Tree, root: Tree): Tree | null {
  const params = memberOf(entry, 'litellm_params');
  const base = memberOf(params, 'api_base');
  const model = textAt(params, 'model');
  if (entry.kind !== 'map' || params?.kind !== 'map' || base?.kind !== 'scalar' || model === null)
    return null;
  const words = memberOf(memberOf(root, 'general_settings'), 'dialect');
  const dialect = dialectOf({
    ...DEFAULT_WORDS,
    brand: textAt(words, 'brand') ?? DEFAULT_WORDS.brand,
    compat: textAt(words, 'compat') ?? DEFAULT_WORDS.compat,
  });
  const { kind } = splitModelName(model, textAt(params, 'custom_llm_provider') ?? undefined, dialect);
  if (kind === null || typeof base.value !== 'string') return null;
  const check = baseOf(base.value, kind);
  if (check.ok || check.instead === null) return null;
  const right: Tree = { ...base, value: check.instead };
  return withMember(entry, 'litellm_params', withMember(params, 'api_base', right));
}

function textAt(tree: Tree | undefined, key: string): string | null {
  const node = memberOf(tree, key);
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : null;
}

/** Every deployment with its lines: those of the file stand in its order, some entries of the file may be skipped. */
export function entriesOf(snapshot: Snapshot, source: ConfigSource | null): readonly Entry[] {
  const tree = source?.tree;
  const list = memberOf(tree, 'model_list');
  const count = list?.kind === 'list' ? list.items.length : 0;
  let next = 0;
  return snapshot.deployments.map((deployment) => {
    const none = { deployment, place: null, modelPlace: null, basePlace: null, keyPlace: null };
    if (deployment.source === 'runtime' || tree === undefined) return none;
    for (; next < count; next += 1) {
      const path: Path = ['model_list', next];
      if (!isAbout(nodeAt(tree, path), deployment)) continue;
      next += 1;
      const place = placeAt(tree, path);
      const params = [...path, 'litellm_params'];
      return {
        deployment,
        place,
        modelPlace: placeAt(tree, [...params, 'model']) ?? place,
        basePlace: placeAt(tree, [...params, 'api_base']) ?? place,
        keyPlace: placeAt(tree, [...params, 'api_key']) ?? place,
      };
    }
    return none;
  });
}

function isAbout(entry: Tree | undefined, { group, model }: Deployment): boolean {
  const name = textAt(entry, 'model_name') ?? '';
  const written = textAt(memberOf(entry, 'litellm_params'), 'model') ?? '';
  const same = (text: string, value: string): boolean => text === value || text.startsWith(ENV_MARKER);
  return same(name, group) && same(written, model);
}

/** `gateway.yaml:14`, without folders: the report may go to other people. */
export function placeAt(tree: Tree, path: Path): string | null {
  const node = nodeAt(tree, path);
  if (node === undefined || node.file.lineStarts === null) return null;
  return `${basename(node.file.name)}:${placeIn(node.file, node.offset).line}`;
}

export function placeOfIssue({ file, line }: Issue): string {
  return line > 0 ? `${basename(file)}:${line}` : basename(file);
}
