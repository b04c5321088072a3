// What the description of the API says of one route beside what the route table knows: parameters, body, answer, error
// codes. And the few words that such descriptions are written with.
import type { FaultCode } from '../../errors/codes.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly description?: string;
}

/** One operation; a path that stands here and not in the route table, or the other way round, is an error. */
export interface Described {
  /** `GET /key/info`; `{...}` stands for a name. */
  readonly route: string;
  readonly tag: string;
  readonly summary: string;
  /** Other paths of the same operation. */
  readonly aliases?: readonly string[];
  readonly query?: readonly Parameter[];
  readonly body?: JsonSchema;
  /** Types of a body; default: JSON alone. */
  readonly bodyTypes?: readonly string[];
  /** Default: 200. */
  readonly success?: '200' | '101';
  /** Schemas by media type. */
  readonly answers: Readonly<Record<string, JsonSchema>>;
  /** What it refuses beside what all routes refuse. */
  readonly codes?: readonly FaultCode[];
  /** Passed on to a gateway: answers with any status, and whatever the gateway sends. */
  readonly forwards?: boolean;
  /** Status that says something else than an error, with what it says. */
  readonly others?: Readonly<Record<string, string>>;
}

export const TEXT: JsonSchema = { type: 'string' };
export const NUMBER: JsonSchema = { type: 'number' };
export const COUNT: JsonSchema = { type: 'integer' };
export const BOOL: JsonSchema = { type: 'boolean' };
export const TEXTS: JsonSchema = { type: 'array', items: TEXT };
/** `true`, `1`: yes. Other texts are no, so nothing is refused. */
export const FLAG: JsonSchema = { type: 'string', examples: ['true'] };
export const ANY_OBJECT: JsonSchema = { type: 'object' };

export const orNull = (type: string): JsonSchema => ({ type: [type, 'null'] });
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
/** A schema of `SCHEMAS`. */
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
/** An object that has these members, and may have more. */
export const object = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
/** Members that may be there. */
export const some = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
});
export const json = (schema: JsonSchema): Described['answers'] => ({ 'application/json': schema });

export const parameter = (name: string, description: string, schema: JsonSchema = TEXT): Parameter => ({
  name,
  schema,
  description,
});
export const needed = (one: Parameter): Parameter => ({ ...one, required: true });
/** Texts that filter exactly. */
export const filters = (...names: readonly string[]): readonly Parameter[] =>
  names.map((name) => parameter(name, 'Exactly this one.'));
/** `page`, and the parameter that says how long a page is. */
export const paging = (size: string, most: number): readonly Parameter[] => [
  parameter('page', 'Which page; the first one is 1.', { type: 'integer', minimum: 1, maximum: 1_000_000 }),
  parameter(size, 'Entries of a page.', { type: 'integer', minimum: 1, maximum: most }),
];
