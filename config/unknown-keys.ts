// Keys that nothing here knows. A file of LiteLLM has some, since its keys become more with each release; with
// `general_settings.unknown_keys: warn` they do not end the start. What would protect something does all the same, and so
// does a misspelt key of this proxy: the operator counts on both. Pure.
import { protectsByName, type Setting } from './protecting-names.ts';
import { SCHEMA, type SchemaNode } from './schema.ts';
import { memberOf, type Path, type Tree } from './tree.ts';

/** Sections that LiteLLM has too, and where it passes over what it does not know; `*` = any position of a list. */
const SECTIONS: ReadonlySet<string> = new Set([
  '',
  'model_list.*',
  'model_list.*.litellm_params',
  'credential_list.*',
  'credential_list.*.credential_values',
  'general_settings',
  'litellm_settings',
  'router_settings',
  'router_settings.default_litellm_params',
]);

/** Those of them that hold settings. */
export const LITELLM_SECTIONS = ['general_settings', 'litellm_settings', 'router_settings'] as const;

/** Of shorter words, two letters are too many. */
const SHORTEST = 5;

/** Whether the file asks for warnings. @param root resolved */
export function warnsOfUnknown(root: Tree): boolean {
  const setting = memberOf(memberOf(root, 'general_settings'), 'unknown_keys');
  return setting?.kind === 'scalar' && setting.value === 'warn';
}

/** Why an unknown key is refused all the same; null = it may be passed over. @param schema of the mapping that holds it */
export function whyRefused(
  path: Path,
  schema: SchemaNode,
  setting: Setting,
): 'not of LiteLLM' | 'protects' | 'misspelt' | null {
  if (!isSection(path.slice(0, -1))) return 'not of LiteLLM';
  const key = String(path.at(-1));
  if (isTypo(key, schema)) return 'misspelt';
  return protects(key, setting) ? 'protects' : null;
}

/**
 * Whether a key that its mapping does not know asks for protection, for the start and for `import` alike. In the place of
 * another section it is the key of that section: one that has no effect there protected nothing.
 */
export function protects(key: string, setting: Setting): boolean {
  const elsewhere = LITELLM_SECTIONS.map((name) => SCHEMA.properties?.[name]?.properties ?? {})
    .filter((properties) => Object.hasOwn(properties, key))
    .map((properties) => properties[key]?.['x-effect']);
  if (elsewhere.includes('refused')) return setting !== 'off';
  if (elsewhere.some((effect) => effect !== undefined)) return false;
  return protectsByName(key, setting);
}

/** Whether it is a mapping in which unknown keys may be passed over. */
export function isSection(path: Path): boolean {
  return SECTIONS.has(path.map((step) => (typeof step === 'number' ? '*' : step)).join('.'));
}

function isTypo(written: string, schema: SchemaNode): boolean {
  const key = written
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
  const known = Object.entries(schema.properties ?? {});
  return known.some(([name, inner]) => inner['x-effect'] !== 'none' && isNear(key, name));
}

/** At most two letters differ, and these stand together: the beginning and the end of the two are the same. */
function isNear(key: string, name: string): boolean {
  if (key.length < SHORTEST) return false;
  let start = 0;
  while (start < key.length && key[start] === name[start]) start += 1;
  let end = 0;
  while (end < key.length - start && key.at(-1 - end) === name.at(-1 - end)) end += 1;
  const middle = (text: string): number => Math.max(0, text.length - start - end);
  return Math.max(middle(key), middle(name)) <= 2;
}
