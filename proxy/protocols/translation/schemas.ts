// JSON Schemas in the subset that a vendor takes. What is left out only narrows what a model may write, so tools still check it.
import { asObject, type Json } from '../../bodies/json.ts';

/** Deeper schemas are cut: no tool has them, and a hostile one must not take the stack. */
const DEEPEST = 64;

/** Members that hold a schema, a list of schemas, or schemas by name. */
const SCHEMA: ReadonlySet<string> = new Set([
  'items',
  'not',
  'additionalProperties',
  'if',
  'then',
  'else',
  'contains',
]);
const SCHEMAS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'patternProperties']);

type Change = (schema: Json) => Json;

/** Applies a change to a schema and to every schema in it, the innermost first. */
function mapped(schema: Json, change: Change, levels = DEEPEST): Json {
  if (levels === 0) return {};
  const below = (value: unknown): unknown => {
    const inner = asObject(value);
    return inner === null ? value : mapped(inner, change, levels - 1);
  };
  const members = Object.entries(schema).map(([name, value]): [string, unknown] => {
    if (SCHEMA.has(name)) return [name, Array.isArray(value) ? value.map(below) : below(value)];
    if (SCHEMAS.has(name)) return [name, Array.isArray(value) ? value.map(below) : value];
    const named = NAMED.has(name) ? asObject(value) : null;
    if (named === null) return [name, value];
    return [name, Object.fromEntries(Object.entries(named).map(([key, inner]) => [key, below(inner)]))];
  });
  return change(Object.fromEntries(members));
}

/** Tools have objects as input: Anthropic and OpenAI refuse a schema without the type. */
export function objectSchema(schema: Json): Json {
  return schema['type'] === 'object' ? schema : { ...schema, type: 'object' };
}

/** All members of all objects must be there, as OpenAI's strict structures want (platform.openai.com/docs/guides/structured-outputs). */
export function requiresAll(schema: Json): boolean {
  let isWhole = true;
  mapped(schema, (one) => {
    const { required } = one;
    const listed = new Set<unknown>(Array.isArray(required) ? required : []);
    if (!Object.keys(asObject(one['properties']) ?? {}).every((name) => listed.has(name))) isWhole = false;
    return one;
  });
  return isWhole;
}

/** Refused in Anthropic's structured outputs (platform.claude.com/docs/en/build-with-claude/structured-outputs). */
const NOT_IN_OUTPUT: ReadonlySet<string> = new Set([
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'uniqueItems',
]);

/** For Anthropic's structured outputs: objects are closed, `oneOf` is `anyOf`, no limits of numbers and lengths. */
export function outputSchema(schema: Json): Json {
  return mapped(schema, (one) => {
    const { oneOf, ...rest } = one;
    const kept = Object.fromEntries(Object.entries(rest).filter(([name]) => !NOT_IN_OUTPUT.has(name)));
    return {
      ...kept,
      ...(oneOf === undefined ? {} : { anyOf: oneOf }),
      ...(one['type'] === 'object' ? { additionalProperties: false } : {}),
    };
  });
}

/** What Gemini takes of JSON Schema in `parametersJsonSchema` and `responseJsonSchema` (ai.google.dev/api/generate-content). */
const OF_GEMINI: ReadonlySet<string> = new Set([
  '$anchor',
  '$defs',
  '$id',
  '$ref',
  'additionalProperties',
  'anyOf',
  'description',
  'enum',
  'format',
  'items',
  'maxItems',
  'maximum',
  'minItems',
  'minimum',
  'oneOf',
  'prefixItems',
  'properties',
  'propertyOrdering',
  'required',
  'title',
  'type',
]);

/** Beside one of these an `allOf` only adds. */
const SHAPES: readonly string[] = [
  'additionalProperties',
  'anyOf',
  'enum',
  'items',
  'oneOf',
  'prefixItems',
  'properties',
];

/**
 * For Gemini: `const` becomes an `enum` of one, `definitions` become `$defs`, an `allOf` of one is that one, what it does not know is
 * left out. Beside a `$ref` it takes members that begin with `$` alone.
 */
export function geminiSchema(schema: Json): Json {
  return mapped(schema, (one) => {
    const { const: only, definitions, ...rest } = one;
    const kept = {
      ...Object.fromEntries(Object.entries(rest).filter(([name]) => OF_GEMINI.has(name))),
      ...(only === undefined ? {} : { enum: [only] }),
      ...(definitions === undefined ? {} : { $defs: definitions }),
    };
    const whole: Json = { ...onlyOf(one['allOf'], kept), ...kept };
    const reference = whole['$ref'];
    if (typeof reference !== 'string') return whole;
    return {
      ...Object.fromEntries(Object.entries(whole).filter(([name]) => name.startsWith('$'))),
      $ref: reference.replace('#/definitions/', '#/$defs/'),
    };
  });
}

/** Pydantic and others write a reference that has a description so: `{allOf: [{$ref: ...}], description: ...}`. */
function onlyOf(all: unknown, beside: Json): Json {
  if (!Array.isArray(all) || all.length !== 1 || SHAPES.some((name) => name in beside)) return {};
  return asObject(all[0]) ?? {};
}

/** Members of Gemini's own `Schema` that are int64, which Google's clients write as texts (protobuf.dev/programming-guides/json). */
const INT64: ReadonlySet<string> = new Set([
  'maxItems',
  'maxLength',
  'maxProperties',
  'minItems',
  'minLength',
  'minProperties',
]);
const WHOLE_NUMBER = /^\d{1,15}$/;

const asNumber = (name: string, value: unknown): unknown =>
  INT64.has(name) && typeof value === 'string' && WHOLE_NUMBER.test(value) ? Number(value) : value;

/** Gemini's own `Schema`, whose types are upper case and whose `nullable` is a member, as JSON Schema. */
export function jsonSchemaOfGemini(schema: Json): Json {
  return mapped(schema, (one) => {
    const { nullable, propertyOrdering: _, ...stated } = one;
    const { type, anyOf, enum: words } = stated;
    const rest: Json = {
      ...Object.fromEntries(Object.entries(stated).map(([name, value]) => [name, asNumber(name, value)])),
      ...(nullable === true && Array.isArray(anyOf) ? { anyOf: [...anyOf, { type: 'null' }] } : {}),
      // In JSON Schema what is none of these is refused, whatever the type says.
      ...(nullable === true && Array.isArray(words) ? { enum: [...words, null] } : {}),
    };
    if (typeof type !== 'string') return rest;
    const word = type.toLowerCase();
    return { ...rest, type: nullable === true ? [word, 'null'] : word };
  });
}
