// YAML text -> Tree, with the `yaml` package. Translates its errors into sentences that say how to fix them. The
// parser's own messages quote the file and could print a key, so they are never shown.
import {
  CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseAllDocuments,
  Parser,
  type ErrorCode,
  type Node,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { ENV_MARKER } from './dialect.ts';
import type { Issue } from './issue.ts';
import { repeatedKeys, repeatedSentence } from './repeated-keys.ts';
import { shownName } from './shown.ts';
import { placeIn, textFile, type Member, type ScalarTree, type TextFile, type Tree } from './tree.ts';

/** Most nodes that aliases may add. Nine levels of nine aliases ("billion laughs") would create 400 million. */
const ALIAS_NODES = 100_000;

type Parsed =
  { readonly ok: true; readonly tree: Tree } | { readonly ok: false; readonly issues: readonly Issue[] };

/**
 * Parses any text. 10,000 entries take 0.5 to 0.9 s, because the syntax tree records every position.
 * @param name as issues print the file
 * @returns the tree, or every issue of its syntax
 */
export function parse(name: string, text: string): Parsed {
  const file = textFile(name, text);
  const issues: Issue[] = [];
  const say = (offset: number, message: string, fix: string): void => {
    const place = placeIn(file, offset);
    if (issues.some((issue) => issue.line === place.line)) return; // one broken line causes several errors
    issues.push({ severity: 'error', file: file.name, ...place, path: '', message, fix });
  };
  try {
    // Merge keys (`<<: *defaults`) are common in LiteLLM files; `Conversion` applies them.
    const documents = parseAllDocuments(text, { prettyErrors: false });
    const first = Array.isArray(documents) ? documents[0] : undefined;
    if (Array.isArray(documents) && documents[1] !== undefined)
      say(
        documents[1].range[0],
        'a second document begins here',
        'remove the --- line; a file holds one document',
      );
    const open = (first?.errors.length ?? 0) > 0 ? unclosed(text) : null;
    if (open !== null) {
      say(open.offset, open.message, open.fix);
      return { ok: false, issues }; // what follows is read as part of it, and its errors mislead
    }
    const repeated = first === undefined ? [] : repeatedKeys(first);
    for (const one of repeated) say(one.last, ...repeatedSentence(file, one));
    for (const error of first?.errors ?? [])
      if (!repeated.some(({ last, others }) => last === error.pos[0] || others.includes(error.pos[0])))
        say(error.pos[0], ...sentence(error, text));
    for (const { code, pos } of first?.warnings ?? [])
      if (code === 'TAG_RESOLVE_FAILED') say(pos[0], ...tagSentence(text.slice(...pos), text.slice(pos[1])));
    if (issues.length > 0) return { ok: false, issues };
    if (first === undefined || first.contents === null || isEmpty(first.contents)) {
      say(0, 'the file is empty', 'begin with model_list:');
      return { ok: false, issues };
    }
    const tree = new Conversion(file, say).treeOf(first.contents);
    if (issues.length === 0 && tree.kind !== 'map')
      say(tree.offset, 'the file is not a mapping', 'begin with model_list:');
    return issues.length > 0 ? { ok: false, issues } : { ok: true, tree };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    say(0, ...TOO_DEEP);
    return { ok: false, issues };
  }
}

function isEmpty(node: Node): boolean {
  return isScalar(node) && node.value === null;
}

/** Converts the parser's nodes: follows aliases up to a limit and applies merge keys. */
class Conversion {
  readonly #file: TextFile;
  readonly #say: (offset: number, message: string, fix: string) => void;
  /** Filled in document order, so that an alias refers to the latest anchor of its name above it. */
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #aliasNodes = 0;

  constructor(file: TextFile, say: (offset: number, message: string, fix: string) => void) {
    this.#file = file;
    this.#say = say;
  }

  treeOf(node: Node | null | undefined, fallbackOffset = 0): Tree {
    const offset = node?.range?.[0] ?? fallbackOffset;
    const empty: ScalarTree = { kind: 'scalar', value: null, reference: null, file: this.#file, offset };
    if (this.#aliasDepth > 0) {
      this.#aliasNodes += 1;
      if (this.#aliasNodes > ALIAS_NODES + 1) return empty; // said once
      if (this.#aliasNodes > ALIAS_NODES) {
        const message = `aliases expand to more than ${ALIAS_NODES} values`;
        this.#say(offset, message, 'write the values out instead of nesting aliases');
        return empty;
      }
    }
    if (isAlias(node)) return this.#alias(node.source, offset, empty);
    if (node === null || node === undefined) return empty;
    this.#checkTag(node, offset);
    const anchor = 'anchor' in node ? node.anchor : undefined;
    if (typeof anchor === 'string') {
      this.#anchors.set(anchor, node);
      this.#open.add(node);
    }
    const tree = this.#collectionOrScalar(node, offset, empty);
    this.#open.delete(node);
    return tree;
  }

  /** The parser has warned of tags that it does not know; these it knows, and no key takes what they make. */
  #checkTag(node: Node, offset: number): void {
    const tag = 'tag' in node && typeof node.tag === 'string' ? node.tag.replace(STANDARD, '!!') : '!';
    if (!TAGS.has(tag))
      this.#say(
        offset,
        `the tag ${tag} makes a value that nothing here takes`,
        'remove the tag; put text in quotes',
      );
  }

  #collectionOrScalar(node: Node, offset: number, empty: ScalarTree): Tree {
    if (isSeq<Node>(node)) {
      const items = node.items.map((item) => this.treeOf(item, offset));
      return { kind: 'list', items, file: this.#file, offset };
    }
    if (isMap<Node, Node | null>(node)) return this.#map(node, offset);
    if (!isScalar(node)) return empty;
    return { ...empty, value: scalarOf(node), isQuoted: node.type !== 'PLAIN' };
  }

  #alias(name: string, offset: number, empty: ScalarTree): Tree {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      this.#say(offset, `the alias *${name} has no anchor`, `define &${name} above it`);
      return empty;
    }
    if (this.#open.has(target)) {
      this.#say(offset, `the alias *${name} stands inside of what it names`, 'write out what is meant there');
      return empty;
    }
    this.#aliasDepth += 1;
    const tree = this.treeOf(target, offset);
    this.#aliasDepth -= 1;
    return tree;
  }

  #map(map: YAMLMap<Node, Node | null>, offset: number): Tree {
    const own = new Map<string, Member>();
    const merged = new Map<string, Member>();
    for (const pair of map.items) {
      const keyOffset = pair.key?.range?.[0] ?? offset;
      const key = isScalar(pair.key) ? keyOf(pair.key) : null;
      if (key === null || key === '__proto__') {
        this.#say(
          keyOffset,
          'this cannot be a key',
          'write keys as plain words; quote values that begin with { or [',
        );
        continue;
      }
      if (ODD_SPACE.test(key)) this.#say(keyOffset, ...COPIED);
      const tree = this.treeOf(pair.value, keyOffset);
      if (key === '<<') this.#merge(tree, merged);
      else own.set(key, { tree, keyFile: this.#file, keyOffset });
    }
    for (const [key, member] of merged) if (!own.has(key)) own.set(key, member);
    return { kind: 'map', members: own, file: this.#file, offset };
  }

  /** The first of several merged mappings wins, own keys win over all (https://yaml.org/type/merge.html). */
  #merge(tree: Tree, into: Map<string, Member>): void {
    for (const source of tree.kind === 'list' ? tree.items : [tree]) {
      if (source.kind !== 'map') {
        this.#say(
          source.offset,
          '<< takes a mapping or a list of mappings',
          'write <<: *name of an anchored mapping',
        );
        continue;
      }
      for (const [key, member] of source.members) if (!into.has(key)) into.set(key, member);
    }
  }
}

function scalarOf({ value, source }: Scalar): string | number | boolean | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  // `2024-10-21` is a day in YAML 1.1, and the version of an API in a configuration.
  return value instanceof Date ? (source ?? null) : null;
}

function keyOf(key: Scalar): string | null {
  if (typeof key.value === 'symbol') return '<<'; // what a file that says %YAML 1.1 has for it
  const scalar = scalarOf(key);
  return scalar === null ? null : String(scalar);
}

/** What the tags of YAML itself begin with in full. */
const STANDARD = /^tag:yaml\.org,2002:/;
/** Tags whose values a configuration may hold; `!` makes text. */
const TAGS: ReadonlySet<string> = new Set([
  '!',
  '!!str',
  '!!int',
  '!!float',
  '!!bool',
  '!!null',
  '!!map',
  '!!seq',
]);

type Sentence = readonly [message: string, fix: string];

const TOO_DEEP: Sentence = [
  'the file is nested too deeply',
  'remove levels; a configuration has fewer than ten',
];
const MISPLACED: Sentence = [
  'the indentation or the nesting is wrong',
  'align keys of one mapping; quote values that hold ": "',
];
/** Spaces that YAML takes for letters, and characters without a width: they come with text that is copied from a page. */
const ODD_SPACE = /(?:^[ -]*|[:-] *)[\u00a0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]/;
const COPIED: Sentence = [
  'this line has a space that is none for YAML, such as a non-breaking one',
  'type the spaces of the line again; such come with copied text',
];
const ALIAS: Sentence = [
  'the alias is not usable',
  'define its anchor with & above it; quote values that begin with *',
];

const SENTENCES: Readonly<Partial<Record<ErrorCode, Sentence>>> = Object.freeze({
  DUPLICATE_KEY: ['this key appears twice in one mapping', 'keep one of the two'],
  TAB_AS_INDENT: ['a tab is used for indentation', 'indent with spaces'],
  BAD_INDENT: MISPLACED,
  BLOCK_IN_FLOW: MISPLACED,
  BLOCK_AS_IMPLICIT_KEY: MISPLACED,
  MULTILINE_IMPLICIT_KEY: MISPLACED,
  BAD_ALIAS: ALIAS,
  ALIAS_PROPS: ALIAS,
  BAD_SCALAR_START: ['a value cannot begin with this character', 'put the value in quotes'],
  BAD_DQ_ESCAPE: ['unknown escape in double quotes', 'use single quotes or double the backslash'],
  TAG_RESOLVE_FAILED: ['the tag is not supported or does not fit the value', 'remove the !tag'],
  RESOURCE_EXHAUSTION: TOO_DEEP,
});

/** What is wrong and how to fix it, by the parser's code. */
function sentence(error: YAMLError, text: string): Sentence {
  const line = lineAt(text, error.pos[0]);
  if (/^\s*(?:- )?[\w-]+\s*$/.test(line) && error.code !== 'TAB_AS_INDENT' && error.code !== 'DUPLICATE_KEY')
    return ['this line has no colon', `write ${line.trim()}:`];
  if (ODD_SPACE.test(line)) return COPIED;
  if (error.code === 'MISSING_CHAR') return missing(error.message);
  const known = SENTENCES[error.code];
  if (known !== undefined) return known;
  return [
    `the text is not valid YAML (${error.code})`,
    'compare the line with its neighbours; quote odd values',
  ];
}

/**
 * A tag that is not known, or that does not fit: without it `!ENV NAME` would be the text NAME, and so a key that many know.
 * @param tag as it is written @param behind what follows it
 */
function tagSentence(tag: string, behind: string): Sentence {
  // `password: !x7...` is a text that was to be quoted, and no message may repeat it.
  if (/^[ \t]*(?:[,}\]#\r\n]|$)/.test(behind))
    return ['a value cannot begin with !, which begins a tag', 'put text in quotes; remove a tag'];
  const named = shownName(tag.replace(/^!+/, '')) === 'this' ? 'this tag' : `the tag ${tag}`;
  if (TAGS.has(tag)) return [`the value does not fit ${named}`, 'remove the tag'];
  return [
    `${named} is not known here`,
    `write ${ENV_MARKER}NAME without a tag for a variable, else remove the tag`,
  ];
}

/** The parser uses one code for three different mistakes. */
function missing(text: string): Sentence {
  if (text.startsWith('Missing closing'))
    return ['a quote that was opened above is never closed', 'close it on the line where it begins'];
  if (text.startsWith('Sequence item'))
    return [
      'this line does not line up with the list item above',
      'indent it like the first key after the dash',
    ];
  return [
    'a closing or separating character is missing',
    'close brackets; put a space after each colon and dash',
  ];
}

function lineAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', start);
  return text.slice(start, end === -1 ? text.length : end);
}

interface Unclosed {
  readonly offset: number;
  readonly message: string;
  readonly fix: string;
}

/** The bracket or quote that is never closed, where the text has one. */
function unclosed(text: string): Unclosed | null {
  let found: Unclosed | null = null;
  for (const document of new Parser().parse(text)) {
    if (document.type !== 'document') continue;
    CST.visit(document, ({ value }) => {
      const one = value === undefined ? null : unclosedToken(value);
      // The innermost one that is open: what stands around it is open because of it.
      if (one !== null) found = one;
    });
    if (found !== null) return found;
  }
  return found;
}

function unclosedToken(token: CST.Token): Unclosed | null {
  if (token.type === 'flow-collection') {
    const isMapping = token.start.type === 'flow-map-start';
    const ends = isMapping ? 'flow-map-end' : 'flow-seq-end';
    if (token.end.some(({ type }) => type === ends)) return null;
    const [open, close] = isMapping ? ['{', '}'] : ['[', ']'];
    return {
      offset: token.offset,
      message: `the ${open} that is opened here is never closed`,
      fix: `write ${close} after its last item`,
    };
  }
  if (token.type !== 'double-quoted-scalar' && token.type !== 'single-quoted-scalar') return null;
  const quote = token.type === 'double-quoted-scalar' ? '"' : "'";
  if (token.source.length > 1 && token.source.endsWith(quote)) return null;
  return {
    offset: token.offset,
    message: `the quote ${quote} that is opened here is never closed`,
    fix: 'close it on the same line',
  };
}
