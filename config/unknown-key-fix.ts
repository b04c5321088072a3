// What to do about a key that its mapping does not know: the key that is meant, or the section it belongs to. Only what would
// help: no key that means the opposite, and none that is refused as well. Pure.
import { wordsOf } from './key-words.ts';
import { nearest } from './nearest.ts';
import { below, isInert, SCHEMA, type SchemaNode } from './schema.ts';
import type { Path } from './tree.ts';
import { LITELLM_SECTIONS } from './unknown-keys.ts';

/** Names that are common elsewhere and have another place here. */
const PLACES: Readonly<Record<string, string>> = Object.freeze({
  port: 'remove it; start with --port',
  host: 'remove it; start with --host',
  num_workers: 'it is general_settings.workers here, or the flag --workers',
});
/** Likewise, in the settings of a deployment. */
const PARAMS: Readonly<Record<string, string>> = Object.freeze({
  rpm_limit: 'did you mean rpm?',
  tpm_limit: 'did you mean tpm?',
});

/** Words of which one turns the other round, although few letters differ. */
const OPPOSITES = [
  ['include', 'exclude'],
  ['included', 'excluded'],
  ['min', 'max'],
  ['minimum', 'maximum'],
  ['input', 'output'],
  ['secure', 'insecure'],
];

/** Suggests the nearest key of this mapping, else the section that has this key, else the keys of this mapping. */
export function unknownKeyFix(key: string, schema: SchemaNode, path: Path): string {
  const known = schema.properties ?? {};
  const near =
    meantOf(
      key,
      Object.keys(known).filter((name) => !isInert(known[name])),
    ) ??
    meantOf(
      key,
      Object.keys(known).filter((name) => known[name]?.['x-effect'] === 'none'),
    );
  if (near !== null) return `did you mean ${near}?`;
  const isParameter = path[0] === 'model_list' && path[2] === 'litellm_params';
  const said = isParameter ? PARAMS : PLACES;
  if (Object.hasOwn(said, key)) return said[key] ?? '';
  const places = placesOf(key, path);
  const place = places.find(({ node }) => !isInert(node)) ?? places[0];
  if (place !== undefined) return placeFix(key, place);
  const effective = Object.keys(known).filter((name) => !isInert(known[name]));
  return effective.length <= 16
    ? `remove it; the keys here are ${effective.join(', ')}`
    : 'remove it; see docs/configuration.md';
}

function meantOf(key: string, names: readonly string[]): string | null {
  return nearest(
    key,
    names.filter((name) => isMeant(wordsOf(key), wordsOf(name))),
  );
}

/** Word by word, since `ui_password` is near `redis_password`, and means something else. */
function isMeant(words: readonly string[], others: readonly string[]): boolean {
  if (words.join('') === others.join('')) return true;
  if (words.length !== others.length) return isBeginning(words, others) || isBeginning(others, words);
  return words.every((word, at) => {
    const other = others[at] ?? '';
    const isOpposite =
      word !== other && OPPOSITES.some((pair) => pair.includes(word) && pair.includes(other));
    const isShort = word.length > 2 && other.startsWith(word);
    return !isOpposite && (isShort || nearest(word, [other]) !== null);
  });
}

/** A word is missing at the end: at the beginning it could be `disable`. */
const isBeginning = (words: readonly string[], others: readonly string[]): boolean =>
  words.length > 1 && words.every((word, at) => word === others[at]);

interface Place {
  /** As the fix says it; null = the top level. */
  readonly name: string | null;
  readonly node: SchemaNode;
}

/** Where else the key stands, the likeliest first. */
function placesOf(key: string, path: Path): readonly Place[] {
  const entry = SCHEMA.properties?.['model_list']?.items;
  const top = SCHEMA.properties ?? {};
  const inside = path.length > 1;
  const parts = ['litellm_params', 'model_info'].map((part) => ({
    name: `${part} of a model_list entry`,
    schema: below(entry, part),
  }));
  // A word such as `port` or `gateway` stands in a section of ours as well, and is not meant from within another one.
  const names = inside ? LITELLM_SECTIONS : Object.keys(top).filter((name) => top[name]?.type === 'object');
  const sections = names.map((name) => ({ name, schema: top[name] }));
  const isEntry = inside && path[0] === 'model_list';
  const order = isEntry ? [...parts, ...sections] : inside ? [...sections, ...parts] : sections;
  const found = order.flatMap(({ name, schema }) => {
    const node =
      schema?.properties !== undefined && Object.hasOwn(schema.properties, key)
        ? schema.properties[key]
        : undefined;
    return node === undefined ? [] : [{ name, node }];
  });
  const own = inside && Object.hasOwn(top, key) ? top[key] : undefined;
  return own === undefined ? found : [{ name: null, node: own }, ...found];
}

function placeFix(key: string, { name, node }: Place): string {
  const where = name ?? 'the top level';
  switch (node['x-effect']) {
    case 'always':
      return 'remove it: it is always so here';
    case 'none':
      return `remove it: its place in LiteLLM is ${where}, and nothing here reads it there`;
    case 'refused':
      return `remove it: its place in LiteLLM is ${where}, and nothing here enforces it`;
    default: {
      const short = key.replace(/^redis_/, '');
      const cache = below(below(SCHEMA, 'litellm_settings'), 'cache_params');
      if (
        name === 'router_settings' &&
        short !== key &&
        cache?.properties !== undefined &&
        Object.hasOwn(cache.properties, short)
      )
        return `it belongs under router_settings, or as ${short} under litellm_settings.cache_params`;
      return name === null ? 'move it to the top level' : `it belongs under ${name}`;
    }
  }
}
