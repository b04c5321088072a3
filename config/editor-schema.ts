// The schema for editors, made of schemas/gateway.json: a file as it is written, before the loader has put values in the place
// of `os.environ/NAME` and left out keys without a value. Pure; used by generate.ts, and by the chart's own schema in part.
import { ENV_MARKER } from './dialect.ts';
import { isInert, typesOf, type SchemaNode } from './schema.ts';

const REFERENCE = `^${ENV_MARKER.replaceAll('.', '\\.')}.`;

/** Types, pattern and length of a value as it is written: what the loader wants, nothing, or a reference to the environment. */
export function written(
  schema: SchemaNode,
  isRequired: boolean,
): { readonly type?: readonly string[]; readonly pattern?: string; readonly minLength?: number } {
  const types = typesOf(schema);
  if (types.length === 0) return {};
  const mayBeEmpty = schema['x-guards'] !== true && !(isRequired && schema.minLength !== undefined);
  const isSwitch = schema['x-switch'] !== undefined;
  const all = [...new Set([...types, ...(mayBeEmpty ? ['null'] : []), ...(isSwitch ? ['boolean'] : [])])];
  if (types.some((type) => type === 'object' || type === 'array')) return { type: all };
  const withText = [...new Set([...all, 'string'])];
  if (schema.enum !== undefined)
    return { type: withText, pattern: `${REFERENCE}|^(${schema.enum.join('|')})$` };
  if (!types.includes('string')) return { type: withText, pattern: REFERENCE };
  // The name of a variable may be shorter than what it holds.
  const { minLength } = schema;
  const least = minLength === undefined ? {} : { minLength: Math.min(minLength, 1) };
  const pattern = 'pattern' in schema ? { pattern: `${REFERENCE}|${schema.pattern}` } : {};
  return { type: all, ...pattern, ...least };
}

/** @param isRequired a key without a value is no key that is left out */
export function editorSchema(schema: SchemaNode, isRequired = false): Record<string, unknown> {
  // What the loader says of a key that nothing reads, it says better.
  if (isInert(schema)) return { description: schema.description };
  const { properties, items, required, enum: values, additionalProperties: others, ...words } = schema;
  const kept = Object.entries(words).filter(([word]) => !word.startsWith('x-'));
  const value = written(schema, isRequired);
  const out: Record<string, unknown> = { ...Object.fromEntries(kept), ...value };
  // Editors complete the words of an enum, and of no pattern.
  if (values !== undefined) {
    delete out['pattern'];
    const nothing = value.type?.includes('null') === true ? [null] : [];
    out['anyOf'] = [{ enum: [...values, ...nothing] }, { pattern: REFERENCE }];
  }
  if (required !== undefined) out['required'] = required;
  if (properties !== undefined)
    out['properties'] = Object.fromEntries(
      Object.entries(properties).map(([key, inner]) => [
        key,
        editorSchema(inner, required?.includes(key) === true),
      ]),
    );
  if (items !== undefined) out['items'] = editorSchema(items, true);
  if (others !== undefined)
    out['additionalProperties'] = typeof others === 'object' ? editorSchema(others, true) : others;
  return out;
}
