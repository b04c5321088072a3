// Reads the bodies of calls about keys, teams, users and budgets: each call states its members in a table, unknown members
// are passed over, as LiteLLM does. What is absent stays absent, null stays null: an update keeps the one and clears the
// other. A wrong type is 422 with every member that is wrong, a wrong value 400 in the dialect's words.
import { beginsWithDay } from '../../../config/calendar-day.ts';
import { isObject, type Json } from '../../bodies/json.ts';
import { parseDuration } from '../../access/durations.ts';
import { invalid, wrongFields, type FieldIssue, type Refusal } from './refusals.ts';

type Place = readonly (string | number)[];

/** What is wrong with a body. */
interface Mistakes {
  readonly types: FieldIssue[];
  readonly values: Refusal[];
}

/** Reads a value that is not null; what it returns after it has noted a mistake is not used. */
type Read<T> = (value: unknown, at: Place, mistakes: Mistakes) => T | null;
/** With the JSON Schema of what it takes, for the description of the API. */
export type Reader<T> = Read<T> & { readonly schema: Json };
type Table = Readonly<Record<string, Reader<unknown>>>;
type ValueOf<R> = R extends Reader<infer T> ? T : never;

/** Members as they were sent: absent (undefined), null, or a value. */
export type Fields<S extends Table> = { readonly [K in keyof S]?: ValueOf<S[K]> | null | undefined };

/** Longest id, alias or name. */
const MOST_CHARS = 1_000;
/** Of a member that is kept as it is. */
const MOST_KEPT_CHARS = 262_144;
/** Deeper values cannot be written as JSON without a stack of their depth. */
const MOST_LEVELS = 64;
const MOST_ITEMS = 10_000;

/** A reader with the schema that the description of the API shows. */
export const described = <T>(schema: Json, read: Read<T>): Reader<T> => Object.assign(read, { schema });

/**
 * The members of a body.
 * @param required members that must be there and not null
 * @throws Refusal 422 for wrong types, 400 for wrong values
 */
export function readFields<S extends Table>(
  body: Json,
  table: S,
  required: readonly (keyof S & string)[] = [],
): Fields<S> {
  const mistakes: Mistakes = { types: [], values: [] };
  noteMissing(body, required, ['body'], mistakes);
  const fields = membersIn(body, table, ['body'], mistakes);
  if (mistakes.types.length > 0) throw wrongFields(mistakes.types);
  const [first] = mistakes.values;
  if (first !== undefined) throw first;
  return fields;
}

function noteMissing(body: Json, required: readonly string[], at: Place, mistakes: Mistakes): void {
  for (const name of required) {
    if (!Object.hasOwn(body, name)) note(mistakes, [...at, name], 'missing', 'Field required');
    else if (body[name] === null) note(mistakes, [...at, name], 'string_type', 'Input should not be null');
  }
}

/** The members that the table states, of those that are there. */
function membersIn<S extends Table>(body: Json, table: S, at: Place, mistakes: Mistakes): Fields<S> {
  const fields: Record<string, unknown> = {};
  for (const [name, reader] of Object.entries(table)) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    fields[name] = value === null ? null : reader(value, [...at, name], mistakes);
  }
  return fields as Fields<S>;
}

/** The JSON Schema of a body that a table states. Members that no table has are passed over, so they are allowed. */
export function schemaOf(table: Table, required: readonly string[] = []): Json {
  const properties = Object.entries(table).map(([name, { schema }]) => [
    name,
    required.includes(name) ? schema : orNull(schema),
  ]);
  const needed = required.length === 0 ? {} : { required };
  return { type: 'object', properties: Object.fromEntries(properties) as Json, ...needed };
}

function orNull(schema: Json): Json {
  const { enum: names, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...(anyOf as readonly Json[]), { type: 'null' }] };
  if (typeof schema['type'] !== 'string') return schema;
  return {
    ...schema,
    type: [schema['type'], 'null'],
    ...(Array.isArray(names) ? { enum: [...(names as readonly string[]), null] } : {}),
  };
}

export function note(mistakes: Mistakes, loc: Place, type: string, msg: string): null {
  mistakes.types.push({ type, loc, msg });
  return null;
}

export function refuse(mistakes: Mistakes, at: Place, message: string): null {
  mistakes.values.push(invalid(message, String(at[1] ?? '')));
  return null;
}

/** How many mistakes there are so far. */
export const sizeOf = ({ types, values }: Mistakes): number => types.length + values.length;

/** Whether a member was sent with a value. */
export const isSet = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null;

export const nameOf = (at: Place): string => at.slice(1).join('.');

/** Text. */
export const text: Reader<string> = described<string>(
  { type: 'string', maxLength: MOST_CHARS },
  (value, at, mistakes) => {
    if (typeof value !== 'string') return note(mistakes, at, 'string_type', 'Input should be a valid string');
    if (value.length > MOST_CHARS)
      return refuse(mistakes, at, `${nameOf(at)} must have at most ${MOST_CHARS} characters.`);
    // Databases cannot hold these, and logs should not.
    if (/\p{Cc}/u.test(value) || !value.isWellFormed())
      return refuse(mistakes, at, `${nameOf(at)} must not contain control characters.`);
    return value;
  },
);

/** Text; a blank one is none. */
export const id: Reader<string> = described<string>(
  { type: 'string', maxLength: MOST_CHARS },
  (value, at, mistakes) =>
    typeof value === 'string' && /^[\p{Zs}]*$/u.test(value) ? null : text(value, at, mistakes),
);

export const bool: Reader<boolean> = described<boolean>({ type: 'boolean' }, (value, at, mistakes) =>
  typeof value === 'boolean' ? value : note(mistakes, at, 'bool_type', 'Input should be a valid boolean'),
);

/**
 * Numbers as texts are read as pydantic does: operators of Kubernetes, whose resources have no fractions, send amounts so, and
 * LiteLLM's own pages have a `budget_limit` so.
 */
const NUMERAL = /^-?[0-9]{1,30}(?:\.[0-9]{1,30})?$/;
const fromText = (value: unknown): unknown =>
  typeof value === 'string' && NUMERAL.test(value) ? Number(value) : value;

const AMOUNT_TEXT: Json = { type: 'string', pattern: '^([0-9]{1,30}(\\.[0-9]{1,30})?)?$' };
const COUNT_TEXT: Json = { type: 'string', pattern: '^[0-9]{0,15}$' };

/** A number, 0 or more; '' is none. @param words of the refusal: a valid ..., a non-negative ... number */
function amount(
  sent: unknown,
  at: Place,
  mistakes: Mistakes,
  type: 'float_type' | 'int_type',
  words: readonly [kind: string, range: string],
): number | null {
  if (sent === '') return null;
  const value = fromText(sent);
  const [kind, range] = words;
  if (typeof value !== 'number') return note(mistakes, at, type, `Input should be a valid ${kind}`);
  if (!Number.isFinite(value) || value < 0)
    return refuse(mistakes, at, `${nameOf(at)} must be a non-negative ${range} number`);
  return value;
}

/** An amount of US dollars; '' is none. */
export const money: Reader<number> = described<number>(
  { anyOf: [{ type: 'number', minimum: 0 }, AMOUNT_TEXT] },
  (sent, at, mistakes) => amount(sent, at, mistakes, 'float_type', ['number', 'finite']),
);

/** A whole number, 0 or more; '' is none. */
export const count: Reader<number> = described<number>(
  { anyOf: [{ type: 'integer', minimum: 0 }, COUNT_TEXT] },
  (sent, at, mistakes) => {
    const value = amount(sent, at, mistakes, 'int_type', ['integer', 'whole']);
    if (value === null || Number.isSafeInteger(value)) return value;
    const msg = 'Input should be a valid integer, without a fractional part';
    return note(mistakes, at, 'int_from_float', msg);
  },
);

/** A list of values of one kind. */
export function listOf<T>(item: Reader<T>): Reader<readonly T[]> {
  return described({ type: 'array', items: item.schema }, (value, at, mistakes) => {
    if (!Array.isArray(value)) return note(mistakes, at, 'list_type', 'Input should be a valid list');
    return value
      .map((one: unknown, index) => item(one, [...at, index], mistakes))
      .filter((one) => one !== null);
  });
}

const TEXTS = listOf(text);
/** A list of so many texts. */
export const textsUpTo = (most: number): Reader<readonly string[]> =>
  described<readonly string[]>({ ...TEXTS.schema, maxItems: most }, (value, at, mistakes) =>
    Array.isArray(value) && value.length > most
      ? refuse(mistakes, at, `${nameOf(at)} has more than ${most} items.`)
      : TEXTS(value, at, mistakes),
  );

/** A list of texts. */
export const texts: Reader<readonly string[]> = textsUpTo(MOST_ITEMS);

/** An object, kept as it is. */
export const dict: Reader<Json> = described<Json>({ type: 'object' }, (value, at, mistakes) =>
  isObject(value)
    ? kept<Json>(value, at, mistakes)
    : note(mistakes, at, 'dict_type', 'Input should be a valid dictionary'),
);

/** Anything, kept as it is. */
export const anything: Reader<unknown> = described<unknown>({}, (value, at, mistakes) =>
  kept(value, at, mistakes),
);

function kept<T>(value: T, at: Place, mistakes: Mistakes): T | null {
  if (levelsOf(value) > MOST_LEVELS)
    return refuse(mistakes, at, `${nameOf(at)} is nested deeper than ${MOST_LEVELS} levels.`);
  if (JSON.stringify(value).length > MOST_KEPT_CHARS)
    return refuse(mistakes, at, `${nameOf(at)} is longer than ${MOST_KEPT_CHARS} characters of JSON.`);
  return value;
}

function levelsOf(value: unknown, level = 1): number {
  if (typeof value !== 'object' || value === null || level > MOST_LEVELS) return level;
  return Object.values(value).reduce((most: number, one) => Math.max(most, levelsOf(one, level + 1)), level);
}

/** An object with values of one kind. */
export function mapOf<T>(reader: Reader<T>): Reader<Readonly<Record<string, T>>> {
  const schema = { type: 'object', additionalProperties: reader.schema };
  return described(schema, (value, at, mistakes) => {
    if (!isObject(value)) return note(mistakes, at, 'dict_type', 'Input should be a valid dictionary');
    const entries = Object.entries(value).map(([name, one]) => [name, reader(one, [...at, name], mistakes)]);
    return Object.fromEntries(entries) as Readonly<Record<string, T>>;
  });
}

/** One value, or a list of them. */
export function oneOrMore<T>(item: Reader<T>): Reader<readonly T[]> {
  const list = listOf(item);
  return described({ anyOf: [item.schema, list.schema] }, (value, at, mistakes) => {
    if (Array.isArray(value)) return list(value, at, mistakes);
    const one = item(value, at, mistakes);
    return one === null ? null : [one];
  });
}

/** An object that a table states. */
export function objectOf<S extends Table>(
  table: S,
  required: readonly (keyof S & string)[] = [],
): Reader<Fields<S>> {
  return described(schemaOf(table, required), (value, at, mistakes) => {
    if (!isObject(value)) return note(mistakes, at, 'dict_type', 'Input should be a valid dictionary');
    noteMissing(value, required, at, mistakes);
    return membersIn(value, table, at, mistakes);
  });
}

/** One of some texts. */
export function oneOf<T extends string>(names: readonly T[]): Reader<T> {
  return described({ type: 'string', enum: names }, (value, at, mistakes) => {
    const found = names.find((name) => name === value);
    if (found !== undefined) return found;
    const list = names.map((name) => `'${name}'`).join(', ');
    return note(mistakes, at, 'enum', `Input should be one of ${list}`);
  });
}

/** `30d`, `1mo`, ...; '' is none. */
export const duration: Reader<string> = described<string>(
  { type: 'string', examples: ['30d'] },
  (value, at, mistakes) => {
    if (value === '') return null;
    const read = text(value, at, mistakes);
    if (read === null || parseDuration(read) !== null) return read;
    return refuse(
      mistakes,
      at,
      `Invalid ${nameOf(at)} '${read}'. Write a whole number and a unit: 30s, 30m, 12h, 7d, 2w, 1mo.`,
    );
  },
);

/** How long a key lives: as `duration`; '-1' is for ever, as null. */
export const lifetime: Reader<string> = described<string>(
  { type: 'string', examples: ['90d'] },
  (value, at, mistakes) => (value === '-1' ? null : duration(value, at, mistakes)),
);

/** A time in ISO 8601, UTC where it states no zone; as epoch milliseconds. */
export const instant: Reader<number> = described<number>(
  { type: 'string', format: 'date-time' },
  (value, at, mistakes) => {
    if (value === '') return null;
    const read = text(value, at, mistakes);
    if (read === null) return null;
    const ms = instantOf(read);
    return (
      ms ??
      note(mistakes, at, 'datetime_parsing', 'Input should be a valid datetime, as 2026-01-31T12:00:00Z')
    );
  },
);

const ISO = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

function instantOf(value: string): number | null {
  const match = ISO.exec(value);
  if (match === null || !beginsWithDay(value)) return null;
  const zoned = match[1] === undefined && value.length > 10 ? `${value}Z` : value;
  const ms = Date.parse(zoned.replace(' ', 'T'));
  return Number.isNaN(ms) ? null : ms;
}
