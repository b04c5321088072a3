// The query string as values of the types that the description states. What cannot be read as such a value is left as
// text, so that the check that follows says what it should have been.
import type { Operation, Parameter, Schema } from './description.ts';

/** Values by name; absent ones take their default, unknown names are left out as the platform does. */
export function queryOf(operation: Operation, text: string): Record<string, unknown> {
  const sent = new URLSearchParams(text);
  const values: Record<string, unknown> = {};
  for (const parameter of inQuery(operation)) {
    const all = sent.getAll(parameter.name);
    const last = all.at(-1);
    const { type, fallback } = shapeOf(parameter.schema);
    if (type === 'array') {
      if (all.length > 0) values[parameter.name] = all;
    } else if (last === undefined) {
      if (fallback !== undefined && fallback !== null) values[parameter.name] = fallback;
    } else values[parameter.name] = read(last, type);
  }
  return values;
}

/** The schema that the values of `queryOf` must fit. */
export function querySchema(operation: Operation): object {
  const list = inQuery(operation);
  return {
    type: 'object',
    properties: Object.fromEntries(list.map(({ name, schema }) => [name, schema])),
    required: list.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

const inQuery = (operation: Operation): readonly Parameter[] =>
  (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');

function shapeOf(schema: Schema): { readonly type: string; readonly fallback: unknown } {
  const part = schema.anyOf?.find((one) => one.type !== 'null') ?? schema;
  return { type: typeof part.type === 'string' ? part.type : 'string', fallback: schema.default };
}

function read(text: string, type: string): unknown {
  if (type === 'integer') return /^\s*[+-]?\d{1,15}\s*$/.test(text) ? Number(text) : text;
  if (type === 'boolean') {
    if (/^(true|1|yes|on|t|y)$/i.test(text)) return true;
    if (/^(false|0|no|off|f|n)$/i.test(text)) return false;
  }
  return text;
}
