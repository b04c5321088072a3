// Whether a text is a configuration of LiteLLM at all. A file of something else would become an empty configuration, which
// serves nobody's models and asks nobody who he is.
import { isMap, isScalar, isSeq, type YAMLMap } from 'yaml';
import { SECTIONS } from '../foreign-file.ts';
import { pathText, type Path } from '../tree.ts';
import { nameOf } from './origins.ts';

/** Tells a configuration, or the values of a chart, wherever it stands. */
const NAMES: ReadonlySet<string> = new Set(['model_list', 'proxy_config']);
/** The same in a text: a ConfigMap and an Application of Argo CD hold files as text. */
const IN_TEXT = /^\s*(?:model_list|proxy_config):/m;

/**
 * @param root with the files that it includes
 * @returns why it is none, and what to do; null = it is one
 */
export function whyNoConfig(root: YAMLMap): { readonly message: string; readonly fix: string } | null {
  if (root.items.some((pair) => SECTIONS.has(nameOf(pair)))) return null;
  const message = 'neither model_list nor proxy_config is at its top level, so this is no configuration';
  const found = placeIn(root, []);
  if (found === null) return { message, fix: 'name the config.yaml of LiteLLM, or the values of its chart' };
  const { path, what } = found;
  return {
    message: `${message}; ${what} ${pathText(path)}`,
    fix: 'save that part as a file of its own, and import that',
  };
}

function placeIn(node: unknown, path: Path): { readonly path: Path; readonly what: string } | null {
  if (isScalar(node))
    return typeof node.value === 'string' && IN_TEXT.test(node.value)
      ? { path, what: 'one stands in the text at' }
      : null;
  if (isSeq(node)) return first(node.items, (item, index) => placeIn(item, [...path, index]));
  if (!isMap(node)) return null;
  return first(node.items, (pair) => {
    const at = [...path, nameOf(pair)];
    return NAMES.has(nameOf(pair)) ? { path: at, what: 'one stands under' } : placeIn(pair.value, at);
  });
}

function first<T, R>(items: readonly T[], look: (item: T, index: number) => R | null): R | null {
  for (const [index, item] of items.entries()) {
    const found = look(item, index);
    if (found !== null) return found;
  }
  return null;
}
