// Collects the issues of a configuration while it is read and resolved, and gives each one its file, line and column.
// The caller decides whether an issue is an error or a warning.
import type { Issue } from './issue.ts';
import { nodeAt, pathText, placeIn } from './tree.ts';
import type { Path, TextFile, Tree } from './tree.ts';

/** The "file" of entries that came through the admin API. */
export const RUNTIME_FILE: TextFile = Object.freeze({ name: '<model/new>', lineStarts: null });

interface LocatedIssue {
  readonly path: Path;
  readonly issue: Issue;
}

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
    this.#add('error', path, message, fix, at);
    this.markBroken(path);
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
    this.#add('warning', path, message, fix, at);
  }

  /** Whether there is no error at or below a path. */
  isSound(path: Path): boolean {
    return !this.#broken.has(pathText(path));
  }

  /** Every issue that `keep` accepts, sorted by file, line and column. */
  issues(keep: (path: Path, severity: Issue['severity']) => boolean = () => true): readonly Issue[] {
    const kept = this.#found
      .filter((located) => keep(located.path, located.issue.severity))
      .map((located) => located.issue);
    return kept.sort(byPlace);
  }

  #add(severity: Issue['severity'], path: Path, message: string, fix: string, at: 'value' | 'key'): void {
    const { file, offset } = this.#spot(path, at);
    // An admin API caller sent one entry; its position in our list would mean nothing to them.
    const shown = file === RUNTIME_FILE ? path.slice(2) : path;
    const issue = {
      severity,
      file: file.name,
      ...placeIn(file, offset),
      path: pathText(shown),
      message,
      fix,
    };
    this.#found.push({ path, issue });
  }

  /** The place of the value; without a value, the place of the nearest key above. */
  #spot(path: Path, at: 'value' | 'key'): { file: TextFile; offset: number } {
    for (let depth = path.length; depth > 0; depth -= 1) {
      const node = nodeAt(this.#root, path.slice(0, depth));
      if (node === undefined) continue;
      const parent = nodeAt(this.#root, path.slice(0, depth - 1));
      const member = parent?.kind === 'map' ? parent.members.get(String(path[depth - 1])) : undefined;
      const wantsKey = at === 'key' || depth < path.length || node.kind === 'map';
      if (member !== undefined && wantsKey) return { file: member.keyFile, offset: member.keyOffset };
      return node;
    }
    return this.#root;
  }
}

/** Sorts by file, line, column; issues without a line come last. */
export function byPlace(a: Issue, b: Issue): number {
  if (a.file !== b.file) return (a.line === 0 ? 1 : 0) - (b.line === 0 ? 1 : 0) || (a.file < b.file ? -1 : 1);
  return a.line - b.line || a.column - b.column;
}
