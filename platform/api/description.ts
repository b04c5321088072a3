// The interface's description: one OpenAPI document put together from schemas/platform.json (paths, V1), a file of
// schemas/platform/ per further subject, and schemas/settings.json (V0). It is what is served, and what the router and
// the validators are made of.
import v1 from '../../schemas/platform.json' with { type: 'json' };
import descriptions from '../../schemas/platform/description.json' with { type: 'json' };
import page from '../../schemas/platform/page.json' with { type: 'json' };
import events from '../../schemas/platform/events.json' with { type: 'json' };
import runtime from '../../schemas/platform/runtime.json' with { type: 'json' };
import secrets from '../../schemas/platform/secrets.json' with { type: 'json' };
import webhooks from '../../schemas/platform/webhooks.json' with { type: 'json' };
import v0 from '../../schemas/settings.json' with { type: 'json' };

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Operation {
  /** The platform's own where it has the operation. */
  readonly operationId: string;
  /** Name of our handler where it is another one than `operationId`. Not published. */
  readonly 'x-handler'?: string;
  readonly deprecated?: boolean;
  /** Names of security schemes; one of them is enough. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** Where the default of the router does not do. */
  readonly 'x-max-body-bytes'?: number;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

export interface Description {
  readonly openapi: string;
  readonly info: Readonly<Record<string, string>>;
  readonly servers?: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Paths and schemas of one subject. */
type Subject = Pick<Description, 'paths' | 'components'>;

/** The import's inferred type spells every member out; this is what they share. */
const subject = (document: object): Subject => document as unknown as Subject;

/** `info.version` of the platform's description of V1. */
const VERSION_V1 = '0.0.1';

/** One per file. A path and a schema stand in one of them alone, and a path has all its methods there. */
const SUBJECTS: readonly Subject[] = [
  // The two documents themselves.
  subject(descriptions),
  subject(page),
  // Secrets of users, and what sandboxes look up of them.
  subject(secrets),
  // What the agent server of a conversation carries out.
  subject(runtime),
  // The events of conversations, asked for and reported.
  subject(events),
  // What agent servers report.
  subject(webhooks),
];

/** The whole document; always the same one. */
export function description(): Description {
  return WHOLE;
}

function assembled(): Description {
  const document = v1 as unknown as Description;
  let paths = document.paths;
  let schemas = {
    ...document.components.schemas,
    ...(rebased(v0.$defs) as Readonly<Record<string, Schema>>),
  };
  for (const part of SUBJECTS) {
    paths = { ...paths, ...part.paths };
    schemas = { ...schemas, ...part.components.schemas };
  }
  return { ...document, paths, components: { ...document.components, schemas } };
}

/**
 * The two documents that are served. The first is the whole interface under V0's version and servers, since generators
 * of V0 clients read them there; the second is V1 alone, under V1's version.
 */
export function published(whole: Description): { readonly all: Description; readonly v1: Description } {
  const all = { ...whole, paths: withoutHandlers(whole.paths) };
  const { servers: _ofV0, ...rest } = all;
  const paths = Object.entries(all.paths).filter(([path]) => path.startsWith('/api/v1/'));
  return {
    all,
    v1: { ...rest, info: { ...all.info, version: VERSION_V1 }, paths: Object.fromEntries(paths) },
  };
}

function withoutHandlers(paths: Description['paths']): Description['paths'] {
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations).map(([method, { 'x-handler': _handler, ...operation }]) => [
          method,
          operation,
        ]),
      ),
    ]),
  );
}

/** References within settings.json, as they read inside the OpenAPI document. */
function rebased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rebased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', '#/components/schemas/')
        : rebased(inner),
    ]),
  );
}

const WHOLE = assembled();
