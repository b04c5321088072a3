// Writes what follows from the configuration schema and from the comments of the chart's values: the schema that Helm
// checks values with, the table in the chart's README, and what templates must know of the configuration. With --check it
// writes nothing and fails when a file is stale. Runs in development only; nothing imports it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { DEFAULT_WORDS, dialectOf, ENV_MARKER } from '../config/dialect.ts';
import { START_VARIABLES } from '../config/environment.ts';
import { written } from '../config/editor-schema.ts';
import { BARE_NAMES } from '../config/resolve/kinds/bare-names.ts';
import { SIGNED } from '../config/resolve/kinds/signed.ts';
import { WHOLE_BASES } from '../config/resolve/kinds/versions.ts';
import { kindRules, VENDOR_PREFIXES } from '../config/resolve/kinds/table.ts';
import type { Path } from '../config/tree.ts';
import { isSection } from '../config/unknown-keys.ts';
import { isInert, SCHEMA, startKeys, typesOf, type SchemaNode } from '../config/schema.ts';

/** The part of draft-07 that the chart's own schema uses, and one word of our own. */
interface ValueSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  /** No entry in values.yaml: `none` = accepted for the other chart's sake, `parent` = set by a parent chart. */
  readonly 'x-effect'?: 'none' | 'parent' | 'alias';
}

interface ChartSchema extends ValueSchema {
  readonly definitions: Readonly<Record<string, unknown>>;
}

interface Row {
  readonly path: string;
  readonly description: string;
  readonly value: string;
}

const DROPPED: ReadonlySet<string> = new Set(['title', 'default', 'examples', 'enum']);
const NO_EFFECT = { $ref: '#/definitions/noEffect' };
/** Off, or it would protect nothing: the server refuses any other value with a sentence. */
const REFUSED = { $ref: '#/definitions/refused' };

/**
 * A gateway schema as Helm can use it: Helm 3.6 knows nothing above draft-07, sees a file before its `os.environ/NAME`
 * are resolved, and the loader takes an empty value for one that is not written.
 */
function draft07(schema: SchemaNode, path: Path | null = null, isRequired = false): Record<string, unknown> {
  if (schema['x-effect'] === 'refused' && schema['x-refuses'] === undefined) return REFUSED;
  if (isInert(schema)) return NO_EFFECT;
  const kept = Object.entries(schema).filter(([word]) => !DROPPED.has(word) && !/^[x$]/.test(word));
  const out: Record<string, unknown> = { ...Object.fromEntries(kept), ...written(schema, isRequired) };
  const { properties, items, required, additionalProperties: others } = schema;
  if (properties !== undefined)
    out['properties'] = Object.fromEntries(
      Object.entries(properties).map(([key, inner]) => [
        key,
        draft07(inner, path && [...path, key], required?.includes(key) === true),
      ]),
    );
  if (items !== undefined) out['items'] = draft07(items, path && [...path, 0], true);
  if (path !== null && isSection(path)) delete out['additionalProperties']; // namesUnlessWarned says which
  if (typeof others !== 'object') return out;
  // Helm 4 says nothing but `EOF` about a fault of propertyNames.
  const { propertyNames, ...rest } = out;
  if (!hasPattern(propertyNames)) return { ...rest, additionalProperties: draft07(others, null, true) };
  return {
    ...rest,
    patternProperties: { [propertyNames.pattern]: draft07(others, null, true) },
    additionalProperties: false,
  };
}

const hasPattern = (value: unknown): value is { readonly pattern: string } =>
  typeof value === 'object' && value !== null && 'pattern' in value && typeof value.pattern === 'string';

/** With `unknown_keys: warn` the server passes over keys in the sections of LiteLLM, so Helm does. */
function namesUnlessWarned(): Record<string, unknown> {
  const warned = {
    type: 'object',
    required: ['unknown_keys'],
    properties: { unknown_keys: { const: 'warn' } },
  };
  return {
    if: { required: ['general_settings'], properties: { general_settings: warned } },
    else: namesOf(SCHEMA, []),
  };
}

/** The keys of a section of LiteLLM, and of those in it. */
function namesOf(schema: SchemaNode, path: Path): Record<string, unknown> {
  const { properties = {}, items } = schema;
  if (items !== undefined) return { items: namesOf(items, [...path, 0]) };
  if (!isSection(path)) return {};
  const inner = Object.entries(properties).map(([key, value]) => [key, namesOf(value, [...path, key])]);
  return { properties: Object.fromEntries(inner) as object, additionalProperties: false };
}

/** The entries of the map `models`: as in model_list, but their name may be left to the key. A later file removes one by null. */
function modelsMap(): Record<string, unknown> {
  const entry = SCHEMA.properties?.['model_list']?.items;
  if (entry === undefined) throw new Error('schemas/gateway.json has no model_list');
  const required = entry.required?.filter((key) => key !== 'model_name') ?? [];
  const entries = { ...draft07({ ...entry, required }), type: ['object', 'null'] };
  return { type: 'object', additionalProperties: entries };
}

/** Whether text below is a secret by the name that it has: headers and variables, of which most are none. */
type SecretPath = readonly [path: string, isByName: boolean];

/** Where secrets stand in a configuration; `*` is any item or key. */
function secretPaths(schema: SchemaNode, path: readonly string[] = []): SecretPath[] {
  const at = (...steps: readonly string[]): string => [...path, ...steps].join('.');
  if (schema['x-secret'] === true) {
    const types = typesOf(schema);
    if (types.includes('object')) return [[at('*'), true]];
    const own: SecretPath[] = types.includes('string') ? [[at(), false]] : [];
    return types.includes('array') ? [...own, [at('*'), false], [at('*', 'key'), false]] : own;
  }
  const { properties = {}, items, additionalProperties: others } = schema;
  return [
    ...Object.entries(properties).flatMap(([key, inner]) => secretPaths(inner, [...path, key])),
    ...(items === undefined ? [] : secretPaths(items, [...path, '*'])),
    ...(typeof others === 'object' ? secretPaths(others, [...path, '*']) : []),
  ];
}

/** What templates must know of the configuration. */
function facts(): Record<string, unknown> {
  const paths = secretPaths(SCHEMA);
  const { proxyPrefix, compatPrefix } = dialectOf(DEFAULT_WORDS);
  return {
    reference: ENV_MARKER,
    dialect: DEFAULT_WORDS,
    wholeBases: WHOLE_BASES,
    rules: kindRules(dialectOf(DEFAULT_WORDS)),
    prefixes: { proxy: proxyPrefix, compat: compatPrefix },
    vendors: VENDOR_PREFIXES,
    signed: Object.fromEntries(SIGNED),
    bareNames: BARE_NAMES,
    secrets: paths.filter(([, byName]) => !byName).map(([path]) => path),
    secretsByName: paths.filter(([, byName]) => byName).map(([path]) => path),
    restart: startKeys(),
    startVariables: START_VARIABLES.source,
  };
}

/** First paragraph of a comment, on one line: what follows an empty comment line is an example. */
function described(comment: string | null | undefined): string {
  const [first = ''] = (comment ?? '').split(/\n[ \t]*\n/);
  return first.replaceAll(/\s+/g, ' ').trim();
}

/** Draft-07 ignores a description beside a $ref, and Helm's messages about a $ref are longer than the fault. */
function inlined(schema: ValueSchema): ValueSchema {
  const name = schema.$ref?.slice('#/definitions/'.length);
  return name === undefined ? schema : (definitions[name] as ValueSchema);
}

/** The chart's schema with the comments of values.yaml as descriptions; collects the rows of the table on the way. */
function withComments(schema: ValueSchema, map: YAMLMap, path: string, rows: Row[]): ValueSchema {
  const rest = new Set(Object.keys(schema.properties ?? {}));
  const properties: Record<string, ValueSchema> = {};
  map.items.forEach(({ key, value }, index) => {
    const name = isScalar(key) ? String(key.value) : '';
    const inner = schema.properties?.[name];
    const full = `${path}${name}`;
    if (inner === undefined) throw new Error(`values.yaml has ${full}, values.base.schema.json has not`);
    rest.delete(name);
    if (inner.properties !== undefined && isMap(value)) {
      properties[name] = withComments(inner, value, `${full}.`, rows);
      return;
    }
    const own = isScalar(key) ? key.commentBefore : null;
    const description = described(own ?? (index === 0 ? map.commentBefore : null));
    if (description === '')
      throw new Error(`values.yaml says nothing about ${full} - write a comment above it`);
    const plain: unknown = map.toJSON()[name];
    rows.push({ path: full, description, value: JSON.stringify(plain) });
    properties[name] = { ...inlined(inner), description };
  });
  for (const name of rest) {
    const { 'x-effect': effect, ...inner } = schema.properties?.[name] ?? {};
    if (effect === undefined)
      throw new Error(`values.base.schema.json has ${path}${name}, values.yaml has not`);
    const said =
      effect === 'none' ? `Accepted, no effect. ${inner.description ?? ''}` : (inner.description ?? '');
    if (effect !== 'parent') rows.push({ path: `${path}${name}`, description: said, value: '' });
    properties[name] = { ...inner, description: said };
  }
  return { ...schema, properties };
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ path, description, value }) => {
    const shown = value.length > 60 ? 'see values.yaml' : value === '' ? '' : `\`${value}\``;
    return `| \`${path}\` | ${cell(description)} | ${cell(shown)} |`;
  });
  return ['| Value | What it is | Default |', '| --- | --- | --- |', ...lines].join('\n');
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const pathOf = (name: string): string => fileURLToPath(new URL(`throughline/${name}`, import.meta.url));
const read = (name: string): string => readFileSync(pathOf(name), 'utf8');

const base = JSON.parse(read('values.base.schema.json')) as ChartSchema;
const definitions: Readonly<Record<string, unknown>> = {
  ...base.definitions,
  gateway: { ...draft07(SCHEMA, []), ...namesUnlessWarned() },
  models: modelsMap(),
};
const document = parseDocument(read('values.yaml'));
if (!isMap(document.contents)) throw new Error('values.yaml is no mapping');
// The comment of the file, which the parser makes one with that of the first key.
const first = document.contents.items[0]?.key;
if (isScalar(first)) first.commentBefore = (first.commentBefore ?? '').replace(/^[^]*?\n\n/, '');
const rows: Row[] = [];
const schema = {
  ...withComments(base, document.contents, '', rows),
  definitions: {
    noEffect: { description: 'Accepted, no effect here.' },
    refused: {
      description:
        'Refused unless it is off: nothing here would enforce it; docs/configuration.md says what to do instead.',
      enum: [null, false, 0, '', [], {}],
    },
  },
};
const MARK = '<!-- generated: node charts/generate.ts -->';
const [head, , tail] = read('README.md').split(MARK);
const outputs: readonly (readonly [name: string, text: string])[] = [
  ['values.schema.json', JSON.stringify(schema)],
  ['files/configuration.json', JSON.stringify(facts())],
  ['README.md', `${head ?? ''}${MARK}\n\n${table(rows)}\n\n${MARK}${tail ?? ''}`],
];
for (const [name, text] of outputs) {
  const path = pathOf(name);
  const fresh = await format(text, { ...(await resolveConfig(path)), filepath: path });
  if (!values.check) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, fresh);
  } else if (read(name) !== fresh) {
    process.stderr.write(`charts/throughline/${name} is stale - run: node charts/generate.ts\n`);
    process.exitCode = 1;
  }
}
