// Collects findings: one per field, in the order in which the fields stand in their files.
import { pathText, type Path } from '../tree.ts';
import type { Finding, Level } from './finding.ts';
import type { Origins } from './origins.ts';

export class Findings {
  readonly #origins: Origins;
  readonly #found: Finding[] = [];
  /** Indexes in `#found`: there are as many findings as fields, and most are asked for. */
  readonly #byPath = new Map<string, readonly number[]>();
  readonly #positions = new WeakMap<object, number>();
  #prefix: Path = [];

  constructor(origins: Origins) {
    this.#origins = origins;
  }

  /** Paths from now on begin below here: `litellm-helm.proxy_config`. */
  startAt(prefix: Path): void {
    this.#prefix = prefix;
  }

  /** An entry of a list stood at this position in the file. */
  startsAs(item: unknown, index: number): void {
    if (typeof item === 'object' && item !== null) this.#positions.set(item, index);
  }

  /** Where an entry of a list stood. */
  positionOf(item: unknown, index: number): number {
    return (typeof item === 'object' && item !== null ? this.#positions.get(item) : undefined) ?? index;
  }

  has(path: Path): boolean {
    return this.#byPath.has(pathText([...this.#prefix, ...path]));
  }

  /** @param node of the pair or value; says where it stood */
  add(node: unknown, path: Path, level: Level, message: string, isProtected = false): void {
    const { file, line } = this.#origins.of(node);
    const shown = pathText([...this.#prefix, ...path]);
    this.#byPath.set(shown, [...(this.#byPath.get(shown) ?? []), this.#found.length]);
    this.#found.push({ level, file, line, path: shown, message, protected: isProtected });
  }

  /** The field's finding becomes another one; one that says more than `exact` keeps its words. */
  replace(node: unknown, path: Path, level: Level, message: string): void {
    const shown = pathText([...this.#prefix, ...path]);
    const { file, line } = this.#origins.of(node);
    const index = this.#byPath.get(shown)?.find((at) => {
      const one = this.#found[at];
      return one !== undefined && (line === 0 || (one.line === line && one.file === file));
    });
    const old = index === undefined ? undefined : this.#found[index];
    if (index === undefined || old === undefined) return this.add(node, path, level, message);
    const words = old.message === '' || level === 'unsupported' ? message : `${message}; ${old.message}`;
    this.#found[index] = { ...old, level, message: words };
  }

  /** By file in the order of reading, then by line. */
  inOrder(): readonly Finding[] {
    const files = [...new Set(this.#found.map(({ file }) => file))];
    return this.#found.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line);
  }
}
