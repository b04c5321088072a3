// Reads schemas/gateway.json, the single source of validation, defaults, types and docs. It contains no $ref and no
// anyOf, so a path through a configuration is also a path through the schema.
import source from '../schemas/gateway.json' with { type: 'json' };
import type { Path } from './tree.ts';

/** The part of JSON Schema that `schemas/gateway.json` uses, plus keywords of our own. */
export interface SchemaNode {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  /**
   * Of a LiteLLM key that is not read. `none`: accepted and warned about. `always`: what it asks for is always so here.
   * `refused`: it would protect something, and nothing here does; a file that sets it is refused.
   */
  readonly 'x-effect'?: 'none' | 'always' | 'refused';
  /** Of a refused key: what to do instead. Of one without effect: where its subject is set here, if it is. */
  readonly 'x-fix'?: string;
  /** Of a key that is refused: it says who the callers are. */
  readonly 'x-authenticates'?: true;
  /** Of a refused list: the items that are refused; absent = every value but an empty one. */
  readonly 'x-refuses'?: readonly string[];
  /** Members at any depth of a key without effect that are refused. */
  readonly 'x-refuses-members'?: readonly string[];
  /** LiteLLM has a switch of this name, which has no effect here: what to write instead. */
  readonly 'x-switch'?: string;
  /** A list stands here in some files, and is no value of the key: what to write instead. */
  readonly 'x-list'?: string;
  /** It protects something, so that an empty value is an error, and no key that is left out. */
  readonly 'x-guards'?: true;
  /**
   * Read at the start only. `presence`: its members are taken over while the proxy runs, but adding or removing it is not.
   * `addition`: nor is adding it, and removing it is.
   */
  readonly 'x-restart'?: true | 'presence' | 'addition';
  /** A reference to a variable that is not set counts as left out, as in LiteLLM. */
  readonly 'x-optional'?: boolean;
  /** The value, or anything below it, is a secret: no message shows it. Below such a one, `false` says what is none. */
  readonly 'x-secret'?: boolean;
  /** The value is the path of a file that holds the value of this key of the same mapping. */
  readonly 'x-file-of'?: string;
  /** How messages call the expected value, e.g. `a number of seconds`. */
  readonly 'x-says'?: string;
}

// The inferred type of the import is a literal type with 600 members; SchemaNode is what they have in common.
export const SCHEMA = source as unknown as SchemaNode;

/** The schema one step below, or undefined where the schema defines nothing. */
export function below(schema: SchemaNode | undefined, step: string | number): SchemaNode | undefined {
  if (schema === undefined) return undefined;
  if (typeof step === 'number') return schema.items;
  const properties = schema.properties;
  if (properties !== undefined && Object.hasOwn(properties, step)) return properties[step];
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** Whether nothing reads the key: its value is neither resolved nor validated. */
export function isInert(schema: SchemaNode | undefined): boolean {
  return schema?.['x-effect'] !== undefined;
}

/** A key that is read at the start only. */
interface StartKey {
  readonly path: string;
  readonly onlyPresence: boolean;
}

/** Every key that `x-restart` marks, in the order of the schema. */
export function startKeys(schema: SchemaNode = SCHEMA, path = ''): readonly StartKey[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`;
    const mark = inner['x-restart'];
    const own = mark === undefined ? [] : [{ path: at, onlyPresence: mark !== true }];
    return [...own, ...startKeys(inner, at)];
  });
}

/** Whether a mapping takes no key but those that it names, and this is none of them: it is not resolved, and its error says why. */
export function isUnknown(schema: SchemaNode | undefined, key: string): boolean {
  return schema?.additionalProperties === false && !Object.hasOwn(schema.properties ?? {}, key);
}

/** Whether the value at a path is, or lies in, a secret. */
export function isSecretAt(path: Path): boolean {
  let schema: SchemaNode | undefined = SCHEMA;
  let isSecret = false;
  for (const step of path) {
    schema = below(schema, step);
    isSecret = schema?.['x-secret'] ?? isSecret;
  }
  return isSecret;
}

/** The types a schema names, as a list; empty = any. */
export function typesOf(schema: SchemaNode | undefined): readonly string[] {
  const type = schema?.type;
  if (type === undefined) return [];
  return typeof type === 'string' ? [type] : type;
}
