// Has the real loader read the result. Variables that are not set on this machine get values that fit their places. What
// the loader refuses in a model or in routing is taken out and reported; anything else - keys, budgets, the database -
// stays for a person, because leaving it out would open something.
import { isMap, isScalar, isSeq, type Document, type Node } from 'yaml';
import { ENV_MARKER } from '../dialect.ts';
import type { Issue } from '../issue.ts';
import { checkText } from '../check-text.ts';
import { below, isSecretAt, SCHEMA, typesOf, type SchemaNode } from '../schema.ts';
import { pathText, type Path } from '../tree.ts';
import type { Findings } from './findings.ts';
import { nameOf, type Origins } from './origins.ts';
import { commentOn } from './remove.ts';

/** Each round takes out one level of what is wrong. */
const ROUNDS = 20;
const REPAIRED = ['model_list', 'router_settings'];
const FALLBACKS =
  /^litellm_settings\.(?:fallbacks|context_window_fallbacks|content_policy_fallbacks|default_fallbacks)\b/;

/** @returns what keeps the result from being loaded; empty = it loads */
export function checkLoads(
  document: Document,
  file: string,
  origins: Origins,
  findings: Findings,
): readonly Issue[] {
  for (let round = 0; round < ROUNDS; round += 1) {
    const errors = errorsOf(document, file);
    let repaired = false;
    for (const part of partsOf(document, errors)) {
      take(document, part, origins, findings);
      repaired = true;
    }
    if (repaired) continue;
    for (const error of errors) {
      const path = pathIn(document, error.path);
      findings.replace(
        nodeAt(document, path),
        source(document, path, findings),
        'manual',
        `${error.message} - ${error.fix}`,
      );
    }
    return errors;
  }
  return errorsOf(document, file);
}

function errorsOf(document: Document, file: string): readonly Issue[] {
  const unset = new Map<string, string>();
  const uncertain = new Set<string>();
  collect(document.contents, SCHEMA, [], unset, uncertain);
  const errors = checkText(file, document.toString({ lineWidth: 0 }), Object.fromEntries(unset));
  // What a made-up value is wrong for, the right one may be right for.
  return errors.filter(({ path }) => !uncertain.has(path));
}

/** A value for each variable, by the schema of its place. */
function collect(
  node: unknown,
  schema: SchemaNode | undefined,
  path: Path,
  unset: Map<string, string>,
  uncertain: Set<string>,
): void {
  if (isSeq(node))
    node.items.forEach((item, index) => collect(item, schema?.items, [...path, index], unset, uncertain));
  else if (isMap(node))
    for (const pair of node.items) {
      const key = nameOf(pair);
      collect(pair.value, below(schema, key), [...path, key], unset, uncertain);
    }
  else if (isScalar(node) && typeof node.value === 'string' && node.value.startsWith(ENV_MARKER)) {
    const name = node.value.slice(ENV_MARKER.length);
    if (!/^\w+$/.test(name)) return; // no value of a variable mends that
    uncertain.add(pathText(path));
    unset.set(name, sampleFor(node.value, schema, String(path.at(-1) ?? '')));
  }
}

function sampleFor(reference: string, schema: SchemaNode | undefined, key: string): string {
  if (['api_base', 'base_url'].includes(key)) return 'https://gateway.example.com';
  if (key === 'database_url') return 'postgresql://name@db.example.com/throughline';
  if (key === 'redis_url') return 'redis://redis.example.com';
  const types = typesOf(schema);
  if (types.includes('boolean')) return 'true';
  if (types.includes('number') || types.includes('integer')) return '1';
  return `sample-${reference.slice(ENV_MARKER.length).toLowerCase()}`;
}

/** What an error makes unusable. */
interface Part {
  readonly error: Issue;
  readonly path: Path;
  /** Where the error itself is, below `path`. */
  readonly inner: Path;
}

/** What to take out, the last one first: what is taken out of a list moves everything behind it. */
function partsOf(document: Document, errors: readonly Issue[]): readonly Part[] {
  const parts: Part[] = [];
  const all = errors.flatMap((error) => partOf(document, error) ?? []);
  for (const part of all.toSorted((a, b) => comparePaths(a.path, b.path)))
    if (!parts.some(({ path }) => isWithin(part.path, path))) parts.push(part);
  return parts.toReversed();
}

function partOf(document: Document, error: Issue): Part | null {
  const whole = pathIn(document, error.path);
  if (!REPAIRED.includes(String(whole[0])) && !FALLBACKS.test(error.path)) return null;
  if (isSecretAt(whole)) return null;
  // A field that is missing makes its whole entry unusable.
  const isAbsent = nodeAt(document, whole) === undefined || error.message === 'is missing';
  const path = isAbsent && whole[0] === 'model_list' ? whole.slice(0, 2) : whole;
  const isRequired =
    path.length > 2 &&
    path[0] === 'model_list' &&
    ['model', 'api_base', 'base_url', 'model_name'].includes(String(path.at(-1)));
  const target = isRequired ? path.slice(0, 2) : path;
  if (target.length < 2 || nodeAt(document, target) === undefined) return null;
  return { error, path: target, inner: whole.slice(target.length) };
}

function take(document: Document, { error, path, inner }: Part, origins: Origins, findings: Findings): void {
  const node = nodeAt(document, path);
  const at = source(document, path, findings);
  findings.replace(node, at, 'unsupported', `${pathText(inner)} ${error.message} - ${error.fix}`.trim());
  origins.lose(node);
  const parent = nodeAt(document, path.slice(0, -1));
  document.deleteIn(path as unknown[]);
  commentOn(isMap(parent) ? parent.items[0]?.key : parent, ` not imported: ${String(at.at(-1))}`);
}

/** Whole things before their parts, items of lists by their numbers. */
function comparePaths(a: Path, b: Path): number {
  const step = a.findIndex((one, index) => one !== b[index]);
  const [one, other] = [a[step], b[step]];
  if (step === -1 || other === undefined) return a.length - b.length;
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one) < String(other) ? -1 : 1;
}

const isWithin = (path: Path, whole: Path): boolean => whole.every((step, index) => path[index] === step);

/** A path of the result as a path of the file that was read. */
function source(document: Document, path: Path, findings: Findings): Path {
  const [root, index, ...rest] = path;
  if (root !== 'model_list' || typeof index !== 'number') return path;
  const list = document.get('model_list', true);
  return [root, findings.positionOf(isSeq(list) ? list.items[index] : null, index), ...rest];
}

function nodeAt(document: Document, path: Path): Node | undefined {
  if (path.length === 0) return document.contents ?? undefined;
  const node = document.getIn(path as unknown[], true);
  return typeof node === 'object' && node !== null ? (node as Node) : undefined;
}

/** The steps of a path as messages print it; keys may hold dots. */
function pathIn(document: Document, text: string): Path {
  const path: (string | number)[] = [];
  let rest = text;
  while (rest !== '') {
    const index = /^\[(\d+)\]/.exec(rest);
    if (index !== null) {
      path.push(Number(index[1]));
      rest = rest.slice(index[0].length);
      continue;
    }
    rest = rest.replace(/^\./, '');
    const node = nodeAt(document, path);
    const keys = isMap(node) ? node.items.map(nameOf) : [];
    const known = keys
      .filter((key) => rest === key || rest.startsWith(`${key}.`) || rest.startsWith(`${key}[`))
      .toSorted((a, b) => b.length - a.length)[0];
    const step = known ?? /^[^.[]*/.exec(rest)?.[0] ?? rest;
    path.push(step);
    rest = step === '' ? '' : rest.slice(step.length);
  }
  return path;
}
