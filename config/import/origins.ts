// Where each node of the documents stood, kept apart from the nodes, since they move while the result is made. Also the
// comments of nodes that are taken out.
import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import type { LostComment } from './finding.ts';
import { inYaml11 } from './yaml11.ts';

interface Origin {
  readonly file: string;
  readonly line: number;
}

/** Aliases that expand to more than this are an attack or a mistake. */
const MOST_NODES = 100_000;

export class Origins {
  readonly #of = new WeakMap<object, Origin>();
  readonly #rewritten = new WeakMap<object, string>();
  readonly #lost: LostComment[] = [];
  #nodes = 0;

  /** Parses a text that has no mistakes; aliases and merge keys are written out, values of YAML 1.1 as those of 1.2. */
  document(file: string, text: string): Document {
    const lines = new LineCounter();
    // Whatever version the text says: `#rewrite` sees its values as they are written, and the result says none.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: 'core' });
    document.directives.yaml = { explicit: false, version: '1.2' };
    const record = (node: unknown, above: number): void => {
      if (isPair(node)) {
        const line = isNode(node.key) && node.key.range ? lines.linePos(node.key.range[0]).line : above;
        this.#of.set(node, { file, line });
        record(node.key, line);
        record(node.value, line);
      } else if (isNode(node)) {
        const line = node.range ? lines.linePos(node.range[0]).line : above;
        this.#of.set(node, { file, line });
        if (isCollection(node)) for (const item of node.items) record(item, line);
        else if (isScalar(node)) this.#rewrite(node);
      }
    };
    record(document.contents, 1);
    if (document.contents !== null && text.includes('*')) this.#expand(document);
    return document;
  }

  of(node: unknown): Origin {
    return (
      (typeof node === 'object' && node !== null ? this.#of.get(node) : undefined) ?? { file: '', line: 0 }
    );
  }

  /** How a value was written that is another one in YAML 1.2; null = it is none of these. */
  written(node: unknown): string | null {
    return (typeof node === 'object' && node !== null ? this.#rewritten.get(node) : undefined) ?? null;
  }

  #rewrite(node: Scalar): void {
    if (node.type !== 'PLAIN' || node.source === undefined) return;
    const value = inYaml11(node.source);
    if (value === undefined || value === node.value) return;
    this.#rewritten.set(node, node.source);
    node.value = value;
    delete node.source;
    delete node.format;
  }

  /** Comments that went with what was taken out, in their order. */
  get lost(): readonly LostComment[] {
    return this.#lost;
  }

  /** Keeps the comments of something that is taken out for the report. */
  lose(node: unknown, origin: Origin = this.of(node)): void {
    const keep = (comment: string | null | undefined, at: Origin): void => {
      const lines = (comment ?? '').split('\n').filter((line) => line.trim() !== '');
      for (const line of lines) this.#lost.push({ ...at, text: line.trim() });
    };
    if (isPair(node)) {
      this.lose(node.key, origin);
      this.lose(node.value, origin);
    } else if (isNode(node)) {
      const at = this.#of.get(node) ?? origin;
      keep(node.commentBefore, at);
      if (isCollection(node)) for (const item of node.items) this.lose(item, at);
      keep(node.comment, at);
    }
  }

  /** Anchors may stand in what is left out, and aliases would then lead nowhere. */
  #expand(document: Document): void {
    const visit = (node: unknown): void => {
      if (isSeq(node))
        node.items.forEach((item, index) => void (node.items[index] = this.#written(document, item)));
      if (isMap(node)) {
        for (const pair of node.items) pair.value = this.#written(document, pair.value);
        this.#merge(node);
      }
      if (isCollection(node)) for (const item of node.items) visit(isPair(item) ? item.value : item);
    };
    visit(document.contents);
    const unnamed = (node: unknown): void => {
      if (isPair(node)) unnamed(node.value);
      else if (isCollection(node)) {
        delete node.anchor;
        node.items.forEach(unnamed);
      } else if (isScalar(node)) delete node.anchor;
    };
    unnamed(document.contents);
  }

  #written(document: Document, node: unknown): unknown {
    if (!isAlias(node)) return node;
    const target = node.resolve(document);
    if (target === undefined) return node;
    const copy = this.#copy(target);
    if (isNode(copy)) copy.comment = node.comment ?? null;
    return copy;
  }

  #copy(node: unknown): unknown {
    this.#nodes += 1;
    if (this.#nodes > MOST_NODES) throw new RangeError('aliases expand to too many values');
    if (isAlias(node)) return node;
    if (isPair(node)) {
      const copy = node.clone();
      copy.key = this.#copy(node.key);
      copy.value = this.#copy(node.value);
      this.#of.set(copy, this.of(node));
      return copy;
    }
    if (!isNode(node)) return node;
    const copy = node.clone() as Node;
    if (isCollection(copy) && isCollection(node))
      copy.items = node.items.map((item) => this.#copy(item)) as never;
    delete (copy as { anchor?: string }).anchor;
    delete copy.commentBefore;
    delete copy.comment;
    this.#of.set(copy, this.of(node));
    return copy;
  }

  /** `<<: *defaults`: what a mapping states itself wins. */
  #merge(map: YAMLMap): void {
    const isMerge = (pair: Pair): boolean => isScalar(pair.key) && pair.key.value === '<<';
    const merges = map.items.filter(isMerge);
    if (merges.length === 0) return;
    const own = map.items.filter((pair) => !isMerge(pair));
    const names = new Set(own.map(nameOf));
    const added: Pair[] = [];
    for (const { value } of merges)
      for (const source of isSeq(value) ? value.items : [value])
        for (const pair of isMap(source) ? source.items : []) {
          if (names.has(nameOf(pair))) continue;
          names.add(nameOf(pair));
          added.push(this.#copy(pair) as Pair);
        }
    map.items = [...added, ...own];
  }
}

/** The key of a pair as text. */
export function nameOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}
