// YAML text -> Tree. The common case is read fast; whatever is wrong or rare goes to the thorough reader, which alone
// decides about it. A text that both can read means the same to both (tested).
import { plainTree } from './plain-yaml.ts';
import { thoroughly } from './thorough-yaml.ts';
import type { Parsed } from './thorough-yaml.ts';
import { textFile } from './tree.ts';

/** @param name as issues print the file */
export function parse(name: string, text: string): Parsed {
  const file = textFile(name, text);
  const tree = plainTree(file, text);
  return tree === null ? thoroughly(file, text) : { ok: true, tree };
}
