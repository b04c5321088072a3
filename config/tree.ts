// A configuration's text as a tree in which every value knows its file and offset. Parsing, includes, references and
// validation all use it, so that each issue can name file, line and column.

/** A text that positions refer to. `lineStarts` null = no lines, e.g. an entry from the admin API. */
export interface TextFile {
  /** The name that issues print. */
  readonly name: string;
  /** Offset of the first character of each line. */
  readonly lineStarts: readonly number[] | null;
}

export interface ScalarTree {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** Whether the file has it in quotes, so that it is text whatever it looks like. */
  readonly isQuoted?: boolean;
  /** Name of the environment variable the value was read from, or `file PATH`; else null. */
  readonly reference: string | null;
  readonly file: TextFile;
  readonly offset: number;
}

interface ListTree {
  readonly kind: 'list';
  readonly items: readonly Tree[];
  readonly file: TextFile;
  readonly offset: number;
}

export interface Member {
  readonly tree: Tree;
  readonly keyFile: TextFile;
  readonly keyOffset: number;
}

export interface MapTree {
  readonly kind: 'map';
  readonly members: ReadonlyMap<string, Member>;
  readonly file: TextFile;
  readonly offset: number;
}

/** A value of the file with its place. */
export type Tree = ScalarTree | ListTree | MapTree;

/** Keys and list positions from the root. */
export type Path = readonly (string | number)[];

/** A text with the offsets of its line starts. */
export function textFile(name: string, text: string): TextFile {
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);
  return { name, lineStarts };
}

/** Line and column, from 1; both 0 where the file has no lines. */
export function placeIn(file: TextFile, offset: number): { readonly line: number; readonly column: number } {
  const starts = file.lineStarts;
  if (starts === null) return { line: 0, column: 0 };
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

/** The node at a path, or undefined. */
export function nodeAt(root: Tree, path: Path): Tree | undefined {
  let node: Tree | undefined = root;
  for (const step of path) {
    if (node?.kind === 'map') node = node.members.get(String(step))?.tree;
    else if (node?.kind === 'list') node = node.items[Number(step)];
    else return undefined;
  }
  return node;
}

/** The member `key` of a mapping, or undefined for other kinds. */
export function memberOf(tree: Tree | undefined, key: string): Tree | undefined {
  return tree?.kind === 'map' ? tree.members.get(key)?.tree : undefined;
}

/** The same mapping with one member set; an existing one keeps its key's place. */
export function withMember(tree: MapTree, key: string, value: Tree): MapTree {
  const members = new Map(tree.members);
  const old = members.get(key);
  members.set(key, {
    tree: value,
    keyFile: old?.keyFile ?? value.file,
    keyOffset: old?.keyOffset ?? value.offset,
  });
  return { ...tree, members };
}

/** `model_list[2].litellm_params.api_base` */
export function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** A plain JSON value as a tree without lines. @throws RangeError when it is nested too deeply for the stack. */
export function treeOf(value: unknown, file: TextFile): Tree {
  if (Array.isArray(value))
    return { kind: 'list', items: value.map((item: unknown) => treeOf(item, file)), file, offset: 0 };
  if (typeof value === 'object' && value !== null) {
    const members = new Map<string, Member>();
    for (const [key, member] of Object.entries(value))
      if (member !== undefined) members.set(key, { tree: treeOf(member, file), keyFile: file, keyOffset: 0 });
    return { kind: 'map', members, file, offset: 0 };
  }
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return { kind: 'scalar', value: scalar ? value : null, reference: null, file, offset: 0 };
}

/** The plain value of a tree. A key `__proto__` becomes an ordinary member. */
export function plainOf(tree: Tree): unknown {
  if (tree.kind === 'scalar') return tree.value;
  if (tree.kind === 'list') return tree.items.map(plainOf);
  return Object.fromEntries([...tree.members].map(([key, member]) => [key, plainOf(member.tree)]));
}
