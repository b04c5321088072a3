// Collects the issues of a configuration while it is read and resolved, and gives each one its file, line and column.
// The caller decides whether an issue is an error or a warning.
import type { Issue, Waiver } from './issue.ts';
import { nodeAt, pathText, placeIn, type Path, type TextFile, type Tree } from './tree.ts';

/** The "file" of entries that came through the admin API. */
export const RUNTIME_FILE: TextFile = Object.freeze({ name: '<model/new>', lineStarts: null });

interface LocatedIssue {
  /** All places it is about; the first one that counts is shown as its place. */
  readonly paths: readonly Path[];
  readonly at: 'value' | 'key';
  readonly severity: Issue['severity'];
  readonly message: string;
  readonly fix: string;
  readonly waiver: Waiver | null;
  /** The tree at the time it was found, where its places are looked up. */
  readonly root: Tree;
}

/** More places than this are counted, not named. */
const PLACES_NAMED = 3;

/** All issues about one tree. */
export class Diagnostics {
  #root: Tree;
  readonly #found: LocatedIssue[] = [];
  readonly #broken = new Set<string>();

  constructor(root: Tree) {
    this.#root = root;
  }

  /** `at: 'key'` points at the key instead of the value. */
  error(path: Path, message: string, fix: string, at: 'value' | 'key' = 'value'): void {
    this.#add('error', [path], message, fix, at);
    this.markBroken(path);
  }

  /** An error that is a warning where the file asks for that. */
  errorUnless(waiver: Waiver, path: Path, message: string, fix: string, at: 'value' | 'key' = 'value'): void {
    this.#add('error', [path], message, fix, at, waiver);
    this.markBroken(path);
  }

  /** One error about several places, at least one. */
  errorAt(paths: readonly Path[], message: string, fix: string): void {
    this.#add('error', paths, message, fix, 'value');
    for (const path of paths) this.markBroken(path);
  }

  /** One warning about several places, at least one. */
  warnAt(paths: readonly Path[], message: string, fix: string): void {
    this.#add('warning', paths, message, fix, 'value');
  }

  /** Marks a path and everything above it as broken without adding an issue: the error is reported elsewhere. */
  markBroken(path: Path): void {
    for (let depth = 0; depth <= path.length; depth += 1) this.#broken.add(pathText(path.slice(0, depth)));
  }

  /** From now on places are looked up in `root`, a later version of the same tree. */
  setTree(root: Tree): void {
    this.#root = root;
  }

  warn(path: Path, message: string, fix: string, at: 'value' | 'key' = 'value'): void {
    this.#add('warning', [path], message, fix, at);
  }

  /** Whether there is no error at or below a path. */
  isSound(path: Path): boolean {
    return !this.#broken.has(pathText(path));
  }

  /** Every issue that `keep` accepts, sorted by file, line and column. */
  issues(keep: (path: Path, severity: Issue['severity']) => boolean = () => true): readonly Issue[] {
    const issues = this.#found.flatMap((found) => {
      const paths = found.paths.filter((path) => keep(path, found.severity));
      return paths.length === 0 ? [] : [issueOf(found, paths)];
    });
    return issues.sort(byPlace);
  }

  #add(
    severity: Issue['severity'],
    paths: readonly Path[],
    message: string,
    fix: string,
    at: 'value' | 'key',
    waiver: Waiver | null = null,
  ): void {
    this.#found.push({ paths, at, severity, message, fix, waiver, root: this.#root });
  }
}

function issueOf(found: LocatedIssue, paths: readonly Path[]): Issue {
  const { root, at, severity, message, fix, waiver } = found;
  const [first = [], ...others] = paths;
  const { file, offset } = spotOf(root, first, at);
  // An admin API caller sent one entry; its position in our list would mean nothing to them.
  const shown = file === RUNTIME_FILE ? first.slice(2) : first;
  return {
    severity,
    file: file.name,
    ...placeIn(file, offset),
    path: pathText(shown),
    message: `${message}${othersText(
      file,
      others.map((path) => spotOf(root, path, at)),
    )}`,
    fix,
    ...(waiver === null ? {} : { waiver }),
  };
}

/** ` (also in line 12, 18, 24 and 26 other places)` */
function othersText(file: TextFile, others: readonly Spot[]): string {
  if (others.length === 0) return '';
  const lines = new Set<string>();
  for (const spot of others) {
    const { line } = placeIn(spot.file, spot.offset);
    if (line > 0) lines.add(spot.file === file ? `line ${line}` : `${spot.file.name}:${line}`);
  }
  if (lines.size === 0) return ` (in ${others.length + 1} places)`;
  const named = [...lines].slice(0, PLACES_NAMED);
  const more = lines.size - named.length;
  return ` (also ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

interface Spot {
  readonly file: TextFile;
  readonly offset: number;
}

/** The place of the value; without a value, the place of the nearest key above. */
function spotOf(root: Tree, path: Path, at: 'value' | 'key'): Spot {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const node = nodeAt(root, path.slice(0, depth));
    if (node === undefined) continue;
    const parent = nodeAt(root, path.slice(0, depth - 1));
    const member = parent?.kind === 'map' ? parent.members.get(String(path[depth - 1])) : undefined;
    const wantsKey = at === 'key' || depth < path.length || node.kind === 'map';
    if (member !== undefined && wantsKey) return { file: member.keyFile, offset: member.keyOffset };
    return node;
  }
  return root;
}

/** Sorts by file, line, column; issues without a line come last. */
export function byPlace(a: Issue, b: Issue): number {
  if (a.file !== b.file) return (a.line === 0 ? 1 : 0) - (b.line === 0 ? 1 : 0) || (a.file < b.file ? -1 : 1);
  return a.line - b.line || a.column - b.column;
}
