// `include:` of LiteLLM: its files are put into one document. Lists are joined; of anything else the included file wins,
// as in LiteLLM, but a mapping keeps the keys that the included file does not state.
import { isMap, isScalar, isSeq, type Document, type YAMLMap } from 'yaml';
import type { Issue } from '../issue.ts';
import { parse } from '../parse.ts';
import type { Findings } from './findings.ts';
import { nameOf, type Origins } from './origins.ts';

/** The text of an included file by the path as written, or why it cannot be read. */
export type ReadInclude = (
  path: string,
) =>
  | { readonly ok: true; readonly name: string; readonly text: string }
  | { readonly ok: false; readonly message: string };

const MOST_FILES = 200;

/** @returns what is wrong with the files; empty = nothing */
export function joinIncludes(
  document: Document,
  file: string,
  read: ReadInclude,
  origins: Origins,
  findings: Findings,
): readonly Issue[] {
  const root = document.contents;
  if (!isMap(root)) return [];
  const issues: Issue[] = [];
  const seen = new Set<string>();
  const waiting: unknown[] = takeInclude(root, findings, origins);
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const path = isScalar(next) ? String(next.value) : '';
    const { line } = origins.of(next);
    const wrong = (message: string): void =>
      void issues.push({
        severity: 'error',
        file,
        line,
        column: 1,
        path: 'include',
        message,
        fix: 'check the path',
      });
    if (seen.has(path)) {
      wrong(`'${path}' is included twice`);
      continue;
    }
    seen.add(path);
    const found = read(path);
    if (!found.ok) {
      wrong(`'${path}' ${found.message}`);
      continue;
    }
    const parsed = parse(found.name, found.text);
    if (!parsed.ok) {
      issues.push(...parsed.issues);
      continue;
    }
    if (seen.size > MOST_FILES) {
      wrong(`more than ${MOST_FILES} files are included`);
      break;
    }
    const included = origins.document(found.name, found.text);
    if (!isMap(included.contents)) continue;
    waiting.push(...takeInclude(included.contents, findings, origins));
    if (included.commentBefore !== null && included.commentBefore !== undefined) {
      const [first] = included.contents.items;
      if (first !== undefined && isScalar(first.key))
        first.key.commentBefore = [included.commentBefore, first.key.commentBefore]
          .filter(Boolean)
          .join('\n');
    }
    join(root, included.contents, origins);
  }
  return issues;
}

function takeInclude(root: YAMLMap, findings: Findings, origins: Origins): unknown[] {
  const pair = root.items.find((one) => nameOf(one) === 'include');
  if (pair === undefined) return [];
  const files = isSeq(pair.value) ? [...pair.value.items] : [];
  root.items.splice(root.items.indexOf(pair), 1);
  files.forEach((item, index) =>
    findings.add(item, ['include', index], 'exact', 'the file is part of the result'),
  );
  if (!isSeq(pair.value)) findings.add(pair, ['include'], 'unsupported', 'is no list of files');
  origins.lose(pair);
  return files;
}

function join(into: YAMLMap, from: YAMLMap, origins: Origins): void {
  for (const pair of from.items) {
    const old = into.items.find((one) => nameOf(one) === nameOf(pair));
    if (old === undefined) into.items.push(pair);
    else if (isSeq(old.value) && isSeq(pair.value)) {
      const [first] = pair.value.items;
      const comment = isScalar(pair.key) ? pair.key.commentBefore : null;
      if (comment !== null && comment !== undefined && isMap(first)) first.commentBefore ??= comment;
      else origins.lose(pair.key);
      old.value.items.push(...pair.value.items);
    } else if (isMap(old.value) && isMap(pair.value)) {
      origins.lose(pair.key);
      join(old.value, pair.value, origins);
    } else {
      origins.lose(old);
      old.value = pair.value;
    }
  }
}
