// Validates a tree against the schema and reports each mistake once, in plain sentences: never in the validator's own
// words and never with a secret. Fills in the schema's defaults.
import type { ErrorObject } from 'ajv/dist/2020.js';
import type { Diagnostics } from './diagnostics.ts';
import { foreignFile } from './foreign-file.ts';
import type { GatewayFile } from './gateway-file.ts';
import { validate } from './gateway-validator.js';
import { settingOf, type Setting } from './protecting-names.ts';
import { FILE_MARKER } from './secret-files.ts';
import { below, isInert, isSecretAt, SCHEMA, typesOf, type SchemaNode } from './schema.ts';
import { shownName, shownText } from './shown.ts';
import { nodeAt, type Path, type ScalarTree, type Tree } from './tree.ts';
import { unknownKeyFix } from './unknown-key-fix.ts';
import { warnsOfUnknown, whyRefused } from './unknown-keys.ts';
import { isSwitch } from './unread-keys.ts';

const check = validate as ((value: unknown) => boolean) & { readonly errors?: readonly ErrorObject[] | null };

/**
 * The plain value of a resolved tree with defaults filled in. Reports every mistake; the type is right only for paths
 * where `diagnostics.isSound` is true.
 */
export function validated(root: Tree, diagnostics: Diagnostics): GatewayFile {
  const value = checkable(root, SCHEMA);
  if (!check(value)) report(check.errors ?? [], root, diagnostics);
  return value as GatewayFile;
}

/** The value of an empty file, with every default: it replaces sections that are broken. */
export function defaults(): GatewayFile {
  const value = {};
  check(value);
  return value as GatewayFile;
}

/**
 * The tree as a plain value. A key without a value counts as absent, as in LiteLLM. Where that would leave something
 * unprotected, or where something must be, it stays and is rejected.
 */
function checkable(tree: Tree, schema: SchemaNode | undefined): unknown {
  if (tree.kind === 'scalar') return scalarOf(tree, schema);
  if (tree.kind === 'list') return tree.items.map((item) => checkable(item, schema?.items));
  const value: Record<string, unknown> = {};
  for (const [key, member] of tree.members) {
    const inner = below(schema, key);
    if (isInert(inner) || isSwitch(member.tree, inner)) continue;
    const known = schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
    const empty = member.tree.kind === 'scalar' && member.tree.value === null;
    const isNeeded = inner?.minLength !== undefined && schema?.required?.includes(key) === true;
    if (empty && known && !isNeeded && inner?.['x-guards'] !== true) continue;
    // An admin call can send __proto__; defineProperty makes it an ordinary member.
    if (key === '__proto__') Object.defineProperty(value, key, { value: null, enumerable: true });
    else value[key] = checkable(member.tree, inner);
  }
  return value;
}

/** `20_000` is a number in YAML 1.1, which LiteLLM reads, and no other value could be meant. In quotes it is text there, too. */
function scalarOf({ value, isQuoted, reference }: ScalarTree, schema: SchemaNode | undefined): unknown {
  if (isQuoted === true && reference === null) return value;
  if (typeof value !== 'string' || !/^\d+(?:_\d+)+(?:\.\d+)?$/.test(value)) return value;
  const isNumber = typesOf(schema).some((type) => type === 'number' || type === 'integer');
  return isNumber ? Number(value.replaceAll('_', '')) : value;
}

function report(errors: readonly ErrorObject[], root: Tree, diagnostics: Diagnostics): void {
  const foreign = foreignFile(root);
  if (foreign !== null) {
    diagnostics.error([], ...foreign);
    return;
  }
  const reported = new Set<string>();
  const warns = warnsOfUnknown(root);
  for (const error of errors) {
    if (error.propertyName !== undefined) continue; // said by the propertyNames error that follows
    const path = pathOf(error.instancePath, root);
    const child = childOf(error);
    const full = child === null ? path : [...path, child];
    if (reported.has(JSON.stringify(full)) || (child === null && !diagnostics.isSound(full))) continue;
    reported.add(JSON.stringify(full));
    const at = error.keyword === 'propertyNames' ? 'key' : 'value';
    const schema = schemaAt(path) ?? {};
    const [message, fix] = sentence(error, schema, full, root);
    if (error.keyword === 'additionalProperties') unknownKey(full, message, fix);
    else diagnostics.error(full, message, fix, at);
  }

  function unknownKey(path: Path, message: string, fix: string): void {
    const why = whyRefused(path, schemaAt(path.slice(0, -1)) ?? {}, settingAt(nodeAt(root, path)));
    if (why === 'protects' && warns)
      diagnostics.error(
        path,
        'unknown key that by its name protects something, and nothing here does',
        fix,
        'key',
      );
    else if (why !== null) diagnostics.error(path, message, fix, 'key');
    else if (warns) diagnostics.warn(path, 'unknown key: it has no effect here', fix, 'key');
    else diagnostics.errorUnless('unknown_keys', path, message, fix, 'key');
  }
}

const settingAt = (tree: Tree | undefined): Setting =>
  tree?.kind === 'scalar' && tree.reference === null ? settingOf(tree.value) : 'other';

function pathOf(pointer: string, root: Tree): Path {
  const path: (string | number)[] = [];
  for (const raw of pointer.split('/').slice(1)) {
    const step = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(nodeAt(root, path)?.kind === 'list' ? Number(step) : step);
  }
  return path;
}

/** What the schema says of a place: an error names only its own part of it. */
function schemaAt(path: Path): SchemaNode | undefined {
  let schema: SchemaNode | undefined = SCHEMA;
  for (const step of path) schema = below(schema, step);
  return schema;
}

/** The member that an error about a mapping refers to. */
function childOf(error: ErrorObject): string | null {
  const params: Record<string, unknown> = error.params;
  const child = params['additionalProperty'] ?? params['missingProperty'] ?? params['propertyName'];
  return typeof child === 'string' ? child : null;
}

/** What is wrong and how to fix it. */
function sentence(
  error: ErrorObject,
  schema: SchemaNode,
  path: Path,
  root: Tree,
): [message: string, fix: string] {
  const key = String(path.at(-1) ?? '');
  const got = gotText(nodeAt(root, path), path, schema);
  const params: Record<string, unknown> = error.params;
  const limit = String(params['limit']);
  switch (error.keyword) {
    case 'additionalProperties':
      return ['unknown key', unknownKeyFix(key, schema, path)];
    case 'required':
      return ['is missing', exampleFix(key, below(schema, key))];
    case 'propertyNames':
      return [`${shownName(key)} is not a header name`, 'use letters, digits and dashes only'];
    case 'enum': {
      const known = (schema.enum ?? []).map(String);
      return [`must be one of ${known.join(', ')}; got ${got}`, `write ${known.join(' or ')}`];
    }
    case 'minimum':
      return [`must be at least ${limit}, got ${got}`, exampleFix(key, schema)];
    case 'maximum':
      return [`must be at most ${limit}, got ${got}`, exampleFix(key, schema)];
    case 'exclusiveMinimum':
      return [`must be more than ${limit}, got ${got}`, exampleFix(key, schema)];
    case 'minLength':
      return [
        params['limit'] === 1 ? 'must not be empty' : `must be at least ${limit} characters long`,
        exampleFix(key, schema),
      ];
    case 'maxLength':
      return [`must be at most ${limit} characters long`, 'write a shorter one'];
    default:
      return [`must be ${wanted(schema)}, got ${got}`, typeFix(key, schema, nodeAt(root, path))];
  }
}

function wanted(schema: SchemaNode): string {
  const says = schema['x-says'];
  if (says !== undefined) return says;
  const names: Record<string, string> = {
    string: 'text',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'a mapping',
  };
  const types = typesOf(schema);
  if (types.includes('string') && types.length > 1) return 'text, a number, or true or false';
  return types.map((type) => names[type] ?? type).join(' or ');
}

/** How a message describes a value. It never shows secrets or values from the environment. */
function gotText(tree: Tree | undefined, path: Path, schema: SchemaNode): string {
  if (tree === undefined) return 'nothing';
  if (tree.kind === 'list') return 'a list';
  if (tree.kind === 'map') return 'a mapping';
  if (tree.reference?.startsWith(FILE_MARKER) === true) return `the content of the ${tree.reference}`;
  if (tree.reference !== null) return `the value of the environment variable ${tree.reference}`;
  if (tree.value === null) return 'nothing';
  const type = typeof tree.value;
  // Text in place of a mapping or list may be anything, even a key on the wrong line.
  const structured = typesOf(schema).some((one) => one === 'object' || one === 'array');
  if (isSecretAt(path) || structured)
    return type === 'string' ? 'text' : `a ${type === 'number' ? 'number' : 'switch'}`;
  return typeof tree.value === 'string' ? shownText(tree.value) : String(tree.value);
}

/** Others (`0x10`) would be numbers without their quotes, and not the ones that are meant. */
const PLAIN_NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

function typeFix(key: string, schema: SchemaNode, tree: Tree | undefined): string {
  const types = typesOf(schema);
  if (tree?.kind === 'list' && schema['x-list'] !== undefined) return schema['x-list'];
  const text = tree?.kind === 'scalar' && typeof tree.value === 'string' ? tree.value.trim() : null;
  const glued = /^([\w-]+):\S/.exec(text ?? '')?.[1];
  if (types.includes('object') && glued !== undefined && Object.hasOwn(schema.properties ?? {}, glued))
    return `put a space after the colon of ${glued}:`;
  const variable = tree?.kind === 'scalar' ? tree.reference : null;
  // What a variable holds is text: no list and no mapping.
  const isScalar = types.some((type) => type !== 'array' && type !== 'object');
  if (variable !== null && isScalar) return `set ${variable} to ${wanted(schema)}`;
  if (types.includes('boolean') && !types.includes('string') && text !== null) {
    const yes = /^(true|yes|on|1)$/i.test(text);
    if (yes || /^(false|no|off|0)$/i.test(text)) return `write ${yes} without quotes`;
  }
  if (types.includes('array') && text !== null)
    return 'write it as a list, each value on a line of its own after "- "';
  if (types.includes('number') || types.includes('integer'))
    if (text !== null && PLAIN_NUMBER.test(text)) return 'remove the quotes';
  if (
    types.length === 1 &&
    types[0] === 'string' &&
    tree?.kind === 'scalar' &&
    typeof tree.value !== 'string' &&
    tree.value !== null &&
    new RegExp(schema.pattern ?? '', 'u').test(String(tree.value))
  )
    return 'put it in quotes';
  return exampleFix(key, schema);
}

function exampleFix(key: string, schema: SchemaNode | undefined): string {
  const inner = Object.keys((schema?.items ?? schema)?.properties ?? {});
  const required = (schema?.items ?? schema)?.required?.[0] ?? inner[0];
  if (required !== undefined && !typesOf(schema).includes('string'))
    return schema?.items === undefined
      ? `write its keys below it, each on a line of its own that begins with spaces: ${required}: ...`
      : `write each entry below it, on lines of its own that begin with a dash: - ${required}: ...`;
  const example = schema?.examples?.[0];
  if (example === undefined) return 'see docs/configuration.md';
  const name = /^\d+$/.test(key) ? '-' : `${key}:`; // an item of a list has a position, no key
  return `for example ${name} ${typeof example === 'string' ? example : JSON.stringify(example)}`;
}
