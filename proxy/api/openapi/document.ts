// The OpenAPI 3.1 document: the rows of the route table with what is said of each. A route without a description, or a
// description without a route, is an error, so the two cannot drift apart.
import { DEFAULT_WORDS, dialectOf, type Dialect } from '../../../config/dialect.ts';
import { FAULTS, type FaultCode } from '../../errors/codes.ts';
import type { Access } from '../../access/permissions.ts';
import type { RouteRow } from '../route-row.ts';
import { CALL_OPERATIONS } from './calls.ts';
import { CAPSULE_OPERATIONS } from './capsules.ts';
import { CONSOLE_OPERATIONS } from './console.ts';
import { KEY_OPERATIONS } from './keys.ts';
import { ref, type Described, type JsonSchema } from './operation.ts';
import { SCHEMAS } from './schemas.ts';
import { SPEND_OPERATIONS } from './spend.ts';
import { TAG_OPERATIONS } from './tags.ts';
import { TEAM_OPERATIONS } from './teams.ts';

/** Of the interface, not of the program: strangers read it. */
const API_VERSION = '1';

const DESCRIBED: readonly Described[] = [
  ...CALL_OPERATIONS,
  ...KEY_OPERATIONS,
  ...TEAM_OPERATIONS,
  ...TAG_OPERATIONS,
  ...SPEND_OPERATIONS,
  ...CAPSULE_OPERATIONS,
  ...CONSOLE_OPERATIONS,
];

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly required: boolean;
    readonly description?: string;
    readonly schema: JsonSchema;
  }[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>;
  };
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-access': Access;
  readonly 'x-port': string;
  readonly 'x-aliases'?: readonly string[];
}

export interface Document {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

type Schemes = Readonly<Record<string, JsonSchema>>;

/** Where a key may stand; names of headers as the configured dialect has them. */
function schemesOf({ headerPrefix }: Dialect): Schemes {
  const headers = [`${headerPrefix}api-key`, 'api-key', 'x-api-key', 'x-goog-api-key'];
  return {
    bearer: { type: 'http', scheme: 'bearer', description: 'A key of this proxy' },
    ...Object.fromEntries(headers.map((name) => [name, { type: 'apiKey', in: 'header', name }])),
  };
}

/**
 * @param rows all routes, as if one port served them
 * @throws Error when a row has no description, or the other way round
 */
export function openApiDocument(
  rows: readonly RouteRow[],
  dialect: Dialect = dialectOf(DEFAULT_WORDS),
): Document {
  const schemes = schemesOf(dialect);
  const byRoute = new Map(
    DESCRIBED.flatMap((one) => routesOf(one).map((route) => [plain(route), one] as const)),
  );
  const found = new Map<Described, RouteRow[]>();
  const gets = new Set(rows.filter(({ method }) => method === 'GET').map(({ path }) => path));
  for (const row of rows) {
    const isBeside = row.method === 'HEAD' || row.method === 'OPTIONS';
    if (isBeside && gets.has(row.path)) continue; // every GET answers HEAD, probes answer OPTIONS
    const described = canonical(row, byRoute);
    found.set(described, [...(found.get(described) ?? []), row]);
  }
  const paths: Record<string, Record<string, Operation>> = {};
  for (const described of DESCRIBED) {
    const [method = '', path = ''] = described.route.split(' ');
    const own = found.get(described) ?? [];
    const row = own.find((one) => one.method === method && one.path === plain(path));
    if (row === undefined) throw new Error(`${described.route} is described, but no route serves it`);
    const aliases = own.flatMap((one) => (one === row ? [] : [one.path]));
    const stated = (described.aliases ?? []).find((alias) => !aliases.includes(plain(alias)));
    if (stated !== undefined) throw new Error(`no route serves ${stated}, which is described as an alias`);
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(described, row, aliases, schemes);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Throughline',
      version: API_VERSION,
      summary: 'A standalone LLM proxy.',
      description:
        'LLM calls are passed on to gateways as they are. `x-aliases` of an operation lists other paths of it, ' +
        '`x-access` says which keys it takes, and `x-port` says which port serves it when metrics and administration ' +
        'have one of their own. Every GET also answers HEAD.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(DESCRIBED.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { securitySchemes: schemes, schemas: SCHEMAS },
  };
}

const plain = (path: string): string => path.replaceAll(/\{\w+\}/g, '{param}');

function routesOf({ route, aliases = [] }: Described): readonly string[] {
  const [method = ''] = route.split(' ');
  return [route, ...aliases.map((alias) => `${method} ${alias}`)];
}

/** Bases that stand for `/v1` in front of LLM calls and listings. */
const BASES =
  /^(?:\/(?:openai|anthropic)\/v1|\/\/v1|\/v1\/v1|\/openai\/deployments\/\{param\}|(?:\/v1)?\/engines\/\{param\}|)\//;

function canonical({ method, path }: RouteRow, byRoute: ReadonlyMap<string, Described>): Described {
  const described =
    byRoute.get(`${method} ${path}`) ?? byRoute.get(`${method} ${path.replace(BASES, '/v1/')}`);
  if (described === undefined) throw new Error(`the route ${method} ${path} has no description`);
  return described;
}

function operationOf(
  described: Described,
  row: RouteRow,
  aliases: readonly string[],
  schemes: Schemes,
): Operation {
  const { route, tag, summary, query = [], body, bodyTypes = ['application/json'] } = described;
  const inPath = [...route.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
  const inQuery = query.map(({ name, required = false, schema, ...rest }) => ({
    name,
    in: 'query' as const,
    required,
    ...rest,
    schema: required ? schema : orEmpty(schema),
  }));
  const parameters = [...inPath, ...inQuery];
  const isKeyless = row.access === 'open' || row.access === 'public';
  return {
    operationId: route
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .replace(/_$/, '')
      .toLowerCase(),
    tags: [tag],
    summary,
    security: isKeyless ? [] : Object.keys(schemes).map((name) => ({ [name]: [] })),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: Object.fromEntries(bodyTypes.map((type) => [type, { schema: body }])),
          },
        }),
    responses: responsesOf(described, row, isKeyless),
    'x-access': row.access,
    'x-port': row.port,
    ...(aliases.length === 0 ? {} : { 'x-aliases': aliases }),
  };
}

/** Clients send `name=` for what they do not state, and everywhere it means that. */
function orEmpty(schema: JsonSchema): JsonSchema {
  const isPlainText = schema['type'] === 'string' && schema['enum'] === undefined;
  return isPlainText ? schema : { anyOf: [schema, { type: 'string', maxLength: 0 }] };
}

const KEY_CODES: readonly FaultCode[] = ['missing_api_key', 'invalid_api_key'];
const BODY_CODES: readonly FaultCode[] = [
  'body_not_json',
  'body_not_object',
  'body_too_large',
  'unsupported_media_type',
];
const REFUSED: Readonly<Partial<Record<Access, readonly FaultCode[]>>> = {
  admin: ['admin_key_required'],
  metrics: ['admin_key_required'],
  management: ['admin_key_required', 'route_denied'],
  inference: ['route_denied'],
  listing: ['route_denied'],
};

function responsesOf(
  described: Described,
  row: RouteRow,
  isKeyless: boolean,
): Readonly<Record<string, Response>> {
  const { success = '200', answers, codes = [], body, others = {}, forwards = false } = described;
  const isManagement = row.access === 'management' && !/^\/spend\/|\/daily\/activity$/.test(row.path);
  const ours = isManagement ? 'ManagementError' : 'Error';
  const error = ref(forwards ? 'CallError' : ours);
  const content = contentOf({ 'application/json': error });
  const all = [
    ...(isKeyless ? [] : KEY_CODES),
    ...(REFUSED[row.access] ?? []),
    ...(row.access === 'open' ? [] : (['address_not_allowed'] as const)),
    ...(body === undefined ? [] : BODY_CODES),
    ...codes,
  ];
  const byStatus = Map.groupBy(new Set(all), (code) => String(FAULTS[code].status));
  const refusals = [...byStatus]
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([status, some]) => [status, { description: some.join(', '), ...content }] as const);
  const more = Object.entries(others).map(
    ([status, description]) =>
      [status, { description, ...contentOf(/^(?:204|3\d\d)$/.test(status) ? {} : answers) }] as const,
  );
  return {
    [success]: { description: success === '200' ? 'OK' : 'Switching Protocols', ...contentOf(answers) },
    ...Object.fromEntries([...refusals, ...more]),
    default: {
      description: forwards
        ? 'What the gateway answers, or an error of the proxy'
        : 'Another error (docs/errors.md)',
      ...(forwards ? contentOf({ 'application/json': {} }) : content),
    },
  };
}

function contentOf(answers: Described['answers']): Pick<Response, 'content'> {
  const types = Object.entries(answers).map(([type, schema]) => [type, { schema }] as const);
  return types.length === 0 ? {} : { content: Object.fromEntries(types) };
}
