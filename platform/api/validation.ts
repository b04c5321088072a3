// Holds values against the description's schemas and says what does not fit in the words of the original framework
// (pydantic 2), so that clients which read `detail[].loc` and `type` find what they know. Never repeats a value.
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Description } from './description.ts';
import { validationFailed, type ValidationIssue } from './refusal.ts';

/** Checks a value and fills in defaults. @throws Refusal with 422. */
export type Check = (value: unknown, place: 'body' | 'query' | 'path') => void;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?$/;
/** Bodies nested deeper than this are refused: the platform's own stay below 10. */
const MAX_DEPTH = 64;

/** `2026-02-30` is none, though Date.parse takes it for 2 March. */
function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text) || Number.isNaN(Date.parse(text))) return false;
  const day = text.slice(0, 'YYYY-MM-DD'.length);
  const read = new Date(day);
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(day);
}

/** Makes checks over one description. Each is compiled when it is first used, which costs some milliseconds, so keep them. */
export class Validation {
  /** By the text of their schema. */
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    useDefaults: false,
    strict: false,
    validateSchema: false, // ours do not change, and a test holds them against the meta-schema: 0.1 s at each start
    strictNumbers: true, // JSON.parse reads 1e999 as Infinity, which would be stored as null
  });

  constructor(description: Pick<Description, 'components'>) {
    this.#ajv.addFormat('uuid', UUID);
    this.#ajv.addFormat('date-time', isDateTime);
    for (const word of ['password', 'path']) this.#ajv.addFormat(word, true);
    this.#ajv.addSchema({ $id: 'platform', components: description.components });
  }

  /** The check of a schema whose references are those of the description. */
  of(schema: object): Check {
    let compiled: ValidateFunction | null = null;
    return (value, place) => {
      if (deeperThan(value, MAX_DEPTH))
        throw validationFailed([
          { loc: [place], msg: `Value error, nested deeper than ${MAX_DEPTH} levels`, type: 'value_error' },
        ]);
      compiled ??= this.#compile(rooted(schema) as object);
      if (compiled(value)) return;
      throw validationFailed(validationIssuesOf(compiled.errors ?? [], place));
    };
  }

  #compile(schema: object): ValidateFunction {
    const text = JSON.stringify(schema);
    const compiled = this.#compiled.get(text) ?? this.#ajv.compile(schema);
    this.#compiled.set(text, compiled);
    return compiled;
  }
}

/** References of a part of the document as references into the whole. */
function rooted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rooted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? `platform${inner}` : rooted(inner),
    ]),
  );
}

function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => deeperThan(inner, levels - 1));
}

/** Of a nullable value only the branch that is not null says something; the sum of both says nothing. */
function validationIssuesOf(errors: readonly ErrorObject[], place: string): ValidationIssue[] {
  const telling = errors.filter(
    ({ keyword, params }) =>
      !(keyword === 'anyOf' || (keyword === 'type' && params['type'] === 'null') || keyword === 'if'),
  );
  const told = new Map<string, ValidationIssue>();
  for (const error of telling.length > 0 ? telling : errors) {
    if (error.keyword === 'propertyNames' && telling.some((one) => one.propertyName !== undefined)) continue;
    const loc = locOf(error, place);
    const { type, msg } = wordsOf(error);
    told.set(JSON.stringify([loc, type]), { loc, msg, type });
  }
  return [...told.values()];
}

function locOf(error: ErrorObject, place: string): (string | number)[] {
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map((raw) => raw.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const params: Readonly<Record<string, unknown>> = error.params;
  const child = params['missingProperty'] ?? params['additionalProperty'] ?? error.propertyName;
  return [place, ...steps, ...(typeof child === 'string' ? [child.slice(0, 200)] : [])];
}

const TYPES: Readonly<Record<string, readonly [type: string, msg: string]>> = {
  string: ['string_type', 'Input should be a valid string'],
  integer: ['int_type', 'Input should be a valid integer'],
  number: ['float_type', 'Input should be a valid number'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  array: ['list_type', 'Input should be a valid list'],
  object: ['dict_type', 'Input should be a valid dictionary'],
  null: ['none_required', 'Input should be None'],
};

function wordsOf(error: ErrorObject): { readonly type: string; readonly msg: string } {
  const params: Readonly<Record<string, unknown>> = error.params;
  const limit = String(params['limit']);
  const say = (type: string, msg: string): { type: string; msg: string } => ({ type, msg });
  switch (error.keyword) {
    case 'required':
      return say('missing', 'Field required');
    case 'additionalProperties':
      return say('extra_forbidden', 'Extra inputs are not permitted');
    case 'type': {
      const [type, msg] = TYPES[String(params['type'])] ?? ['value_error', 'Input should be of another type'];
      return say(type, msg);
    }
    case 'enum':
    case 'const': {
      const known = (params['allowedValues'] ?? [params['allowedValue']]) as readonly unknown[];
      const names = known
        .filter((one) => one !== null)
        .map((one) => `'${JSON.stringify(one).replaceAll('"', '')}'`);
      const last = names.length > 1 ? ` or ${names.at(-1)}` : '';
      const list = names.length > 1 ? names.slice(0, -1).join(', ') : names.join('');
      return say(error.keyword === 'enum' ? 'enum' : 'literal_error', `Input should be ${list}${last}`);
    }
    case 'pattern':
      return say('string_pattern_mismatch', `String should match pattern '${String(params['pattern'])}'`);
    case 'minLength':
      return say(
        'string_too_short',
        `String should have at least ${limit} character${limit === '1' ? '' : 's'}`,
      );
    case 'maxLength':
      return say('string_too_long', `String should have at most ${limit} characters`);
    case 'minItems':
      return say(
        'too_short',
        `List should have at least ${limit} item${limit === '1' ? '' : 's'} after validation`,
      );
    case 'maxItems':
    case 'maxProperties':
      return say('too_long', `Input should have at most ${limit} items after validation`);
    case 'minimum':
      return say('greater_than_equal', `Input should be greater than or equal to ${limit}`);
    case 'exclusiveMinimum':
      return say('greater_than', `Input should be greater than ${limit}`);
    case 'maximum':
      return say('less_than_equal', `Input should be less than or equal to ${limit}`);
    case 'format':
      return params['format'] === 'uuid'
        ? say('uuid_parsing', 'Input should be a valid UUID')
        : say('datetime_from_date_parsing', 'Input should be a valid datetime or date');
    default:
      return say('value_error', 'Value error, the input does not fit');
  }
}
